"""What editors and type checkers see of the package: classes, not Any."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gramian
import gramian.io

SOURCE = Path(gramian.__file__).parents[1]
PROGRAM = """
from gramian import PPCA, LatentImputer, fill, kernels, load, odd_rows, report
from gramian.io import Table, read_table

reveal_type(PPCA())
reveal_type(LatentImputer().fit([[1.0]]))
reveal_type(kernels.RBF())
reveal_type(read_table("t.csv"))
reveal_type(report("t.csv"))
PPCA(no_such_parameter=3)
LatentImputer(estimater=None)
"""
REVEALED = ["PPCA", "LatentImputer", "RBF", "Table", "Page"]
WRONG = ["no_such_parameter", "estimater"]


@pytest.mark.parametrize("package", [gramian, gramian.io])
def test_the_stub_names_what_the_package_offers(package):
    stub = Path(package.__file__).with_name("__init__.pyi").read_text()
    told = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)}
    modules = getattr(package, "_MODULES", ())
    assert told == {**package._HOMES, **dict.fromkeys(modules, "gramian")}


def test_names_of_lazy_packages_are_listed():
    assert {"read_table", "write_table", "Table"} <= set(dir(gramian.io))
    assert {"fill", "odd_rows", "report", "PPCA"} <= set(dir(gramian))


def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_mypy_knows_the_classes(tmp_path):
    pytest.importorskip("mypy")
    options = ["--python-version", "3.11", "--ignore-missing-imports", "--follow-imports", "silent"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", str(tmp_path / "cache"), str(program(tmp_path))],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    revealed = re.findall(r'Revealed type is "(.*?)"', ran.stdout)
    assert [name.split(".")[-1] for name in revealed] == REVEALED, ran.stdout
    for name in WRONG:
        assert re.search(rf'Unexpected keyword argument "{name}"', ran.stdout), ran.stdout


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_knows_the_classes(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}))
    program(tmp_path)
    ran = subprocess.run(
        ["pyright", "--outputjson", "-p", str(tmp_path), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    if not ran.stdout.lstrip().startswith("{"):
        pytest.skip("pyright could not fetch its program")
    found = json.loads(ran.stdout)["generalDiagnostics"]
    revealed = [m[1] for d in found if (m := re.match(r'Type of ".*" is "(.*)"', d["message"]))]
    assert revealed == REVEALED, found
    said = " ".join(d["message"] for d in found if d["severity"] == "error")
    assert all(f'No parameter named "{name}"' in said for name in WRONG), said
