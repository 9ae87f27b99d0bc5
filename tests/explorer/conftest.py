"""Small tables that have everything a panel needs, read and fitted once."""

import copy

import numpy as np
import pytest

from gramian.explorer import Session, session_of


def iris_rows():
    """Flowers with two holes and a category, as columns by name."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    X = bunch.data.copy()
    X[3, 1] = np.nan
    species = np.array([bunch.target_names[k] for k in bunch.target], dtype=object)
    species[5] = None
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    return {**dict(zip(names, X.T)), "species": species}


def write_csv(path, columns):
    from gramian.io import write_table

    write_table(path, list(columns), list(columns.values()))
    return str(path)


@pytest.fixture(scope="session")
def iris_file(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("explorer") / "iris.csv", iris_rows())


@pytest.fixture
def make_session():
    """Sessions that are closed in the end."""
    made = []

    def make(*given, wait=True, **options):
        session = session_of(*given, **options)
        made.append(session)
        if wait:
            assert session.jobs.wait(120), session.jobs.facts()
        return session

    yield make
    for session in made:
        session.close()


@pytest.fixture(scope="session")
def fitted_iris(iris_file):
    """The flowers, fitted once; tests look at copies."""
    session = session_of(iris_file)
    assert session.jobs.wait(120)
    session.close()
    return session


@pytest.fixture
def iris(fitted_iris):
    session = Session(fitted_iris.title)
    session.data, session.fitted = copy.deepcopy((fitted_iris.data, fitted_iris.fitted))
    yield session
    session.close()
