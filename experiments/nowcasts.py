"""Nowcasts on a ragged edge: DynamicPPCA beside carrying forward and statsmodels' DynamicFactorMQ: docs/forecasting.md.

Run with ``python -m experiments.nowcasts [--write]``. At every one of the last ten years of statsmodels' ``macrodata`` (growth rates, differences), and of the last quarters of a made
panel with two latents, half of the series are not out yet. The last six quarters of ``macrodata`` are the crisis of 2008: 24 numbers, which are shown by themselves. Errors are absolute, in
units of the standard deviation of each series. Needs ``statsmodels``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from experiments._page import write_block
from gramian import DynamicPPCA

PAGE = Path(__file__).resolve().parents[1] / "docs" / "forecasting.md"
QUARTERS = {"made, two latents": 6, "macrodata": 40}
CRISIS = 6
HELD = slice(0, None, 2)
"""Every other series is not out yet."""


def macro() -> pd.DataFrame:
    from statsmodels.datasets import macrodata

    table = macrodata.load_pandas().data
    growth = np.log(table[["realgdp", "realcons", "realinv", "realdpi", "cpi", "m1"]]).diff()
    table = pd.concat([growth, table[["tbilrate", "unemp"]].diff()], axis=1).iloc[1:]
    table.index = pd.period_range("1959Q2", periods=len(table), freq="Q")
    return table


def made() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = np.zeros((200, 2))
    for t in range(1, 200):
        z[t] = 0.8 * z[t - 1] + 0.6 * rng.standard_normal(2)
    values = z @ rng.standard_normal((2, 8)) + 0.5 * rng.standard_normal((200, 8))
    return pd.DataFrame(values, index=pd.period_range("1959Q2", periods=200, freq="Q"), columns=list("abcdefgh"))


def carried(known: pd.DataFrame) -> np.ndarray:
    return known.ffill().to_numpy()[-1]


def own(known: pd.DataFrame) -> np.ndarray:
    return DynamicPPCA(random_state=0).fit(known).nowcast().to_numpy()[-1]


def alone(known: pd.DataFrame) -> np.ndarray:
    return DynamicPPCA(1, random_state=0).fit(known).nowcast().to_numpy()[-1]


def peer(moving: bool) -> Callable[[pd.DataFrame], np.ndarray]:
    """With noise of each series that is its own past's (AR(1)), or not."""

    def nowcast(known: pd.DataFrame) -> np.ndarray:
        from statsmodels.tsa.api import DynamicFactorMQ

        model = DynamicFactorMQ(known, factors=2, factor_orders=1, idiosyncratic_ar1=moving)
        last = len(known) - 1
        found = model.fit(disp=0, maxiter=100).get_prediction(start=last, end=last, information_set="smoothed")
        return np.asarray(found.predicted_mean)[-1]

    return nowcast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    methods = {
        "carrying forward": carried,
        "DynamicFactorMQ, 2 factors": peer(False),
        "DynamicFactorMQ, 2 factors, AR(1) noise": peer(True),
        "DynamicPPCA": own,
        "DynamicPPCA, 1 latent": alone,
    }
    lines = [
        "| panel | method | mean error of what is not out yet | of the last six | CPU s per fit |",
        "|" + "---|" * 5,
    ]
    for (title, quarters), table in zip(QUARTERS.items(), (made(), macro())):
        spread = table.std().to_numpy()
        for name, method in methods.items():
            errors, begin = [], time.process_time()
            for last in range(len(table) - quarters, len(table)):
                known = table.iloc[: last + 1].copy()
                truth = known.to_numpy()[-1].copy()
                known.iloc[-1, HELD] = np.nan
                errors.append((np.abs(method(known) - truth) / spread)[HELD])
            seconds = (time.process_time() - begin) / quarters
            lines.append(
                f"| {title} | {name} | {np.mean(errors):.3f} | {np.mean(errors[-CRISIS:]):.3f} | {seconds:.2f} |"
            )
            print(lines[-1], flush=True)
    print("\n".join(lines))
    if options.write:
        write_block(PAGE, "nowcast", lines)


if __name__ == "__main__":
    main()
