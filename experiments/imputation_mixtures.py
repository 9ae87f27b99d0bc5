"""Does a mixture fill better? `LatentImputer(PPCAMixture("auto"))`, number of clusters and q chosen, beside `LatentImputer()`: docs/imputation.md.

    python -m experiments.imputation_mixtures [decide|report] [tables] [--write]

Real tables with a fifth of their cells hidden, at most 150 x 6 of each, as in ``experiments.imputation_tables``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import islice

import numpy as np

from experiments._page import write_block
from experiments.imputation import PAGE
from experiments.imputation_tables import Job, jobs
from gramian import LatentImputer, PPCAMixture

MOST_ROWS, MOST_COLUMNS = 150, 6


def one(job: Job) -> tuple[float, float, int]:
    """Error of the mixture over that of the default, CPU over that of the default, number of clusters."""
    errors, seconds, clusters = [], [], 1
    for model in (LatentImputer(), LatentImputer(PPCAMixture("auto", random_state=0), n_folds=None)):
        start = time.process_time()
        errors.append(job.error(model.fit(job.X).transform(job.X)))
        seconds.append(time.process_time() - start)
        clusters = len(getattr(model.estimator_, "weights_", [1]))
    return errors[1] / max(errors[0], 1e-4), seconds[1] / seconds[0], clusters


def lines(which: str, most: int) -> list[str]:
    """A Markdown table: tables by the number of clusters that was chosen."""
    warnings.simplefilter("ignore")
    found = []
    for job in islice(jobs(which, MOST_ROWS, MOST_COLUMNS), most):
        found.append(one(job))
        print(
            f"{job.name:40s} {job.X.shape!s:10s} error {found[-1][0]:.3f} CPU {found[-1][1]:.0f} K {found[-1][2]}",
            flush=True,
        )
    out = [
        "| clusters chosen | tables | error of the mixture over the default's, geometric mean | better by 2 % | worse by 2 % | CPU over the default's, median |",
        "|---|---|---|---|---|---|",
    ]
    values = np.array(found)
    for title, mine in (
        ("1", values[:, 2] == 1),
        ("2 or 3", (values[:, 2] > 1) & (values[:, 2] < 4)),
        ("4 and more", values[:, 2] >= 4),
        ("all", values[:, 2] > 0),
    ):
        ratios, cpu = values[mine, 0], values[mine, 1]
        if mine.any():
            out.append(
                f"| {title} | {mine.sum()} | {np.exp(np.log(ratios).mean()):.3f} | {(ratios < 0.98).sum()} | {(ratios > 1.02).sum()} | {np.median(cpu):.0f} |"
            )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="?", default="decide")
    parser.add_argument("tables", nargs="?", type=int, default=40)
    parser.add_argument("--write", action="store_true", help="put the table into docs/imputation.md")
    options = parser.parse_args()
    found = lines(options.which, options.tables)
    print("\n".join(found))
    if options.write:
        write_block(PAGE, "mixtures", found)


if __name__ == "__main__":
    main()
