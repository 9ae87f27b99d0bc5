"""Where KernelPPCA.sample draws latents: the normal prior, the posteriors of training rows, or a mixture over them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from gramian import PPCA, KernelPPCA, load, save
from gramian.single import kernel_held_out
from gramian.single.preimage_choice import Generator, energy_distance

IRIS = load_iris().data[::2]


def test_a_given_preimage_draws_from_the_normal_prior_without_cross_validation(monkeypatch):
    model = KernelPPCA(3, preimage="smoother").fit(IRIS)
    monkeypatch.setattr(kernel_held_out.HeldOutRows, "fits", None)  # nothing may be held out
    first = model.sample(5, random_state=0)
    assert_array_equal(first, model.sample(5, prior="normal", random_state=0))
    for prior in ("posterior", "mixture"):
        assert np.isfinite(model.sample(5, prior=prior, random_state=0)).all()


@pytest.mark.parametrize("prior", ["auto", "normal", "posterior", "mixture"])
def test_every_prior_draws_finite_rows_that_follow_the_seed(prior):
    model = KernelPPCA(3, random_state=0).fit(IRIS)
    drawn = model.sample(20, prior=prior, random_state=1)
    assert drawn.shape == (20, 4)
    assert np.isfinite(drawn).all()
    assert_array_equal(drawn, model.sample(20, prior=prior, random_state=1))


def test_latents_about_posteriors_have_the_place_and_spread_of_training_latents():
    model = KernelPPCA(4, preimage="smoother").fit(IRIS)
    drawn = model._prior_latents(4000, Generator("posterior", 0.2, ""), np.random.default_rng(0))
    latents = model.transform(IRIS)
    assert_allclose(drawn.mean(axis=0), latents.mean(axis=0), atol=0.08)
    assert (drawn.std(axis=0) >= 0.95 * latents.std(axis=0)).all()
    assert (drawn.std(axis=0) <= 1.2 * np.hypot(latents.std(axis=0), 0.5)).all()


def test_default_samples_of_a_curved_table_are_nearer_to_new_rows_than_those_of_ppca_and_no_copies(tmp_path):
    X = load_breast_cancer().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = X[order[:280]], X[order[280:]]
    model = KernelPPCA(random_state=0).fit(train)
    drawn = model.sample(500, random_state=0)
    linear = PPCA().fit(train).sample(500, random_state=0)
    normal = model.sample(500, prior="normal", random_state=0)
    distance, of_linear, of_normal = (energy_distance(rows, new) for rows in (drawn, linear, normal))
    assert distance < of_linear < of_normal
    usual = np.median(cdist(new, train).min(axis=1))
    assert np.median(cdist(drawn, train).min(axis=1)) > 0.7 * usual
    assert model._evidence.generator.prior == "posterior"
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").sample(5, random_state=3), model.sample(5, random_state=3))


@pytest.mark.parametrize("width", [0.2, 1.0])
@pytest.mark.parametrize("method", ["smoother", "ridge"])
def test_draws_about_posteriors_have_the_mean_and_the_variance_of_the_rows_however_far_latents_are_moved(width, method):
    model = KernelPPCA(4, preimage=method).fit(IRIS)
    drawn = model._drawn(model.preimage_, 4000, Generator("posterior", width, method))
    assert_allclose(drawn.mean(axis=0), IRIS.mean(axis=0), atol=0.1)
    assert drawn.var(axis=0).sum() == pytest.approx(IRIS.var(axis=0).sum(), rel=0.1)
    bare = model.sample(2000, prior="posterior", noise=False, random_state=0)
    assert bare.var(axis=0).sum() < IRIS.var(axis=0).sum()


def test_another_prior_is_refused():
    with pytest.raises(ValueError, match="prior="):
        KernelPPCA(2, preimage="smoother").fit(IRIS).sample(2, prior="uniform")


def test_samples_of_few_rows_are_about_as_far_from_them_as_new_rows_are():
    X = StandardScaler().fit_transform(load_wine().data)
    X = X[np.random.default_rng(0).permutation(len(X))]
    drawn = KernelPPCA(random_state=0).fit(X[:80]).sample(300, random_state=0)
    near, usual = (np.median(cdist(rows, X[:80]).min(axis=1)) for rows in (drawn, X[80:]))
    assert near > 0.87 * usual
