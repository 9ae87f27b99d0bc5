"""What pytest leaves out where an extra is not installed: modules of the package that cannot be imported without it; tests say why they skip."""

from importlib.util import find_spec

NEEDS = {
    "torch": "src/gramian/deep/*",
    "sktime": "src/gramian/adapters/sktime.py",
    "uvicorn": "src/gramian/explorer/server.py",
}
collect_ignore_glob = [files for package, files in NEEDS.items() if find_spec(package) is None]
