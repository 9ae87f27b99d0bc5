"""Mutated model files of every estimator: refused with one kind of error, or a model that gives finite numbers or a promised error.

Thousands of files are tried by ``python -m benchmarks.soak_model_files``.
"""

import numpy as np
import pytest
from benchmarks.soak_model_files import (
    MUTATIONS,
    Pieces,
    fuzz,
    models,
    mutated,
    swept,
    with_extreme_numbers,
    without_each_attribute,
)
from benchmarks.soak_typed_files import fuzz as fuzz_types
from benchmarks.soak_typed_files import omissions

from gramian import PPCA, ModelFileError, load, save
from gramian._catalogue import ESTIMATORS


@pytest.fixture(scope="module")
def saved_models():
    return models()


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_are_refused_or_harmless(saved_models, seed):
    counts, broken = fuzz(200, seed=100 + seed, chosen=saved_models)
    assert broken == []
    assert counts["refused"] > 100
    assert counts["loaded, finite answers"] > 0


@pytest.mark.parametrize("seed", range(4))
def test_models_with_values_of_other_kinds_are_refused_or_harmless(saved_models, seed):
    """The second mutator: live models with parts swapped, of other kinds, nested or inside themselves."""
    counts, broken, _ = fuzz_types(150, seed=100 + seed, chosen=saved_models)
    assert broken == []
    assert counts["refused"] > 50
    assert counts["loaded, finite answers"] > 20


@pytest.mark.parametrize("name", sorted(models()))
def test_files_changed_in_one_place_are_refused_or_harmless(saved_models, name):
    """Every attribute left out, every attribute None, every array with a number far too large or small."""
    counts, broken = swept({name: saved_models[name]}, quick=True)
    assert broken == []
    assert counts["refused"] > 10


@pytest.mark.parametrize("name", ["kernel mixture", "classifier", "views", "views dual"])
def test_models_without_an_attribute_are_refused_or_answer_whatever_they_are_asked(saved_models, name):
    counts, broken = omissions({name: saved_models[name]})
    assert broken == []
    assert counts["refused"] > 10


def test_changes_in_one_place_reach_every_attribute_and_array(saved_models, tmp_path):
    save(saved_models["ppca"], tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    left_out = [where for where, _ in without_each_attribute(content)]
    assert {f"state.{name}" for name in vars(saved_models["ppca"])} <= set(left_out)
    assert "state._model.state.gaussian.state.eigenvalues" in left_out
    assert len(left_out) == len(set(left_out))
    arrays = {where.split()[0] for where, _ in with_extreme_numbers(content)}
    header = Pieces(content).header
    assert arrays == {
        name for name in Pieces(content).tensors if header[name]["dtype"] == "F64" and 0 not in header[name]["shape"]
    }


def test_what_loads_can_be_saved_however_deep_it_is_nested(tmp_path):
    """A list in a list in a list: the bound is the same for both."""
    path = tmp_path / "m"
    save(PPCA(), path)
    content, said = path.read_bytes(), {}
    for depth in (20, 61, 62, 63, 64, 65, 66, 130):
        for kind in (lambda inner: [inner], lambda inner: {"tuple": [inner]}, lambda inner: {"dict": [["a", inner]]}):
            deep = None
            for _ in range(depth):
                deep = kind(deep)
            pieces = Pieces(content)
            pieces.manifest["model"]["state"]["solver"] = deep
            path.write_bytes(pieces.content())
            try:
                model = load(path)
            except ModelFileError:
                said[depth] = said.get(depth, 0) + 1
            else:
                save(model, path)
    assert 20 not in said
    assert said[130] == 3


def test_memory_stays_within_its_bound(saved_models):
    assert fuzz(60, seed=200, chosen=saved_models, memory=True)[1] == []


def test_every_estimator_is_among_the_models(saved_models):
    assert {type(model).__name__ for model in saved_models.values()} >= set(ESTIMATORS) - {"DeepRKM"}


def test_a_file_taken_apart_and_put_together_is_the_same_model(saved_models, tmp_path):
    from gramian import load

    path = tmp_path / "m"
    save(saved_models["ppca"], path)
    path.write_bytes(Pieces(path.read_bytes()).content())
    assert (load(path).components_ == saved_models["ppca"].components_).all()


def test_the_same_seed_gives_the_same_file_and_every_mutation_changes_it(saved_models, tmp_path):
    save(saved_models["kernel"], tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    assert mutated(content, np.random.default_rng(3)) == mutated(content, np.random.default_rng(3))
    for mutation in set(MUTATIONS):
        changed = []
        for seed in range(8):
            pieces = Pieces(content)
            mutation(pieces, np.random.default_rng(seed))
            changed.append(pieces.content() != Pieces(content).content())
        assert any(changed), mutation.__name__
