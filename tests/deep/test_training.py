"""Training: schedule, early stopping, checkpoints, interrupts."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from sklearn.exceptions import ConvergenceWarning

from gramian.deep import DeepRKM, training
from gramian.deep.training import COLUMNS, one_cycle
from gramian.exceptions import ModelFileError

SMALL = {"hidden": (16,), "n_features": 8, "batch_size": 64, "random_state": 0}


def test_the_learning_rate_rises_for_a_quarter_and_falls_to_nothing():
    rates = [one_cycle(step, 400) for step in range(401)]
    assert np.argmax(rates) == 100
    assert rates[100] == pytest.approx(1.0)
    assert rates[0] == pytest.approx(0.04)
    assert rates[-1] == pytest.approx(0.001)


def test_history_has_equal_columns_and_the_shares_make_up_the_loss(views):
    model = DeepRKM(2, max_epochs=4, rkm_weight=0.3, cross_weight=0.5, **SMALL).fit(views)
    assert (
        tuple(model.history_) == COLUMNS == ("epoch", "loss", "reconstruction", "rkm", "cross", "held_out", "seconds")
    )
    assert {len(column) for column in model.history_.values()} == {4} == {model.n_epochs_}
    h = {name: np.array(column) for name, column in model.history_.items()}
    np.testing.assert_allclose(h["loss"], h["reconstruction"] + 0.3 * h["rkm"] + 0.5 * h["cross"], rtol=1e-6)
    assert h["epoch"].tolist() == [1, 2, 3, 4]


def test_training_lowers_the_held_out_error(X):
    model = DeepRKM(2, max_epochs=40, **SMALL).fit(X)
    held_out = model.history_["held_out"]
    assert min(held_out) < 0.15 < held_out[0]


def test_held_out_errors_are_those_of_the_frozen_model(X):
    """The closed form changes nothing: what is judged while training is what the model does (noise apart)."""
    model = DeepRKM(2, max_epochs=60, noise_variance=0.0, **SMALL).fit(X)
    share = ((X - model.reconstruct(X)) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert share == pytest.approx(model.history_["reconstruction"][-1], rel=0.1)


def test_the_same_seed_trains_the_same_maps_and_another_seed_others(X):
    one, same, other = (
        DeepRKM(2, max_epochs=2, **{**SMALL, "random_state": seed}).fit(X).transform(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3


def test_the_order_of_the_rows_does_not_matter(X):
    """Held-out rows, anchors and batches follow from what rows hold."""
    order = np.random.default_rng(5).permutation(len(X))
    plain = DeepRKM(2, max_epochs=2, **SMALL).fit(X).transform(X)
    mixed = DeepRKM(2, max_epochs=2, **SMALL).fit(X[order]).transform(X)
    np.testing.assert_allclose(np.abs(mixed), np.abs(plain), atol=1e-3)


def test_early_stopping_keeps_the_best_epoch(X, monkeypatch):
    scores = iter([0.5, 0.3, 0.4, 0.45, 0.5, 0.6, 0.2, 0.4, 0.1])
    rates = []
    rate = training.Run._rate
    monkeypatch.setattr(training.Run, "judged", lambda self, rows: next(scores))
    monkeypatch.setattr(training.Run, "_rate", lambda self, at: rates.append((at, rate(self, at))) or rates[-1][1])
    model = DeepRKM(2, max_epochs=50, patience=3, **SMALL).fit(X)
    assert (model.n_epochs_, model.best_epoch_) == (8, 7)  # the rate fell for three more epochs, then it was over
    after = [value for at, value in rates if at >= 5]
    assert after == sorted(after, reverse=True)
    assert after[-1] < 0.05 * after[0]


def test_without_early_stopping_the_last_epoch_is_kept(X, monkeypatch):
    scores = iter([0.5, 0.3, 0.4, 0.45, 0.5, 0.6])
    monkeypatch.setattr(training.Run, "judged", lambda self, rows: next(scores))
    model = DeepRKM(2, max_epochs=6, patience=1, early_stopping=False, **SMALL).fit(X)
    assert (model.n_epochs_, model.best_epoch_) == (6, 6)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("frame", ["eigh", "power", "stiefel"])
def test_a_run_that_was_cut_goes_on_to_the_same_numbers(X, tmp_path, monkeypatch, frame):
    options = {**SMALL, "frame": frame, "max_epochs": 5}
    whole = DeepRKM(2, **options).fit(X)
    epoch = training.Run._one_epoch

    def cut(self):
        if self.epoch == 2:
            raise StoppedError
        epoch(self)

    part = DeepRKM(2, checkpoint=str(tmp_path / "run"), **options)
    with monkeypatch.context() as patch:
        patch.setattr(training.Run, "_one_epoch", cut)
        with pytest.raises(StoppedError):
            part.fit(X)
    assert not hasattr(part, "model_")
    resumed = part.fit(X)
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))
    assert resumed.history_["loss"] == whole.history_["loss"]
    again = DeepRKM(2, checkpoint=str(tmp_path / "run"), **options).fit(X)
    np.testing.assert_array_equal(again.transform(X), whole.transform(X))


def test_a_checkpoint_of_other_rows_or_another_file_is_refused(X, tmp_path):
    path = str(tmp_path / "run")
    DeepRKM(2, max_epochs=1, checkpoint=path, **SMALL).fit(X)
    with pytest.raises(ValueError, match="other rows or other settings"):
        DeepRKM(2, max_epochs=1, checkpoint=path, **SMALL).fit(X + 1)
    (tmp_path / "text").write_text("no checkpoint")
    with pytest.raises(ModelFileError, match="Delete it"):
        DeepRKM(2, max_epochs=1, checkpoint=str(tmp_path / "text"), **SMALL).fit(X)


def test_an_interrupt_keeps_the_best_epoch(X, monkeypatch):
    epoch = training.Run._one_epoch

    def interrupted(self):
        if self.epoch == 2:
            raise KeyboardInterrupt
        epoch(self)

    monkeypatch.setattr(training.Run, "_one_epoch", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 of max_epochs=9"):
        model = DeepRKM(2, max_epochs=9, **SMALL).fit(X)
    assert model.n_epochs_ == 2
    assert model.transform(X).shape == (300, 2)


def test_training_that_diverges_says_so(X):
    model = DeepRKM(2, max_epochs=30, learning_rate=1e18, **SMALL)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="Lower learning_rate"):
        model.fit(X)


@pytest.mark.parametrize("rkm_weight", [0.0, 1.0, 10.0])
def test_features_neither_shrink_nor_grow_without_bound(X, rkm_weight):
    options = {**SMALL, "rkm_weight": rkm_weight, "early_stopping": False}
    first = DeepRKM(2, max_epochs=1, **options).fit(X).encode(X).var(axis=0).sum()
    last = DeepRKM(2, max_epochs=100, **options).fit(X).encode(X).var(axis=0).sum()
    assert 1e-2 < last / first < 1e2


def test_after_training_the_running_frame_is_the_principal_subspace(X, monkeypatch):
    kept = []
    go = training.Run.go
    monkeypatch.setattr(training.Run, "go", lambda self: (kept.append(self), go(self))[1])
    model = DeepRKM(2, max_epochs=60, early_stopping=False, **SMALL).fit(X)
    (run,) = kept
    features = model.encode(X)
    C = np.cov(features.T, bias=True)
    lost = 1 - np.trace(run.way.axes.T @ C @ run.way.axes) / np.linalg.eigvalsh(C)[::-1][:2].sum()
    assert lost < 1e-4


class Watched(torch.nn.Linear):
    """A layer that writes down what it is shown while it trains."""

    def forward(self, x):
        if self.training:
            self.shown.append(x.detach().clone())
        return super().forward(x)


@pytest.mark.parametrize("is_trained", [True, False])
def test_trained_encoders_see_noise_that_falls_with_the_learning_rate(X, is_trained, monkeypatch):
    """The noise is so many of the view's mean deviations; a fixed encoder sees the rows as they are."""
    encoder = Watched(X.shape[1], 4)
    encoder.shown = []
    encoder.requires_grad_(is_trained)
    found = {}
    monkeypatch.setattr(training.Run, "go", lambda run: found.setdefault("run", run))
    DeepRKM(2, encoder=encoder, max_epochs=2, batch_size=len(X), random_state=0).fit(X)
    run = found["run"]
    mine = run.encoders[0]
    run.modules.train()
    mine.shown.clear()
    for rate in (1.0, 0.5):
        run._step(run.train, rate)
    deviation = float(np.sqrt(run.train.variances[0] / X.shape[1]))
    for rate, shown in zip((1.0, 0.5), mine.shown):
        noise = float((shown - run.train.views[0]).std())
        assert noise == pytest.approx(
            training.input_noise(X.shape[1]) * rate * deviation if is_trained else 0.0, rel=0.1
        )


def test_policies_of_training():
    """Chosen on rows that no reported figure uses: docs/deep.md."""
    assert (training.input_noise(64), training.input_noise(784), training.input_noise(16)) == (1.0, 1.0, 0.25)
