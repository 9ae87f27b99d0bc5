"""No import points upwards, neither a written one (lint-imports) nor one by name (here)."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
HEIGHT = {name.strip(): -depth for depth, layer in enumerate(LAYERS) for name in layer.split(":")}


def layer_of(module):
    return next((name for name in HEIGHT if module == name or module.startswith(f"{name}.")), None)


def imports_by_name(path):
    """Module names written into calls of import_module or __import__."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value


def test_no_import_by_name_points_upwards():
    upwards = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        home = layer_of(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
        for module in imports_by_name(path) if home else ():
            target = layer_of(module)
            if target is not None and HEIGHT[target] > HEIGHT[home]:
                upwards.append(f"{path.name} -> {module}")
    assert upwards == []


def test_a_kernel_offers_features_though_nobody_imported_them():
    code = (
        "import numpy as np; from gramian.kernels import RBF; "
        "print(RBF(1.0).nystroem(np.eye(3), 2).dim, RBF(1.0).random_features(4).dim)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2 4\n", done.stderr
