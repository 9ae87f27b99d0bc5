"""KernelPPCA by what it has not seen: q, pre-images, limits, standard deviations; the same whenever and in whatever order."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import datasets

from gramian import PPCA, KernelPPCA, NumericalWarning, load, save
from gramian.datasets import make_moons
from gramian.evidence.limits import Tally
from gramian.kernels import RBF, Linear
from gramian.latent import subspace
from gramian.latent.noise_field import NoiseField
from gramian.policy import LOOK, SIZES
from gramian.single import dual_inputs as dual
from gramian.single.preimage_choice import energy_distance

X = make_moons(160, noise=0.1, random_state=0)[0]
NEW = make_moons(400, noise=0.1, random_state=1)[0]


@pytest.fixture(scope="module")
def digits():
    rows = datasets.load_digits().data / 16
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    return rows[:500], rows[500:800]


@pytest.fixture(scope="module")
def model():
    return KernelPPCA(random_state=0).fit(X)


# ---------------------------------------------------------------- q


def test_auto_keeps_its_evidence_and_tells_it(model):
    chosen = model.selection_
    assert model.n_components_ == chosen.chosen
    assert len(chosen.candidates) == len(chosen.scores) == len(chosen.errors)
    assert chosen.reason in model.explain()
    assert not hasattr(KernelPPCA(3).fit(X), "selection_")


@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_landmarks": 50}])
def test_neither_order_nor_repetition_of_rows_matters(options):
    order = np.random.default_rng(2).permutation(len(X))
    first = KernelPPCA(noise_dim=300, **options).fit(X)
    for other in (X[order], np.repeat(X, 2, axis=0)):
        second = KernelPPCA(noise_dim=300, **options).fit(other)
        assert second.selection_.chosen == first.selection_.chosen
        assert_allclose(second.explained_variance_, first.explained_variance_, rtol=1e-8)
        assert_allclose(second.score_samples(NEW[:20]), first.score_samples(NEW[:20]), rtol=1e-6)


def test_above_2000_rows_the_share_of_variance_is_carried(monkeypatch):
    from gramian.estimators import kernel_ppca

    monkeypatch.setattr(kernel_ppca, "LOOK", replace(LOOK, rows=100))
    found = KernelPPCA().fit(X)
    share = found.explained_variance_ratio_.cumsum()
    on_part = KernelPPCA(found.selection_.chosen).fit(X[:100]).explained_variance_ratio_.sum()
    assert share[-1] == pytest.approx(on_part, abs=0.02)


def test_the_q_of_the_rows_looked_at_takes_one_decomposition_of_all_rows(monkeypatch):
    """q of the rows it was chosen on is taken for all: no spectrum is grown to find a share."""
    from gramian.estimators import kernel_ppca
    from gramian.latent import model as latent_model
    from gramian.solvers.auto import Budgeted

    rows = np.random.default_rng(0).standard_normal((400, 20))
    asked = []
    solve = Budgeted.solve
    monkeypatch.setattr(kernel_ppca, "LOOK", replace(LOOK, rows=300))
    monkeypatch.setattr(latent_model, "SIZES", replace(SIZES, whole=100))
    monkeypatch.setattr(
        Budgeted, "solve", lambda self, *given, **named: asked.append(given[1]) or solve(self, *given, **named)
    )
    found = KernelPPCA(kernel=RBF(5.0)).fit(rows)
    assert len(asked) == 1
    assert found.n_components_ == found.selection_.chosen <= asked[0] < 1.5 * found.selection_.chosen


def test_a_given_noise_or_too_few_rows_leave_q_to_the_old_rules():
    assert not hasattr(KernelPPCA(noise_variance=1e-3).fit(X), "selection_")
    assert (KernelPPCA(noise_variance=1e-3).fit(X).explained_variance_ > 1e-3).all()
    with pytest.warns(NumericalWarning, match="all of the variance"):
        assert not hasattr(KernelPPCA().fit(X[:2]), "selection_")


def test_exact_structure_is_kept_whole():
    flat = np.random.default_rng(0).standard_normal((80, 3)) @ np.random.default_rng(1).standard_normal((3, 10))
    with pytest.warns(NumericalWarning):
        found = KernelPPCA(kernel="linear").fit(flat)
    assert found.n_components_ == 3
    assert found.noise_variance_ == 0.0


@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_landmarks": 60}, {"center": False}])
def test_truncate_is_a_fit_with_fewer_components(options):
    cut = KernelPPCA(8, **options).fit(X).truncate(3)
    fitted = KernelPPCA(3, **options).fit(X)
    assert cut.get_params()["n_components"] == 3
    assert cut.noise_variance_ == pytest.approx(fitted.noise_variance_, rel=1e-10)
    assert_allclose(cut.transform(NEW), fitted.transform(NEW), atol=1e-8)
    assert_allclose(cut.dual_coef_, fitted.dual_coef_, atol=1e-8)
    with pytest.raises(ValueError, match="exceeds"):
        cut.truncate(4)


# ---------------------------------------------------------------- pre-images


def test_auto_chooses_a_method_for_each_job(model):
    assert set(model.preimage_) == {"reconstruct", "denoise", "latent", "sample"}
    assert all(hasattr(method, "transform") for method in model.preimage_.values())
    assert "preimage (sample)" in model.explain()


def test_what_held_out_rows_say_is_the_same_after_saving_and_before(model, tmp_path):
    fresh = KernelPPCA(random_state=0).fit(X)
    save(fresh, tmp_path / "model.gramian")  # before anything was needed
    loaded = load(tmp_path / "model.gramian")
    rows, std = model.reconstruct(NEW[:30], return_std=True)
    again, again_std = loaded.reconstruct(NEW[:30], return_std=True)
    assert_array_equal(again, rows)
    assert_array_equal(again_std, std)
    assert_array_equal(loaded.anomaly(NEW).p_spe, model.anomaly(NEW).p_spe)
    assert_array_equal(loaded.sample(5, random_state=1), model.sample(5, random_state=1))


def test_rows_off_the_subspace_are_a_mix_of_two_methods_that_depends_on_how_far_they_are(model):
    """The share of each row is the one that held-out rows want that noise has carried as far off."""
    far = np.vstack([NEW[:40], NEW[40:44] + np.array([0.0, 1.2])])
    seen = model._project(far)
    residuals, limits, shares = model.residual(far), model._limits, model._evidence.shares
    noisy = residuals > limits.spe.limit(1 - 0.01 / len(far))
    assert 0 < noisy.sum() < len(far)
    known, wanted = np.log(limits.noisy), np.log(residuals[noisy])
    share = np.interp(wanted, known, shares)[:, None]
    clean, smooth = (
        model._answers(model.preimage_[job], model._map_scores(seen))[0] for job in ("reconstruct", "denoise")
    )
    found = model.reconstruct(far)
    assert_array_equal(found[~noisy], clean[~noisy])
    assert_allclose(found[noisy], (1 - share) * clean[noisy] + share * smooth[noisy], rtol=1e-12)


def test_noise_that_all_rows_share_is_seen_in_the_batch(digits):
    """No single row is odd, all of them together are: they are denoised, at least as well as by any one method."""
    train, new = digits
    model = KernelPPCA(40, random_state=0).fit(train)
    spread = np.sqrt(train.var(axis=0).mean())
    methods = [model._fitted_preimage(name) for name in ("smoother", "ridge", "fixed_point")]
    for noise in (0.0, 0.5, 1.0, 2.0):
        rows = new + noise * spread * np.random.default_rng(0).standard_normal(new.shape)
        scores = model._map_scores(model._project(rows))
        best = min(np.square(model._decoded(method, scores) - new).sum() for method in methods)
        assert np.square(model.reconstruct(rows) - new).sum() <= 1.1 * best
    mild = new + 0.5 * spread * np.random.default_rng(0).standard_normal(new.shape)
    residuals = model.residual(mild)
    assert (residuals > model._limits.spe.limit(0.99)).mean() < 0.6
    assert model._limits.noisy_rows(residuals, model._evidence.shares)[0].all()


def test_latents_of_the_prior_decode_on_the_data_and_latents_of_rows_as_rows_do(digits):
    train, new = digits
    model = KernelPPCA(40, random_state=0).fit(train)
    limit = np.quantile(cdist(new, train).min(axis=1), 0.99)
    latents = np.random.default_rng(1).standard_normal((400, 40))
    ridge = model._decoded(model._fitted_preimage("ridge"), model._gaussian.decode(latents))
    assert (cdist(ridge, train).min(axis=1) > limit).mean() > 0.1  # what would be decoded by the method of rows
    for rows in (
        model.inverse_transform(latents),
        np.vstack([model.inverse_transform(part) for part in np.split(latents, 20)]),
    ):
        assert (cdist(rows, train).min(axis=1) > limit).mean() <= 0.01
    usual = ~model._near_latents.off(model._gaussian.decode(model.transform(new)))
    assert usual.mean() > 0.95
    assert_array_equal(model.inverse_transform(model.transform(new))[usual], model.reconstruct(new)[usual])
    rows, info = model.inverse_transform(latents, return_info=True)
    assert info.converged.shape == (400,)


def test_standard_deviations_are_those_of_held_out_rows():
    train = make_moons(400, noise=0.1, random_state=2)[0]
    model = KernelPPCA(2, kernel=RBF(1.0), preimage="mds").fit(train)
    rows, std = model.reconstruct(NEW, return_std=True)
    assert std.shape == rows.shape
    covered = np.abs(NEW - rows) <= 1.645 * std
    assert 0.84 < covered.mean() < 0.97
    _, of_latents = model.inverse_transform(model.transform(NEW[:3]), return_std=True)
    assert_array_equal(of_latents, std[:3])


def test_linear_kernels_are_inverted_exactly():
    model = KernelPPCA(2, kernel=Linear(), noise_dim=4).fit(wide := np.random.default_rng(0).standard_normal((50, 4)))
    assert_allclose(model.reconstruct(wide), PPCA(2).fit(wide).reconstruct(wide), atol=1e-8)


def test_samples_of_two_moons_lie_on_the_moons():
    found = []
    for seed in range(2):
        train = datasets.make_moons(400, noise=0.1, random_state=seed)[0]
        fresh = datasets.make_moons(1000, noise=0.1, random_state=100 + seed)[0]
        found.append(energy_distance(KernelPPCA(random_state=50 + seed).fit(train).sample(1000), fresh))
    assert np.mean(found) < 0.005


@pytest.mark.parametrize("preimage", ["smoother", "ridge", "mds", "transport", "fixed_point", "gradient"])
@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_landmarks": 40}])
def test_integer_weights_are_repeated_rows_in_every_preimage(preimage, options):
    counts = np.random.default_rng(0).integers(1, 4, 60)
    options = {"kernel": RBF(0.7), "preimage": preimage, **options}
    weighted = KernelPPCA(4, **options).fit(X[:60], sample_weight=counts)
    repeated = KernelPPCA(4, **options).fit(np.repeat(X[:60], counts, axis=0))
    assert repeated.noise_variance_ == pytest.approx(weighted.noise_variance_, rel=1e-8)
    assert_allclose(repeated.reconstruct(NEW[:10]), weighted.reconstruct(NEW[:10]), atol=1e-5)


# ---------------------------------------------------------------- limits, noise, landmarks


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_new_rows_exceed_the_limits_at_the_nominal_rate(level):
    model = KernelPPCA(4, random_state=0).fit(make_moons(400, noise=0.1, random_state=3)[0])
    found = model.anomaly(make_moons(3000, noise=0.1, random_state=4)[0], level=level)
    for name in ("t2", "spe"):
        beyond = (getattr(found, name) > getattr(found, f"limit_{name}")).mean()
        assert 0.5 * (1 - level) < beyond < 2 * (1 - level)
    assert found.contributions.shape == (3000, 2)


def test_a_tally_counts_and_beyond_its_largest_value_follows_the_tail():
    tally = Tally.of(np.arange(1.0, 100.0), np.ones(99), freedom=3)
    assert_allclose(tally.p_values(np.array([0.5, 99.0])), [1.0, 0.02])
    beyond = tally.p_values(np.array([100.0, 150.0, 1000.0]))
    assert (np.diff(beyond) < 0).all()
    assert beyond[0] < 0.01
    assert tally.limit(0.999) > 99.0
    assert tally.p_values(np.array([tally.limit(0.999)]))[0] == pytest.approx(0.001, rel=1e-6)


def test_the_factor_behind_noise_is_made_once(monkeypatch):
    made = []
    factor = subspace.noise_field
    monkeypatch.setattr(subspace, "noise_field", lambda raw: made.append(1) or factor(raw))
    model = KernelPPCA(3, preimage="smoother", random_state=0).fit(X)
    first, second = model.sample(4), model.sample(4)
    model.truncate(2).sample(4)
    model.sample_kernel(2)
    assert_array_equal(first, second)
    assert len(made) == 1


def test_more_landmarks_than_rows_are_cut_with_a_warning():
    with pytest.warns(NumericalWarning, match="n_landmarks=500"):
        model = KernelPPCA(3, approximation="nystroem", n_landmarks=500).fit(X)
    assert len(model.X_fit_) == len(X)


def test_random_features_leave_no_arrays_of_all_rows():
    rows = np.random.default_rng(0).standard_normal((5000, 3))
    model = KernelPPCA(4, approximation="rff", n_landmarks=40, random_state=0).fit(rows)
    assert len(model.X_fit_) == 2000
    assert model.dual_coef_.shape == (2000, 4)
    assert np.isfinite(model.sample(3)).all()
    with pytest.raises(ValueError, match="random features"):
        model.decode_weights(np.zeros((1, 4)))


@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_landmarks": 40}])
def test_arrays_that_users_read_have_the_dtype_of_the_rows(options):
    model = KernelPPCA(3, preimage="smoother", **options).fit(X.astype(np.float32))
    for name in ("explained_variance_", "explained_variance_ratio_", "eigenvectors_", "dual_coef_"):
        assert getattr(model, name).dtype == np.float32
    assert model.sample(2).dtype == np.float32


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_an_offset_costs_a_linear_kernel_no_digits(offset):
    table = np.random.default_rng(0).standard_normal((60, 4)) * [3.0, 2.0, 1.0, 0.5]
    plain, moved = (KernelPPCA(2, kernel="linear", noise_dim=4).fit(rows) for rows in (table, table + offset))
    assert_allclose(moved.explained_variance_, plain.explained_variance_, rtol=1e-6)
    assert_allclose(np.abs(moved.transform(table + offset)), np.abs(plain.transform(table)), atol=1e-5)
    assert_allclose(moved.reconstruct(table + offset) - offset, plain.reconstruct(table), atol=1e-5)


@pytest.mark.parametrize(("preimage", "asked"), [("transport", 0), ("smoother", 1)])
def test_weights_of_feature_noise_are_computed_for_pre_images_that_look_at_them(monkeypatch, preimage, asked):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = KernelPPCA(2, preimage=preimage).fit(X)
    expected = model.sample(4, random_state=0)
    weights, made = NoiseField._weights, []
    monkeypatch.setattr(NoiseField, "_weights", lambda self, unit: made.append(1) or weights(self, unit))
    assert_allclose(model.sample(4, random_state=0), expected)
    assert len(made) == asked
    # the same rows where every pre-image is handed weights with their noise
    monkeypatch.setattr(dual, "by_scores", lambda method: False)
    assert_allclose(model.sample(4, random_state=0), expected)


def test_rows_together_exceed_a_tally_as_often_as_chance_says_and_seldom_more():
    rng = np.random.default_rng(0)
    alarms = [Tally.of(rng.chisquare(4, 150), np.ones(150)).exceeded(rng.chisquare(4, 60), 0.9) for _ in range(400)]
    assert np.mean(alarms) <= 0.12
    moved = [Tally.of(rng.chisquare(4, 150), np.ones(150)).exceeded(1.6 * rng.chisquare(4, 60), 0.9) for _ in range(50)]
    assert np.mean(moved) > 0.9
    far = Tally.of(rng.chisquare(4, 150), np.ones(150))
    assert far.exceeded(np.full(5, 1e300), 0.99)
    assert np.isfinite(far.p_values(np.array([1e12, 1e300]))).all()


@pytest.mark.parametrize("n, most", [(20, 0.015), (60, 0.013)])
def test_beyond_the_largest_held_out_value_p_values_know_that_it_was_drawn_too(n, most):
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(600):
        tally = Tally.of(rng.chisquare(4, n), np.ones(n))
        new = rng.chisquare(4, 40)
        p_values = tally.p_values(new)
        np.testing.assert_array_equal(p_values < 0.01 - 1e-12, new > tally.limit(0.99) * (1 + 1e-9))
        shares.append((p_values < 0.01).mean())
    assert 0.005 < np.mean(shares) < most
