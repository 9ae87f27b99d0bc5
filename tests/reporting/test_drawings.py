"""The drawings of the report: every mark has its name, names never pile up, holes are seen."""

import re

import numpy as np
import pytest

from gramian.reporting.column_drawings import correlations, histogram, hole_map, value_bars
from gramian.reporting.row_drawings import arrows, curve, distances, row_map, spread_places
from gramian.reporting.svg import LINE, Canvas, Scale, cut, ticks


def titles(svg):
    return re.findall(r"<title>(.*?)</title>", svg)


def test_names_are_escaped_everywhere():
    canvas = Canvas(10, 10)
    canvas.write(0, 0, "<b>&")
    canvas.circle(0, 0, 1, "dot", '"<script>')
    assert "<b>" not in canvas.markup("<i>")
    assert "<script>" not in canvas.markup('"')
    assert "&lt;script&gt;" in canvas.markup("x")


@pytest.mark.parametrize("low, high", [(0, 1), (-3.7, 12.2), (1e-9, 2e-9), (1e9, 3e9), (-0.4, 0.4)])
def test_ticks_are_few_round_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 * abs(low) <= t <= high * (1 + 1e-9) + 1e-15 for t in found)
    assert np.allclose(np.diff(found), np.diff(found)[0])


def test_a_scale_maps_ends_to_ends():
    scale = Scale(2, 4, 100, 0)
    assert (scale(2), scale(3), scale(4)) == (100, 50, 0)


def test_a_histogram_counts_every_value_once():
    values = np.array([1.0, 2.0, 2.0, np.nan, 7.5])
    assert sum(int(title.rsplit(": ", 1)[1]) for title in titles(histogram(values))) == 4
    assert histogram(np.full(5, np.nan)) == histogram(np.ones(5)) == ""
    shares = titles(value_bars(["u"] * 3 + ["v"] + [None] + list("abcdefghij")))
    assert sum(int(title.rsplit(": ", 1)[1]) for title in shares) == 14


def test_every_pair_of_columns_has_a_square_that_says_its_correlation():
    R = np.corrcoef(np.random.default_rng(0).normal(size=(4, 50)))
    assert len(titles(correlations(R, list("abcd")))) == 12


def test_every_hole_is_on_the_map():
    holes = np.zeros((40, 3), dtype=bool)
    holes[5, 1] = holes[6, 1] = holes[20, 2] = True
    svg = hole_map(holes, ["a", "b", "c"])
    assert svg.count('class="hole3"') == 2  # two columns have holes; neighbours are one mark
    assert "b: 2 of 40 missing (5 %)" in titles(svg)
    many = np.zeros((5000, 2), dtype=bool)
    many[777, 0] = True
    assert "hole1" in hole_map(many, ["a", "b"])  # one hole among thousands of rows is seen


@pytest.mark.parametrize("seed", range(5))
def test_names_of_arrows_do_not_pile_up(seed):
    rng = np.random.default_rng(seed)
    angle = rng.normal(0, 0.1, size=12)  # all point the same way
    svg = arrows(np.column_stack([np.cos(angle), np.sin(angle)]) * 0.9, [f"column {j}" for j in range(12)])
    heights = sorted(float(y) for y in re.findall(r'<text class="t" x="[\d.]+" y="([\d.]+)"', svg))
    assert len(heights) == 10
    assert min(np.diff(heights)) >= LINE


def test_spread_keeps_order_and_distance():
    rng = np.random.default_rng(0)
    wanted = rng.uniform(0, 200, 10)
    found = np.array(spread_places(wanted.tolist(), 16, 0, 300))
    assert (np.argsort(found) == np.argsort(wanted)).all()
    assert np.diff(np.sort(found)).min() >= 16 - 1e-9


def test_rows_have_their_names_and_odd_ones_a_ring():
    points = np.random.default_rng(0).normal(size=(4, 2))
    svg = row_map(points, ["Ann", "Bob", "Cy", "Di"], ["u", "v", "u", "v"], np.array([False, True, False, False]))
    assert "Bob (v): odd" in titles(svg)
    assert {"Ann (u)", "Cy (u)", "Di (v)"} <= set(titles(svg))
    assert svg.count('class="ring"') == 2  # the row, and the legend
    chart = distances(np.array([1.0, 50.0]), np.array([False, True]), np.arange(2), ["Ann", "Bob"], "T²")
    assert titles(chart) == ["Ann: 1", "Bob: 50"]


def test_the_chosen_candidate_is_marked():
    assert "2: 0.5, chosen" in titles(curve([1, 2, 3], [0.1, 0.5, 0.4], 2, ("q", "score")))


def test_names_are_cut_to_their_place():
    assert cut("abc", 100) == "abc"
    assert cut("a" * 100, 78).endswith("…")
    assert len(cut("a" * 100, 78)) == 10
