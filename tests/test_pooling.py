"""Rubin's rules against statsmodels, Barnard and Rubin's numbers against their formula, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import pool


def fits_of(m=5, n=40, seed=0):
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(seed)
    X = sm.add_constant(rng.standard_normal((n, 2)))
    y = X @ [1.0, 2.0, 0.0] + rng.standard_normal(n)
    return [sm.OLS(y + 0.3 * rng.standard_normal(n), X).fit() for _ in range(m)]


def test_estimate_and_covariance_are_those_of_statsmodels():
    fits = fits_of()
    from statsmodels.imputation.mice import MICE

    chain = SimpleNamespace(results_list=fits, exog_names=["a", "b", "c"], endog_names="y", model_class=None)
    theirs = MICE.combine(chain)
    ours = pool(fits)
    assert_allclose(ours.estimate, theirs.params)
    assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-12)
    assert_allclose(ours.fraction_missing, theirs.frac_miss_info, rtol=1e-12)


def test_degrees_of_freedom_are_barnard_and_rubins():
    fits = fits_of(m=4)
    ours = pool(fits)
    Q = np.array([fit.params for fit in fits])
    U = np.mean([np.diag(fit.cov_params()) for fit in fits], axis=0)
    B = Q.var(axis=0, ddof=1)
    lam = 1.25 * B / (U + 1.25 * B)
    complete = 37
    nu_m, nu_o = 3 / lam**2, (complete + 1) / (complete + 3) * complete * (1 - lam)
    assert_allclose(ours.df, nu_m * nu_o / (nu_m + nu_o))
    assert (ours.df < complete).all()


def test_equal_fits_have_the_interval_of_one_with_all_their_freedom():
    fit = SimpleNamespace(params=np.array([1.0]), cov_params=lambda: np.array([[4.0]]))
    ours = pool([fit] * 3)
    assert np.isinf(ours.df[0])
    lower, upper = ours.interval(0.95)
    assert_allclose([lower[0], upper[0]], 1 + 2 * 1.959963985 * np.array([-1, 1]))


def test_lifelines_and_scikit_learn_fits_are_pooled_by_name():
    lifelines = pytest.importorskip("lifelines")
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(60), "t": rng.exponential(size=60) + 0.1})
    cox = [lifelines.CoxPHFitter().fit(frame.assign(a=frame.a + 0.1 * rng.standard_normal(60)), "t") for _ in range(3)]
    assert list(pool(cox).summary().index) == ["a"]

    fits = [SimpleNamespace(coef_=np.array([[1.0 + k, 2.0]]), intercept_=np.array([0.5])) for k in range(3)]
    both = pool(fits, covariances=[np.ones(3)] * 3)
    assert_allclose(both.estimate, [0.5, 2.0, 2.0])
    assert_allclose(pool(fits, covariances=[np.eye(2)] * 3).estimate, [2.0, 2.0])


@pytest.mark.parametrize(
    ("fits", "covariances", "message"),
    [
        ([SimpleNamespace(coef_=[1.0])], None, "at least 2"),
        ([SimpleNamespace(coef_=[1.0])] * 2, None, "covariances="),
        ([SimpleNamespace(coef_=[1.0])] * 2, [[1.0]], "one per fit"),
        ([SimpleNamespace(a=1)] * 2, [[1.0]] * 2, "cannot be pooled"),
        ([SimpleNamespace(coef_=[1.0]), SimpleNamespace(coef_=[1.0, 2.0])], [[1.0], [1.0, 1.0]], "different numbers"),
        ([SimpleNamespace(coef_=[1.0])] * 2, [[np.nan]] * 2, "not finite"),
    ],
)
def test_refusals_say_what_to_do(fits, covariances, message):
    with pytest.raises(ValueError, match=message):
        pool(fits, covariances=covariances)
