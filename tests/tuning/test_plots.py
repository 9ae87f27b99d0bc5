"""Pictures of a search."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from gramian import BayesSearch, KernelPPCA
from gramian.plotting.tuning import parameter_importance, search_history, surrogate_slice

figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture(scope="module")
def search():
    space = {
        "kernel": ["rbf", "rational_quadratic"],
        "kernel__length_scale": ("log", 0.1, 10.0),
        "kernel__alpha": (0.5, 2.0),
        "n_components": [1, 2, 400],
    }
    model = KernelPPCA(solver="krylov", preimage="smoother")  # whose trials do not settle q themselves
    return BayesSearch(model, space, n_trials=10, cv=2, random_state=0).fit(load_iris().data)


@pytest.fixture
def ax():
    return figure.Figure().subplots()


def test_the_history_rises_and_shows_failures(search, ax):
    assert "failed" in search.trials_["status"]  # 400 components of 150 rows
    assert search_history(search, ax) is ax
    labels = [line.get_label() for line in ax.get_lines()]
    best = ax.get_lines()[labels.index("best so far")].get_ydata()
    assert (np.diff(best) >= 0).all()
    assert best[-1] == search.best_score_
    assert len(ax.get_lines()[labels.index("failed")].get_xdata()) == search.trials_["status"].count("failed")


@pytest.mark.parametrize("parameter", ["kernel", "kernel__length_scale", "kernel__alpha", "n_components", None])
def test_the_slice_is_drawn_along_every_kind_of_parameter(search, ax, parameter):
    assert surrogate_slice(search, parameter, ax) is ax
    assert ax.get_xlabel() in search.space_.dimensions
    assert parameter is None or ax.get_xlabel() == parameter
    assert ax.get_xscale() == ("log" if ax.get_xlabel() == "kernel__length_scale" else "linear")


def test_an_unknown_parameter_is_refused(search):
    with pytest.raises(ValueError, match="was not searched"):
        surrogate_slice(search, "tol")


def test_importance_has_a_bar_a_parameter(search, ax):
    assert parameter_importance(search, ax) is ax
    assert len(ax.patches) == 4
    shares = search.importance()
    assert all(0.0 <= share <= 1.05 for share in shares.values())


@pytest.mark.parametrize("plot", [search_history, surrogate_slice, parameter_importance])
def test_axes_are_made_where_none_are_given_and_nothing_is_drawn_before_the_fit(plot, search):
    assert plot(search).figure is not None
    with pytest.raises(NotFittedError):
        plot(BayesSearch(KernelPPCA()))
