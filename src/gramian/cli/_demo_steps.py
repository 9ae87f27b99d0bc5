"""The steps of the demo: a computation, a line, a section of the page each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.reporting.blocks import Code, Grid, Section, Text
from gramian.reporting.pictures import picture

IMAGE = (8, 8)
N_TRAIN = 1000


@dataclass(frozen=True)
class Step:
    """What a step found: a line for the terminal, numbers for machines, a section for the page."""

    line: str
    numbers: dict[str, float]
    section: Section


@cache
def digits() -> tuple[Array, Array]:
    """1797 handwritten digits of 8 x 8 pixels from 0 to 16, and what they are."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def rms(errors: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


# ---------------------------------------------------------------- holes


def holes() -> Step:
    """Pixels hidden at random, and filled in with intervals."""
    from gramian import PPCA
    from gramian.datasets import make_missing

    X, _ = digits()
    holed = make_missing(X, 0.25, random_state=0)
    hidden = np.isnan(holed)
    model = PPCA(n_components=10, tol=1e-4, random_state=0).fit(holed)
    full, std = model.impute(holed, return_std=True)
    error, plain = rms((full - X)[hidden]), rms((np.nanmean(holed, axis=0) - X)[hidden])
    sure = std[hidden] > 0
    inside = float(np.mean(np.abs(full - X)[hidden][sure] <= 1.645 * std[hidden][sure]))
    line = (
        f"{hidden.sum()} missing pixels filled: error {error:.2f} (column means {plain:.2f}); 90 % intervals "
        f"hold {100 * inside:.0f} %"
    )
    shown = np.arange(5, 205, 20)
    section = Section("Holes")
    section.add(
        Text(
            f"A quarter of the pixels of {len(X)} digits was deleted. PPCA is fitted to what is left, by "
            "exact maximum likelihood, and fills each "
            "hole with its mean given what the row shows, and a standard deviation. Root mean square error "
            f"{error:.2f} on a scale of "
            f"0 to 16, against {plain:.2f} for column means. Of the 90 % intervals, {100 * inside:.0f} % "
            "hold the deleted value."
        ),
        picture(
            lambda: _mosaic(
                [holed[shown], full[shown], std[shown] * 16 / std.max(), X[shown]],
                ["with holes", "filled", "uncertainty", "truth"],
            ),
            "Digits with holes, filled",
            "Missing pixels are grey. Third line: the standard deviation of each filled pixel.",
            marks=10**6,
            wide=True,
        ),
        Code("model = PPCA(n_components=10).fit(X_with_nan)\nfull, std = model.impute(X_with_nan, return_std=True)"),
    )
    return Step(line, {"error": error, "error of means": plain, "coverage": inside}, section)


# ---------------------------------------------------------------- kernels


def kernel() -> Step:
    """Noise removed and new digits drawn by a kernel model."""
    from gramian import PPCA, KernelPPCA, plotting

    X, _ = digits()
    train, clean = X[:N_TRAIN], X[N_TRAIN : N_TRAIN + 200]
    noisy = clean + 4 * np.random.default_rng(0).normal(size=clean.shape)
    model = KernelPPCA(n_components=60, kernel="rbf", random_state=0).fit(train)
    rebuilt = model.reconstruct(noisy)
    before, after = rms(noisy - clean), rms(rebuilt - clean)
    linear = rms(PPCA(n_components=16).fit(train).reconstruct(noisy) - clean)
    line = f"noise on unseen digits cut from {before:.2f} to {after:.2f} (linear: {linear:.2f}); new digits drawn"
    section = Section("Kernels")
    section.add(
        Text(
            f"Kernel PPCA with 60 components, fitted to {N_TRAIN} digits. Unseen digits with noise of size "
            f"{before:.2f} are projected and mapped back to pixels: "
            f"the error falls to {after:.2f} ({linear:.2f} with a linear model). The same model draws new "
            "digits: a latent point from its prior, a point of "
            "feature space, and its pre-image."
        ),
        picture(
            lambda: _mosaic([noisy[::20], rebuilt[::20], clean[::20]], ["noisy", "reconstructed", "truth"]),
            "Noisy digits, reconstructed",
            "Noisy digits the model has not seen, their reconstructions, and the digits before the noise.",
            marks=10**6,
            wide=True,
        ),
        picture(
            lambda: plotting.samples_grid(model, image_shape=IMAGE, n_samples=20, n_columns=10, random_state=0),
            "Digits drawn from the model",
            "Digits that nobody wrote.",
            marks=10**6,
            wide=True,
        ),
        Code('model = KernelPPCA(n_components=60, kernel="rbf").fit(X)\nmodel.reconstruct(X_noisy)\nmodel.sample(20)'),
    )
    return Step(line, {"noise before": before, "noise after": after, "linear": linear}, section)


