"""Mutated model files of every estimator: refused with one kind of error, or a model that gives finite numbers or a promised error.

Thousands of files are tried by ``python -m benchmarks.soak_model_files``.
"""

import numpy as np
import pytest
from benchmarks.soak_model_files import MUTATIONS, Pieces, fuzz, models, mutated

from gramian import save
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
