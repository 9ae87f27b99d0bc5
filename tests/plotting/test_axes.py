"""Axes in, axes out, nothing shown, nothing left behind (REP-05); names that try to break a picture (REP-02)."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from gramian import PPCA, plotting
from gramian.plotting._canvas import label, panels

HOSTILE = [
    "<script>alert(1)</script>",
    "$\\frac{1}$",
    "a$b",
    "100 %s %d",
    "x" * 500,
    "شاره",
    "‮evil",
    "🙂 count",
    "line\nbreak\tand\x00zero",
    "_hidden",
    "{curly}\\n",
    "",
]

SINGLE = {
    "scree": lambda get, **o: plotting.scree(get("ppca"), get("iris"), **o),
    "cumulative_variance": lambda get, **o: plotting.cumulative_variance(get("kernel_model"), **o),
    "selection": lambda get, **o: plotting.selection(PPCA().fit(get("iris")), **o),
    "heldout_curve": lambda get, **o: plotting.heldout_curve(get("ppca"), get("iris"), cv=3, **o),
    "latent_scatter": lambda get, **o: plotting.latent_scatter(
        get("ppca_holed"), get("holed"), np.arange(150) % 3, **o
    ),
    "biplot": lambda get, **o: plotting.biplot(get("ppca"), get("iris"), **o),
    "reconstruction_grid": lambda get, **o: plotting.reconstruction_grid(get("ppca_digits"), get("digits"), **o),
    "reconstruction_strips": lambda get, **o: plotting.reconstruction_grid(get("ppca_holed"), get("holed"), **o),
    "samples_grid": lambda get, **o: plotting.samples_grid(get("ppca_digits"), random_state=0, **o),
    "samples_strips": lambda get, **o: plotting.samples_grid(get("mixture"), random_state=0, **o),
    "latent_traversal": lambda get, **o: plotting.latent_traversal(get("ppca_digits"), n_steps=3, **o),
    "traversal_map": lambda get, **o: plotting.latent_traversal(get("ppca"), **o),
    "responsibilities": lambda get, **o: plotting.responsibilities(get("mixture"), get("shapes"), n_grid=20, **o),
    "responsibilities_bars": lambda get, **o: plotting.responsibilities(
        get("mixture"), get("shapes"), kind="bars", **o
    ),
    "missingness_map": lambda get, **o: plotting.missingness_map(get("ppca_holed"), get("holed"), **o),
    "interval_calibration": lambda get, **o: plotting.interval_calibration(get("ppca"), get("iris"), **o),
    "em_trace": lambda get, **o: plotting.em_trace(get("ppca_holed"), **o),
    "anomaly_histogram": lambda get, **o: plotting.anomaly_histogram(get("ppca_holed"), get("holed"), **o),
    "detector_histogram": lambda get, **o: plotting.anomaly_histogram(get("detector"), get("shapes"), **o),
    "view_contributions": lambda get, **o: plotting.view_contributions(get("several"), **o),
    "view_prediction": lambda get, **o: plotting.view_prediction(
        get("several"), {"left": get("views")["left"]}, "right", get("views")["right"], **o
    ),
}
SEVERAL = {
    "control_chart": (3, lambda get, **o: plotting.control_chart(get("ppca_holed"), get("holed"), **o)),
    "drift_chart": (2, lambda get, **o: plotting.drift_chart(get("ppca_holed"), get("holed"), **o)),
    "control_chart_bare": (
        2,
        lambda get, **o: plotting.control_chart(get("ppca"), get("iris"), contributions=False, **o),
    ),
    "kernel_components": (
        2,
        lambda get, **o: plotting.kernel_components(get("kernel_model"), get("shapes"), n_grid=12, **o),
    ),
}


@pytest.mark.parametrize("name", SINGLE)
def test_a_picture_is_drawn_on_the_axes_given_and_again_on_others(name, request, figure, render):
    settings = dict(matplotlib.rcParams)
    left, right = figure.subplots(1, 2)
    assert SINGLE[name](request.getfixturevalue, ax=left) is left
    assert not right.has_data()
    assert SINGLE[name](request.getfixturevalue, ax=right) is right
    assert left.has_data()
    assert right.has_data()
    render(figure)
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("name", SINGLE)
def test_without_axes_a_picture_has_a_figure_of_its_own_that_pyplot_shows(name, request, render):
    import matplotlib.pyplot as plt

    try:
        first, second = (SINGLE[name](request.getfixturevalue) for _ in range(2))
        assert first.figure is not second.figure
        assert len(render(first.figure)) > 1000
        assert plt.gcf() is second.figure
        assert len(plt.get_fignums()) == 2
    finally:
        plt.close("all")


@pytest.mark.parametrize("name", SEVERAL)
def test_panels_take_axes_a_figure_a_subfigure_or_a_place(name, request, render):
    count, draw = SEVERAL[name]
    get = request.getfixturevalue
    given = Figure().subplots(1, count)
    assert list(draw(get, ax=given)) == list(given)
    figure = Figure(layout="constrained")
    assert {one.figure for one in draw(get, ax=figure)} == {figure}
    top, bottom = Figure(layout="constrained").subfigures(2, 1)
    assert {one.figure for one in draw(get, ax=top)} == {top}
    assert not bottom.axes
    place, other = Figure(layout="constrained").subplots(1, 2)
    drawn = draw(get, ax=place)
    assert len(drawn) == count
    assert not other.has_data()
    edge = place.get_position().x1
    render(place.figure)
    assert all(one.get_position().x1 <= edge + 0.1 for one in drawn)
    assert len(draw(get)) == count


@pytest.mark.parametrize("name", [*SINGLE, *SEVERAL])
def test_without_matplotlib_the_error_says_what_to_install(name, request, monkeypatch):
    for module in [one for one in sys.modules if one.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    draw = SINGLE[name] if name in SINGLE else SEVERAL[name][1]
    with pytest.raises(ImportError, match=r"gramian\[plot\]"):
        draw(request.getfixturevalue)


def test_panels_of_the_wrong_number_or_kind_are_refused():
    with pytest.raises(ValueError, match="needs 3 axes"):
        panels(Figure().subplots(1, 2), (3, 1), (1, 1))
    with pytest.raises(ValueError, match="no place in a grid"):
        panels(Figure().add_axes((0, 0, 1, 1)), (3, 1), (1, 1))
    with pytest.raises(TypeError, match="ax=str"):
        plotting.scree(PPCA(n_components=1).fit(np.eye(4)), ax="here")


def test_drawing_imports_no_pyplot():
    code = (
        "import io, sys, numpy as np; from gramian import PPCA, plotting; assert 'matplotlib' not in sys.modules;"
        "plotting.scree(PPCA(n_components=1).fit(np.eye(5))).figure.savefig(io.BytesIO());"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_label_is_short_one_line_and_is_drawn_as_written(name, render):
    text = label(name)
    assert len(text.replace(r"\$", "$")) <= 24
    assert not set("\n\t\x00‮🙂") & set(text)
    figure = Figure()
    figure.text(0.5, 0.5, text)
    render(figure)  # a glyph that the font lacks would be a warning, which is an error here


def test_a_label_keeps_what_can_be_shown():
    assert label("alcohol, %") == "alcohol, %"
    assert label("a$b$c") == r"a\$b\$c"
    assert label("café") == "café"
    assert label("e" * 30) == "e" * 23 + "…"
    assert label("🙂 count") == "□ count"
    assert label(3.5) == "3.5"


@pytest.mark.parametrize(
    "draw",
    [
        lambda m, X, n: plotting.biplot(m, X, np.array(n)[np.arange(len(X)) % len(n)]),
        lambda m, X, n: plotting.missingness_map(m, X),
        lambda m, X, n: plotting.reconstruction_grid(m, X),
        lambda m, X, n: plotting.latent_traversal(m),
        lambda m, X, n: plotting.control_chart(m, X)[0],
        lambda m, X, n: plotting.latent_scatter(m, X, X.iloc[:, 0], label_name=n[1]),
    ],
    ids=["biplot", "missingness_map", "reconstruction_grid", "latent_traversal", "control_chart", "latent_scatter"],
)
def test_hostile_names_of_columns_and_classes_do_no_harm(draw, render):
    import pandas as pd

    names = [f"{i}{name}" for i, name in enumerate(HOSTILE)]
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((40, len(names))), columns=names)
    render(draw(PPCA(n_components=2).fit(X), X, names).figure)