# ---------------------------------------------------------------- mixtures and classes


def mixture() -> Step:
    """Clusters of digits without looking at the labels."""
    from sklearn.metrics import adjusted_rand_score

    from gramian import PPCAMixture

    X, y = digits()
    chosen = np.isin(y, (0, 1, 4, 6))
    rows, truth = X[chosen], y[chosen]
    rng = np.random.default_rng(0)
    rows = rows + 0.5 * rng.normal(
        size=rows.shape
    )  # border pixels are always white: a little noise makes them columns like others
    model = PPCAMixture(n_clusters=4, n_components=6, n_init=2, random_state=0).fit(rows)
    agreement = float(adjusted_rand_score(truth, model.predict(rows)))
    line = f"four kinds of digits found without labels: agreement {agreement:.2f} (adjusted Rand index)"
    drawn, labels = model.sample(400, random_state=0)
    section = Section("Mixtures")
    section.add(
        Text(
            f"{len(rows)} zeros, ones, fours and sixes, without their labels. A mixture of four PPCA models "
            "finds them: adjusted Rand index "
            f"{agreement:.2f}, where 1 is perfect. Each component has its own directions, so new digits can "
            "be drawn from each."
        ),
        picture(
            lambda: _mosaic([drawn[labels == k][:10] for k in range(4)], [f"cluster {k}" for k in range(1, 5)]),
            "Digits drawn from the mixture",
            "Ten draws from each cluster.",
            marks=10**6,
            wide=True,
        ),
        Code(
            "model = PPCAMixture(n_clusters=4, n_components=6).fit(X)\nmodel.predict(X), "
            "model.predict_proba(X), model.sample(20)"
        ),
    )
    return Step(line, {"adjusted Rand index": agreement}, section)


