"""Penguins of the Palmer Archipelago: a real table of numbers, categories, dates and holes that comes with the package."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np


def load_penguins() -> dict[str, Any]:
    """344 penguins of three species, as columns by name: numbers, categories, a date, and 46 missing cells.

    Measured by K. B. Gorman, T. D. Williams and W. R. Fraser (2014) and Palmer Station LTER, who gave the data to the public domain (CC0). Here are
    ten of the columns, under short names: size of bill, flipper and body, nitrogen and carbon isotopes of the blood (per mille).

    Returns
    -------
    dict of str to ndarray
        Numbers with NaN where a value is missing, texts with None. ``pandas.DataFrame(load_penguins())`` is a frame.

    References
    ----------
    docs/data.md. "Ecological sexual dimorphism and environmental variability within a community of Antarctic penguins (genus Pygoscelis)", PLoS ONE 9(3), 2014.

    Examples
    --------
    >>> from gramian.datasets import load_penguins
    >>> columns = load_penguins()
    >>> list(columns)[:4], columns["species"][0], float(columns["body_mass_g"][0])
    (['species', 'island', 'egg_laid', 'bill_length_mm'], 'Adelie', 3750.0)
    """
    text = files("gramian.datasets").joinpath("penguins.csv").read_text(encoding="utf-8")
    names, *rows = csv.reader(text.splitlines())
    columns: dict[str, Any] = {}
    for name, cells in zip(names, zip(*rows)):
        try:
            columns[name] = np.array([float(cell) if cell else np.nan for cell in cells])
        except ValueError:
            columns[name] = np.array([cell or None for cell in cells], dtype=object)
    return columns
