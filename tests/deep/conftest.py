"""Data for the tests of trained maps: a curved sheet, and two views of one."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def one_thread():
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def curved(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    mixing = np.random.default_rng(1).standard_normal((2, d))
    return np.tanh(z @ mixing) + 0.05 * rng.standard_normal((n, d))


@pytest.fixture
def X():
    return curved()


@pytest.fixture
def views():
    table = curved(d=8)
    return {"a": table[:, :5], "b": table[:, 5:]}
