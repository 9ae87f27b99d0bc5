"""One question has one answer, whatever door it is asked at: the estimators, the command line and the report agree on ten tables."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import datasets

from gramian import LatentImputer, LatentOutlierDetector, PPCAMixture
from gramian.cli import main
from gramian.datasets import make_missing
from gramian.io.tables import read_table, write_table

LEVEL = 0.99
pytestmark = [  # what such tables have to say of themselves is not asked here
    pytest.mark.filterwarnings("ignore::gramian.NumericalWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def columns(X):
    return {f"c{j}": column for j, column in enumerate(np.asarray(X, dtype=float).T)}


def tables():
    iris, rng = datasets.load_iris(), np.random.default_rng(0)
    kinds = np.array(["low", "middle", "high"], dtype=object)[iris.target]
    made = {
        "cancer": columns(datasets.load_breast_cancer().data),
        "wine": columns(datasets.load_wine().data),
        "iris": columns(iris.data),
        "diabetes": columns(datasets.load_diabetes().data),
        "blobs": columns(datasets.make_blobs(600, 5, centers=6, random_state=3)[0]),
        "holes": columns(make_missing(iris.data, 0.1, random_state=0)),
        "units": columns(iris.data * [1000, 1, 1e-3, 1]),
        "small": columns(np.hstack(datasets.load_linnerud(return_X_y=True))),
        "categories": {**columns(iris.data), "kind": kinds},
    }
    wild = iris.data.copy()
    wild[:3] += 40 * rng.standard_normal((3, 4))
    return made | {"wild": columns(wild)}


TABLES = tables()


def run(*arguments):
    ran = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


@pytest.fixture(scope="module", params=TABLES)
def asked(request, tmp_path_factory):
    """A table as a file, as the features that Python sees, and what the report says of it."""
    made = TABLES[request.param]
    path = tmp_path_factory.mktemp("one") / "table.csv"
    write_table(path, list(made), list(made.values()), digits=17)
    numbers = all(column.dtype != object for column in made.values())
    X = np.column_stack(list(made.values())) if numbers else pytest.importorskip("pandas").DataFrame(made)
    return path, X, run("report", path, "-o", path.parent / "r.html")


def test_the_number_of_clusters(asked):
    path, X, report = asked
    folder = path.parent
    found = {
        "python": len(PPCAMixture(n_clusters="auto").fit(X).weights_),
        "fit": len(run("fit", path, "-m", folder / "m", "--model", "mixture", "--no-check")["mixing"]),
    }
    if report.get("clusters") is not None:  # looked for from 30 rows on
        found["report"] = report["clusters"]
    assert len(set(found.values())) == 1, found


def test_the_odd_rows(asked):
    path, X, report = asked
    folder = path.parent
    python = LatentOutlierDetector(contamination=1 - LEVEL).fit_predict(X) < 0
    run("fit", path, "-m", folder / "one", "--no-check")
    run("score", folder / "one", path, "-o", folder / "s.csv", "--level", LEVEL)
    scored = np.array([float(cell) == 1 for cell in read_table(folder / "s.csv")["flag"]])
    assert (scored != python).sum() == 0
    assert report["flagged"] == python.sum()


def test_the_filled_cells(tmp_path):
    made = TABLES["holes"]
    path = tmp_path / "table.csv"
    write_table(path, list(made), list(made.values()), digits=17)
    run("impute", path, "-o", tmp_path / "full.csv", "--digits", "12")
    filled = read_table(tmp_path / "full.csv")
    python = LatentImputer().fit_transform(np.column_stack(list(made.values())))
    np.testing.assert_allclose(np.column_stack(filled.columns), python, rtol=1e-6)