def classifier() -> Step:
    """Digits classified by a kernel model for each class."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from gramian import KernelPPCAClassifier
    from gramian.kernels import RBF

    X, y = digits()
    rows = [
        ("KernelPPCAClassifier", KernelPPCAClassifier(n_components=40, kernel=RBF(20.0))),
        ("scikit-learn SVC (default)", SVC()),
        ("scikit-learn k neighbours (default)", KNeighborsClassifier()),
    ]
    found = []
    for name, model in rows:
        started = time.perf_counter()
        accuracy = float(model.fit(X[:N_TRAIN], y[:N_TRAIN]).score(X[N_TRAIN:], y[N_TRAIN:]))
        found.append([name, f"{100 * accuracy:.1f} %", f"{time.perf_counter() - started:.2f} s"])
        if name == "KernelPPCAClassifier":
            ours = accuracy
    line = f"{100 * ours:.1f} % of {len(X) - N_TRAIN} unseen digits right"
    section = Section("Classes")
    section.add(
        Text(
            f"A kernel model for each digit; a row goes to the class that explains it best. {N_TRAIN} "
            f"digits to learn from, {len(X) - N_TRAIN} to judge."
        ),
        Grid(["method", "right", "fit and predict"], found),
        Code("KernelPPCAClassifier(n_components=40, kernel=RBF(20.0)).fit(X, y).predict_proba(X_new)"),
    )
    return Step(line, {"accuracy": ours}, section)


# ---------------------------------------------------------------- views


def view() -> Step:
    """The lower half of a digit from its upper half."""
    from gramian import MultiViewRKM
    from gramian.kernels import RBF

    X, _ = digits()
    top, bottom = X[:, :32], X[:, 32:]
    kernels = {"top": RBF(30.0), "bottom": "linear"}
    model = MultiViewRKM(n_components=40, kernel=kernels, noise_variance="per-view", random_state=0)
    training = {"top": top[:N_TRAIN], "bottom": bottom[:N_TRAIN]}
    model.fit(training).calibrate(training)
    guess, std = model.predict_view({"top": top[N_TRAIN:], "bottom": None}, "bottom", return_std=True)
    truth = bottom[N_TRAIN:]
    error, plain = rms(guess - truth), rms(bottom[:N_TRAIN].mean(axis=0) - truth)
    sure = np.broadcast_to(std, truth.shape) > 0
    inside = float(np.mean((np.abs(guess - truth) <= 1.645 * std)[sure]))
    line = (
        f"lower halves of digits from upper halves: error {error:.2f} (mean {plain:.2f}); 90 % intervals hold "
        f"{100 * inside:.0f} %"
    )
    chosen = np.arange(0, len(truth), len(truth) // 10)[:10] + N_TRAIN
    seen = np.column_stack([top[chosen], np.full((10, 32), np.nan)])
    whole = np.column_stack([top[chosen], guess[chosen - N_TRAIN]])
    section = Section("A missing view")
    section.add(
        Text(
            "Two views of each digit, its upper and its lower half, under one latent space. Of unseen "
            "digits only the upper half is given; the model predicts "
            "the lower, with standard deviations; how far it may trust the upper half was learned from held-out rows. "
            f"Error {error:.2f}, against {plain:.2f} for the mean; "
            f"{100 * inside:.0f} % inside 90 % intervals."
        ),
        picture(
            lambda: _mosaic([seen, whole, X[chosen]], ["given", "predicted", "truth"]),
            "Lower halves predicted",
            "Upper halves given; the lower halves of the second line are predicted.",
            marks=10**6,
            wide=True,
        ),
        Code(
            'kernels = {"top": RBF(30.0), "bottom": "linear"}\n'
            'views = {"top": top, "bottom": bottom}\n'
            'model = MultiViewRKM(40, kernel=kernels, noise_variance="per-view").fit(views).calibrate(views)\n'
            'model.predict_view({"top": new}, "bottom", return_std=True)'
        ),
    )
    return Step(line, {"error": error, "error of the mean": plain, "coverage": inside}, section)


def _mosaic(blocks: list[Array], names: list[str]) -> Any:
    """Lines of digits under each other."""
    from gramian.plotting._canvas import IMAGES, single
    from gramian.plotting.images import centres, frame, mosaic_line

    ax = single(None, (0.8 * len(blocks[0]) + 1.2, 0.8 * len(blocks) + 0.6))
    ax.set_facecolor("none")
    for line, block in enumerate(blocks):
        mosaic_line(ax, block.reshape(-1, *IMAGE), line, cmap=IMAGES, vmin=0, vmax=16)
    frame(ax, len(blocks[0]), len(blocks), 1.0)
    ax.set_yticks(-centres(len(blocks)), names)
    return ax


# ---------------------------------------------------------------- forecasts


def forecast() -> Step:
    """A chaotic series continued, with a fan of intervals."""
    from gramian import RKMForecaster, plotting
    from gramian.datasets import make_mackey_glass

    steps = 60
    series = make_mackey_glass(560) + 0.02 * np.random.default_rng(0).normal(size=560)
    past, actual = series[:-steps], series[-steps:]
    model = RKMForecaster(lags=24, horizon=steps, random_state=0).fit(past)
    middle = np.ravel(model.predict(steps))
    lower, upper = (np.ravel(bound) for bound in model.predict_interval(steps, level=0.9))
    error, spread = rms(middle - actual), float(past.std())
    inside = float(np.mean((lower <= actual) & (actual <= upper)))
    line = (
        f"{steps} steps of a chaotic series: error {error / spread:.2f} of its spread; 90 % intervals hold "
        f"{100 * inside:.0f} %"
    )
    section = Section("Forecasts")
    section.add(
        Text(
            f"The Mackey-Glass series with a little noise, {len(past)} values to learn from. The last 24 "
            "values are one view, the next value the other; "
            f"{steps} steps are predicted one after the other, and the uncertainty is carried along."
        ),
        picture(
            lambda: plotting.forecast_fan(model, steps, past=past, actual=actual),
            "Forecast with intervals",
            "The forecast with its 50, 80 and 95 % bands, and what came.",
            wide=True,
        ),
        Code("model = RKMForecaster(lags=24).fit(series)\nmodel.predict(60), model.predict_interval(60, level=0.9)"),
    )
    return Step(line, {"error": error / spread, "coverage": inside}, section)


# ---------------------------------------------------------------- primal and dual, speed


def duality() -> Step:
    """The same model in primal and in dual coordinates."""
    from gramian import PPCA, KernelPPCA

    X = digits()[0][:400]
    q, d = 10, X.shape[1]
    primal = PPCA(n_components=q).fit(X)
    dual = KernelPPCA(n_components=q, kernel="linear", noise_dim=d, solver="eigh").fit(X)
    rows = []
    largest = 0.0
    for name, left, right in (
        ("eigenvalues", primal.explained_variance_, dual.explained_variance_),
        ("noise variance", primal.noise_variance_, dual.noise_variance_),
        ("latents, up to sign", np.abs(primal.transform(X)), np.abs(dual.transform(X))),
        ("log-likelihood of rows", primal.score_samples(X), dual.score_samples(X)),
        ("Mahalanobis distances", primal.mahalanobis(X), dual.mahalanobis(X)),
        ("reconstructions", primal.reconstruct(X), dual.reconstruct(X)),
    ):
        gap = float(np.max(np.abs(np.asarray(left) - right)) / np.max(np.abs(left)))
        largest = max(largest, gap)
        rows.append([name, f"{gap:.1e}"])
    line = f"a {d} x {d} covariance or a {len(X)} x {len(X)} kernel matrix: the same to {largest:.0e}"
    section = Section("Primal and dual")
    section.add(
        Text(
            f"PPCA decomposes the {d} x {d} covariance, KernelPPCA with a linear kernel the {len(X)} x "
            f"{len(X)} Gram matrix. They are one model: everything "
            "agrees to the last digits."
        ),
        Grid(["quantity", "largest relative difference"], rows),
    )
    return Step(line, {"largest difference": largest}, section)


def timings() -> Step:
    """Jobs that people wait for, by scikit-learn too, timed in turns."""
    from sklearn.decomposition import PCA, KernelPCA
    from sklearn.impute import KNNImputer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    from gramian import PPCA, KernelPPCA
    from gramian.datasets import make_low_rank, make_missing
    from gramian.kernels import RBF

    q = 20
    tall = make_low_rank(20_000, 60, rank=q, random_state=0)
    holed = make_missing(tall[:3000, :40], 0.1, random_state=0)
    some = tall[:2500]
    width = 10.0
    gamma = 1 / (2 * width**2)
    contests: list[tuple[str, Callable[[], Any], str, Callable[[], Any]]] = [
        (
            f"fill holes: 3000 x 40, 10 % missing, q = {q}",
            lambda: PPCA(q, random_state=0).fit(holed).impute(holed, return_std=True),
            "KNNImputer (no intervals)",
            lambda: KNNImputer().fit_transform(holed),
        ),
        (
            f"kernel components: 2500 x 60, q = {q}",
            lambda: KernelPPCA(q, kernel=RBF(width), random_state=0).fit(some),
            "KernelPCA (no likelihood)",
            lambda: KernelPCA(q, kernel="rbf", gamma=gamma, random_state=0).fit(some),
        ),
        (
            f"kernel of many rows: 20000 x 60, 300 landmarks, q = {q}",
            lambda: KernelPPCA(q, kernel=RBF(width), approximation="nystroem", n_landmarks=300, random_state=0).fit(
                tall
            ),
            "Nystroem, then PCA",
            lambda: make_pipeline(Nystroem(gamma=gamma, n_components=300, random_state=0), PCA(q)).fit(tall),
        ),
        (
            f"many rows, nothing missing: 20000 x 60, q = {q}",
            lambda: PPCA(q).fit(tall),
            "PCA",
            lambda: PCA(q).fit(tall),
        ),
    ]
    rows, numbers, words = [], {}, []
    for what, ours, other, theirs in contests:
        mine, other_time = _in_turns(ours, theirs)
        rows.append([what, f"{1000 * mine:.0f} ms", other, f"{1000 * other_time:.0f} ms", f"{other_time / mine:.1f}"])
        numbers[what] = other_time / mine
        words.append(f"{other.replace(',', '').split(' ')[0]} {other_time / mine:.1f}x")
    section = Section("Timings")
    section.add(
        Text(
            "Processor time on this machine, in turns, at sizes where one waits, with all that a fit leaves behind: noise, likelihood, "
            "intervals, a way back. Where nothing is missing, both decompose the same covariance."
        ),
        Grid(["work", "gramian", "scikit-learn", "time", "times as long"], rows),
    )
    return Step("scikit-learn takes " + ", ".join(words) + " as long", numbers, section)


def _in_turns(first: Callable[[], Any], second: Callable[[], Any], repeats: int = 3) -> tuple[float, float]:
    """Processor time of both, the median over a few turns; one turn where a run is long."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for work, spent in zip((first, second), times):
            started = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # twenty steps need not be the end
                work()
            spent.append(time.process_time() - started)
        # Seconds from which one run is enough.
        if max(times[0][0], times[1][0]) > 0.5:
            break
    return max(median(times[0]), 1e-6), max(median(times[1]), 1e-6)


STEPS: dict[str, Callable[[], Step]] = {
    "holes": holes,
    "kernel": kernel,
    "mixture": mixture,
    "classifier": classifier,
    "missing view": view,
    "forecast": forecast,
    "primal = dual": duality,
    "timings": timings,
}
