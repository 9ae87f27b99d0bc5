"""The Santa Fe laser, 100 steps ahead, tuned on rolling origins inside the training points: docs/forecasting.md.

Run with ``GRAMIAN_DATA=... python -m experiments.laser`` (``--write`` puts the table into the page). Every method has 12
configurations. Each is fitted to the first 300, 400, ..., 900 of the 1000 training points, and every fit forecasts 100 steps
from four origins (the last from one), 25 in all; the configuration of the least mean error is fitted to all 1000 points and
forecasts the 100 test points, and 100 steps from 20 origins in the continuation.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from experiments._page import write_block
from gramian import NumericalWarning, RKMForecaster
from gramian.kernels import RBF

PAGE = Path(__file__).resolve().parents[1] / "docs" / "forecasting.md"
STEPS = 100
REFITS = range(300, 901, 100)
"""Ends of the stretches that are fitted to tune; each forecasts from its end and 25, 50, 75 values later."""
N_CONTINUED = 20
LAGS = (30, 50, 70)


class Recursive:
    """Any one-step regressor of standardised windows, fed with its own predictions."""

    def __init__(self, model: Any, lags: int) -> None:
        self.model, self.lags = model, lags

    def fit(self, y: np.ndarray) -> Recursive:
        self.shift, self.scale = y.mean(), y.std()
        scaled = (y - self.shift) / self.scale
        windows = np.lib.stride_tricks.sliding_window_view(scaled, self.lags + 1)
        self.model.fit(windows[:, :-1], windows[:, -1])
        return self

    def predict(self, steps: int, history: np.ndarray) -> np.ndarray:
        window = list((history[-self.lags :] - self.shift) / self.scale)
        for _ in range(steps):
            window.append(float(self.model.predict(np.array(window[-self.lags :])[None])[0]))
        return np.clip(np.array(window[self.lags :]), -1e3, 1e3) * self.scale + self.shift


def rkm(lags: int, width: float, noise: float) -> RKMForecaster:
    """All components above the noise, and a target that is noisier by 1e5: of a component with eigenvalue l the share 1 - σ²/l is
    kept, where kernel ridge with the penalty σ²N keeps 1/(1 + σ²/l). So a noise of 1e-7 is a penalty of 1e-4 at 1000 windows.
    """
    return RKMForecaster(
        lags,
        None,
        kernel=RBF(width),
        noise_variance=noise,
        view_weights=(1.0, 1e-5),
        n_folds=None,
        random_state=0,
        season=None,
        difference=0,
        transform=None,
    )


def gaussian_process(lags: int, kind: Any) -> Recursive:
    return Recursive(GaussianProcessRegressor(gp.ConstantKernel(1.0) * kind + gp.WhiteKernel(1e-2, (1e-8, 1.0))), lags)


CONFIGURATIONS: dict[str, list[tuple[str, Callable[[], Any]]]] = {
    "RKMForecaster": [
        (
            f"lag {lags}, width {width}, noise {noise}",
            lambda lags=lags, width=width, noise=noise: rkm(lags, width, noise),
        )
        for lags, width, noise in product(LAGS, (2.5, 5.0), (1e-7, 1e-5))
    ],
    "kernel ridge": [
        (
            f"lag {lags}, width {width}, alpha {alpha}",
            lambda lags=lags, width=width, alpha=alpha: Recursive(
                KernelRidge(alpha=alpha, kernel="rbf", gamma=0.5 / width**2), lags
            ),
        )
        for lags, width, alpha in product(LAGS, (2.5, 5.0), (1e-4, 1e-2))
    ],
    "Gaussian process": [
        (f"lag {lags}, {kind}", lambda lags=lags, kind=kind: gaussian_process(lags, kind))
        for lags, kind in product(LAGS, (gp.RBF(2.5), gp.RBF(10.0), gp.Matern(5.0, nu=2.5), gp.RationalQuadratic(5.0)))
    ],
    "linear autoregression": [
        (f"lag {lags}, alpha {alpha}", lambda lags=lags, alpha=alpha: Recursive(Ridge(alpha), lags))
        for lags, alpha in product((30, 70, 150), (1e-3, 1e-1, 10.0, 100.0))
    ],
}


def forecast_errors(model: Any, series: np.ndarray, origins: Any, variance: float) -> list[float]:
    """Mean squared errors of 100 steps from each origin, in units of the training variance."""
    errors = []
    for origin in origins:
        found = np.asarray(model.predict(STEPS, history=series[:origin]))
        errors.append(float(np.mean((found - series[origin : origin + STEPS]) ** 2) / variance))
    return errors


def tuning_errors(make: Callable[[], Any], train: np.ndarray, variance: float) -> list[float]:
    """Errors from origins inside the training points, each by a model of what came before it."""
    errors = []
    for end in REFITS:
        model = make().fit(train[:end])
        origins = [origin for origin in range(end, end + 100, 25) if origin + STEPS <= len(train)]
        errors += forecast_errors(model, train, origins, variance)
    return errors


def main() -> None:
    warnings.simplefilter("ignore", NumericalWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "santafe_laser.npz") as data:
        train, continuation = data["train"].astype(float), data["a_cont"].astype(float)
    variance = float(train.var())
    whole = np.concatenate([train, continuation])
    # evenly over the continuation, each with at least 200 values of it as history
    continued = 1000 + np.linspace(200, len(continuation) - STEPS, N_CONTINUED).astype(int)
    lines = [
        "| method | chosen | tuning error | test error | mean over 20 origins | median | CPU seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    means = {}
    chosen_methods = [name for name in CONFIGURATIONS if name in sys.argv] or list(CONFIGURATIONS)
    for method in chosen_methods:
        begin = time.process_time()
        scores = []
        for name, make in CONFIGURATIONS[method]:
            scores.append(float(np.mean(tuning_errors(make, train, variance))))
            print(f"  {method}: {name}: {scores[-1]:.3f} ({time.process_time() - begin:.0f} s)", flush=True)
        best = int(np.argmin(scores))
        name, make = CONFIGURATIONS[method][best]
        model = make().fit(train)
        test = forecast_errors(model, whole, [1000], variance)[0]
        far = forecast_errors(model, whole, continued, variance)
        seconds = time.process_time() - begin
        means[method] = float(np.mean(far))
        lines.append(
            f"| {method} | {name} | {scores[best]:.3f} | {test:.3f} | {means[method]:.3f} | {np.median(far):.3f} | {seconds:.0f} |"
        )
        print(lines[-1], flush=True)
    if "RKMForecaster" in means:
        ratio = means["RKMForecaster"] / min(means.values())
        lines += ["", f"Mean over the 20 origins, over the best: {ratio:.3f} (goal: at most 1.1)."]
        print(lines[-1])
    if "--write" in sys.argv:
        write_block(PAGE, "laser", lines)


if __name__ == "__main__":
    main()
