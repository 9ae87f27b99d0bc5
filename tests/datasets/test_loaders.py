"""Loaders read the folder of GRAMIAN_DATA, and name what is absent."""

import os

import numpy as np
import pytest

from gramian import datasets

LOADERS = {
    "ida_banana.npz": lambda: datasets.load_ida("banana"),
    "mnist.npz": datasets.load_mnist,
    "metabolite.npz": datasets.load_metabolite,
    "mfeat.npz": datasets.load_mfeat,
    "santafe_laser.npz": datasets.load_laser,
    "sum_of_sines.npz": datasets.load_sum_of_sines,
    "mackey_glass.npz": datasets.load_mackey_glass,
    "sunspots_yearly.npz": datasets.load_sunspots,
    "etth1.npz": datasets.load_etth1,
    "helix.npz": datasets.load_helix,
    "wine.npz": datasets.load_wine,
    "khan_srbct.npz": datasets.load_khan,
    "olivetti_faces.npz": datasets.load_olivetti_faces,
    "covertype.npz": datasets.load_covertype,
}
needs_data = pytest.mark.skipif(
    not os.path.isdir(os.environ.get("GRAMIAN_DATA", "")),
    reason="GRAMIAN_DATA names no folder",
)


@pytest.mark.parametrize("name", LOADERS)
def test_without_the_variable_the_error_names_file_and_variable(name, monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=f"{name}.*GRAMIAN_DATA"):
        LOADERS[name]()


@pytest.mark.parametrize("name", LOADERS)
def test_without_the_file_the_error_names_file_folder_and_variable(name, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"{name}.*GRAMIAN_DATA"):
        LOADERS[name]()


def test_unknown_ida_name_is_refused():
    with pytest.raises(ValueError, match="banana"):
        datasets.load_ida("iris")


def test_pickled_arrays_are_never_read(monkeypatch, tmp_path):
    np.savez(tmp_path / "helix.npz", x=np.array([{}], dtype=object))
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="pickle"):
        datasets.load_helix()


@needs_data
@pytest.mark.parametrize("name", LOADERS)
def test_every_file_loads(name):
    if not os.path.exists(os.path.join(os.environ["GRAMIAN_DATA"], name)):
        pytest.skip(f"{name} is not in GRAMIAN_DATA")
    bunch = LOADERS[name]()
    assert len(bunch)
    assert all(len(getattr(bunch, key)) for key in ("data", "series", "train", "views", "tau17") if key in bunch)


@needs_data
def test_splits_cover_the_rows_and_made_series_equal_the_stored_ones():
    bunch = datasets.load_ida("heart")
    for family in ("official", "regen"):
        both = np.concatenate([bunch[f"{family}_train"][0], bunch[f"{family}_test"][0]])
        assert sorted(both) == list(range(len(bunch.data)))
    assert set(bunch.target) == {-1, 1}
    np.testing.assert_allclose(datasets.load_sum_of_sines().series, datasets.make_sum_of_sines(), atol=1e-12)
    np.testing.assert_allclose(datasets.load_mackey_glass().tau17[:200], datasets.make_mackey_glass(200), atol=1e-3)
