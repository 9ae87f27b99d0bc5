"""Kernels, feature maps, solvers, pre-images and readers of another package, by its entry points."""

import subprocess
import sys

import numpy as np
import pytest

from gramian import PPCA, KernelPPCA, load, save
from gramian.features import FEATURE_MAPS
from gramian.io import read_table
from gramian.io.frame_table import READERS
from gramian.kernels import KERNELS, as_kernel
from gramian.preimage import PREIMAGES
from gramian.solvers import SOLVERS

X = np.random.default_rng(0).standard_normal((60, 3)) @ np.random.default_rng(1).standard_normal((3, 4))

MODULE = '''
import numpy as np
from gramian.kernels._radial import Radial, clip_products
from gramian.features import Nystroem
from gramian.preimage import KernelSmoother
from gramian.solvers import Eigh


class Hyperbolic(Radial):
    """k = 1 / (1 - p)."""

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    def profile(self, products):
        clip_products(products)
        products *= -1.0
        products += 1.0
        return np.divide(1.0, products, out=products)


class Elsewhere(Eigh):
    """LAPACK under another name."""


class Landmarks(Nystroem):
    """Nystroem under another name."""


class Smooth(KernelSmoother):
    """The smoother under another name."""


def read(path):
    with open(path) as file:
        rows = [line.split("|") for line in file.read().splitlines()]
    columns = list(zip(*rows))
    return {name: np.array([float(cell) if cell else np.nan for cell in cells]) for name, *cells in columns}
'''
POINTS = """[gramian.kernels]
hyperbolic = plugged_in:Hyperbolic
broken = plugged_in:NoSuchClass

[gramian.features]
landmarks = plugged_in:Landmarks

[gramian.solvers]
elsewhere = plugged_in:Elsewhere

[gramian.preimages]
smooth = plugged_in:Smooth

[gramian.readers]
pipes = plugged_in:read
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    info = folder / "plugged_in-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "plugged_in.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-in\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for table, name in (
        (KERNELS, "hyperbolic"),
        (FEATURE_MAPS, "landmarks"),
        (SOLVERS, "elsewhere"),
        (PREIMAGES, "smooth"),
        (READERS, "pipes"),
    ):
        table.pop(name, None)
    sys.modules.pop("plugged_in", None)


def test_names_of_another_package_in_models_and_in_their_files(package, tmp_path):
    every = [
        {"kernel": "hyperbolic"},
        {"kernel": "hyperbolic", "approximation": "landmarks", "n_landmarks": 20},
        {"solver": "elsewhere"},
        {"preimage": "smooth"},
    ]
    scripts = []
    for n, options in enumerate(every):
        model = KernelPPCA(2, random_state=0, **{"preimage": "smoother", **options}).fit(X)
        save(model, tmp_path / f"model{n}")
        np.savez(tmp_path / f"rows{n}.npz", X=X, expected=model.reconstruct(X))
        scripts.append(f"""
rows = np.load({str(tmp_path / f"rows{n}.npz")!r})
np.testing.assert_allclose(load({str(tmp_path / f"model{n}")!r}).reconstruct(rows["X"]), rows["expected"])
""")
    begin = f"""
import sys
sys.path.insert(0, {str(package)!r})
import numpy as np
from gramian import load
"""
    # a process in which nobody has asked for the names
    subprocess.run([sys.executable, "-c", begin + "".join(scripts)], check=True)


def test_what_is_not_installed_is_not_loaded(package, tmp_path, monkeypatch):
    save(KernelPPCA(2, kernel="hyperbolic").fit(X), tmp_path / "model.gramian")
    KERNELS.pop("hyperbolic")
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != str(package)])
    with pytest.raises(ValueError, match="registered"):
        load(tmp_path / "model.gramian")
    with pytest.raises(ValueError, match="is not known"):
        as_kernel("hyperbolic")


def test_solvers_suit_where_they_say(package):
    assert type(PPCA(2, solver="elsewhere").fit(X).solver_).__name__ == "Elsewhere"
    with pytest.raises(ValueError, match="'eigh'"):
        PPCA(2, solver="nowhere").fit(X)


def test_a_package_that_cannot_be_imported_is_named(package):
    with pytest.raises(ImportError, match="plugged-in"):
        as_kernel("broken")


def test_files_of_a_suffix_of_their_own_are_read(package, tmp_path, gramian_command):
    file = tmp_path / "table.pipes"
    rows = ["a|b|c"] + [f"{a:.3f}|{'' if i == 7 else format(b, '.3f')}|{c:.3f}" for i, (a, b, c) in enumerate(X[:, :3])]
    file.write_text("\n".join(rows))
    table = read_table(file)
    assert table.names == ["a", "b", "c"]
    assert np.isnan(table["b"][7])
    ran = gramian_command("impute", str(file), "-o", str(tmp_path / "full.csv"))
    assert "1 missing cell filled" in ran.output, ran.output
    assert len((tmp_path / "full.csv").read_text().splitlines()) == 61


@pytest.fixture
def gramian_command():
    from click.testing import CliRunner

    from gramian.cli import main

    return lambda *arguments: CliRunner().invoke(main, list(arguments))
