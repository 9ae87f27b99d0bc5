"""The command starts without what scikit-learn imports for others, and everything is there once it is used."""

import subprocess
import sys

import pytest

from gramian.cli._app import ModuleOnFirstUse, import_scikit_learn, lightly


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_module_on_first_use_is_the_module(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    module = ModuleOnFirstUse("colorsys")
    monkeypatch.setitem(sys.modules, "colorsys", module)
    import colorsys as found

    assert found is module
    assert module.rgb_to_hsv(1.0, 1.0, 1.0) == (0.0, 0.0, 1.0)
    assert sys.modules["colorsys"] is not module
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing


def test_scikit_learn_comes_without_pandas_and_statistics_and_both_come_when_asked_for():
    pytest.importorskip("pandas")
    code = """
import sys
from gramian.cli._app import import_scikit_learn
import_scikit_learn()
import_scikit_learn()
def there(): return [name for name in ("sklearn", "pandas", "scipy.stats._stats_py", "numpy.f2py.crackfortran") if name in sys.modules]
print(there())
import numpy as np, pandas as pd, scipy
from sklearn.utils.fixes import _mode
print(float(_mode(np.array([1.0, 2.0, 2.0])).mode[0]), round(float(scipy.stats.norm.cdf(0.0)), 3))
from scipy.stats import norm
import scipy.stats.distributions
from gramian import PPCA
frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=["a", "b", "c"])
print(PPCA(1).fit(frame).feature_names_in_.tolist(), there())
"""
    first, second, third = python(code).splitlines()
    assert first == "['sklearn']"
    assert second == "2.0 0.5"
    assert third == "['a', 'b', 'c'] ['sklearn', 'pandas', 'scipy.stats._stats_py']"


def test_where_scikit_learn_is_imported_nothing_is_touched():
    import sklearn.base  # noqa: F401

    before = dict(sys.modules)
    import_scikit_learn()
    assert sys.modules == before


def test_a_light_callback_keeps_its_name_and_answer():
    def callback(a, b=2):
        """Words."""
        return a + b

    assert lightly(callback)(1, b=3) == 4
    assert (lightly(callback).__name__, lightly(callback).__doc__) == ("callback", "Words.")


def test_what_is_imported_is_not_looked_through_for_garbage_neither_later_nor_at_the_end():
    code = """
import atexit, gc
atexit.register(lambda: print(len(gc.get_objects())))  # runs last: what the collector would look through
from gramian.cli._app import import_scikit_learn
import_scikit_learn()
print(gc.isenabled(), gc.get_freeze_count(), len(gc.get_objects()))
kept = [[] for _ in range(1000)]
"""
    first, at_the_end = python(code).splitlines()
    enabled, frozen, left = first.split()
    assert enabled == "True"
    assert int(frozen) > 50_000
    assert int(left) < 1000
    assert int(at_the_end) < 1000


def test_the_collector_is_on_again_where_the_import_fails():
    code = """
import gc, sys
sys.modules["sklearn.base"] = None
from gramian.cli._app import import_scikit_learn
try:
    import_scikit_learn()
except ImportError:
    print(gc.isenabled())
"""
    assert python(code) == "True\n"
