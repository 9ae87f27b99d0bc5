"""pool: one answer from fits to several completed tables, by Rubin's rules with Barnard and Rubin's degrees of freedom [16]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from gramian._answers import Answer, Shown
from gramian._arrays import Array
from gramian._checks import check_number


@dataclass(frozen=True, repr=False)
class Pooled(Answer):
    """Coefficients pooled over completed tables.

    Attributes
    ----------
    names : list of str
    estimate : ndarray of shape (n_coefficients,)
        The mean Q of the estimates.
    covariance : ndarray of shape (n_coefficients, n_coefficients)
        T = U + (1 + 1/m) B: within and between tables.
    df : ndarray of shape (n_coefficients,)
        Degrees of freedom of the t law of each coefficient; infinite where nothing bounds them.
    fraction_missing : ndarray of shape (n_coefficients,)
        (1 + 1/m) B / T: the share of the variance that is due to the holes.
    n_tables : int
    """

    names: list[str]
    estimate: Array
    covariance: Array
    df: Array
    fraction_missing: Array
    n_tables: int

    def _shown(self) -> Shown:
        ends = zip(*self.interval())
        rows = [
            (name, float(mean), float(std), float(df), f"{low:.4g} to {high:.4g}", f"{100 * share:.0f} %")
            for name, mean, std, df, (low, high), share in zip(
                self.names, self.estimate, self.std, self.df, ends, self.fraction_missing
            )
        ]
        heads = ("coefficient", "estimate", "error", "df", "95 % interval", "due to holes")
        return Shown(f"{len(rows)} coefficients pooled over {self.n_tables} tables", heads, rows)

    @property
    def std(self) -> Array:
        """The standard error of each coefficient."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def p_values(self) -> Array:
        """Two-sided p-values of "the coefficient is 0"."""
        with np.errstate(divide="ignore", invalid="ignore"):
            chances = 2 * stats.t.sf(np.abs(self.estimate / self.std), self.df)
        return np.where((self.df > 0) & (self.estimate != 0), chances, 1.0)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals [16].

        Parameters
        ----------
        level : float in (0, 1), default=0.95

        Returns
        -------
        (ndarray, ndarray)

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from gramian import pool
        >>> fits = [SimpleNamespace(coef_=[value]) for value in (1.0, 2.0, 3.0)]
        >>> lower, upper = pool(fits, covariances=[[[1.0]]] * 3).interval(0.9)
        >>> lower.round(2), upper.round(2)
        (array([-0.96]), array([4.96]))
        """
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        reach = np.where(self.df > 0, stats.t.ppf((1 + level) / 2, self.df), np.inf) * self.std
        return self.estimate - reach, self.estimate + reach

    def summary(self, level: float = 0.95) -> Any:
        """One row per coefficient: estimate, std, df, p, interval, fraction_missing [16].

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Of the interval.

        Returns
        -------
        pandas.DataFrame, or a dict of columns where pandas is not installed

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from gramian import pool
        >>> fits = [SimpleNamespace(coef_=[value]) for value in (1.0, 2.0, 3.0)]
        >>> list(pool(fits, covariances=[[[1.0]]] * 3).summary())
        ['estimate', 'std', 'df', 'p', 'lower', 'upper', 'fraction_missing']
        """
        lower, upper = self.interval(level)
        columns = {
            "estimate": self.estimate,
            "std": self.std,
            "df": self.df,
            "p": self.p_values,
            "lower": lower,
            "upper": upper,
            "fraction_missing": self.fraction_missing,
        }
        try:
            import pandas
        except ImportError:
            return {"name": np.array(self.names, dtype=object), **columns}
        return pandas.DataFrame(columns, index=self.names)


def pool(fits: Sequence[Any], covariances: Any = None) -> Pooled:
    """One answer from the fits to m completed tables, as `LatentImputer.draws` gives them (Rubin's rules) [16].

    Q is the mean of the estimates Q_i, U that of their covariances, B the covariance of the Q_i over the tables;
    T = U + (1 + 1/m) B. Intervals are those of a t law, with the degrees of freedom of Barnard and Rubin where the fits say
    how many the complete table would have (``df_resid``).

    Parameters
    ----------
    fits : sequence of at least 2 fits
        Anything with ``params`` and ``cov_params()`` (statsmodels), ``params_`` and ``variance_matrix_`` (lifelines), or
        ``coef_`` (scikit-learn) together with ``covariances``.
    covariances : sequence of arrays, optional
        The covariance of each fit's estimates, a matrix or a vector of variances; of a bootstrap, for instance. Where it has one row more than ``coef_`` has entries,
        the first is ``intercept_``'s.

    Returns
    -------
    Pooled
        With ``.estimate``, ``.std``, ``.df``, ``.interval(level)``, ``.fraction_missing``, ``.summary()``.

    References
    ----------
    [16] docs/theory.md, section 16. D. B. Rubin, "Multiple imputation for nonresponse in surveys", 1987. J. Barnard and
    D. B. Rubin, "Small-sample degrees of freedom with multiple imputation", 1999.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from gramian import pool
    >>> fits = [SimpleNamespace(coef_=[value]) for value in (1.0, 2.0, 3.0)]
    >>> pooled = pool(fits, covariances=[[[1.0]]] * 3)
    >>> pooled.estimate, pooled.std.round(3), pooled.fraction_missing.round(3)
    (array([2.]), array([1.528]), array([0.571]))
    """
    fits = list(fits)
    m = len(fits)
    if m < 2:
        raise ValueError(
            f"pool needs the fits to at least 2 completed tables, got {m}. LatentImputer.draws(X, m) gives m."
        )
    given = [None] * m if covariances is None else list(covariances)
    if len(given) != m:
        raise ValueError(f"covariances has {len(given)} entries, but there are {m} fits. Give one per fit.")
    spreads = [_covariance(fit, own) for fit, own in zip(fits, given)]
    estimates = [_estimate(fit, len(spread)) for fit, spread in zip(fits, spreads)]
    sizes = {len(estimate) for estimate in estimates} | {len(spread) for spread in spreads}
    if len(sizes) > 1:
        raise ValueError(
            f"the fits have different numbers of coefficients ({sorted(sizes)}). Fit the same model to every table."
        )
    Q, U = np.mean(estimates, axis=0), np.mean(spreads, axis=0)
    between = (1 + 1 / m) * np.atleast_2d(np.cov(np.array(estimates).T, ddof=1))
    total = U + between
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.diag(total) > 0, np.diag(between) / np.diag(total), 0.0)
    complete = [float(fit.df_resid) for fit in fits if getattr(fit, "df_resid", None) is not None]
    df = _degrees_of_freedom(share, m, float(np.mean(complete)) if complete else np.inf)
    return Pooled(_names(fits[0], len(Q)), Q, total, df, share, m)


def _degrees_of_freedom(share: Array, m: int, complete: float) -> Array:
    """1 / (1/ν_m + 1/ν_o), ν_m = (m - 1) / λ², ν_o = (ν_c + 1) / (ν_c + 3) ν_c (1 - λ)."""
    with np.errstate(divide="ignore"):  # of fits that are sure, and do not agree, the degrees are 0
        observed = (
            np.zeros_like(share)
            if complete == np.inf
            else 1 / ((complete + 1) / (complete + 3) * complete * (1 - share))
        )
        return np.asarray(1 / (share**2 / (m - 1) + observed))


def _covariance(fit: Any, given: Any) -> Array:
    if given is None:
        given = getattr(fit, "cov_params", getattr(fit, "variance_matrix_", None))
        given = given() if callable(given) else given
    if given is None:
        raise ValueError(
            f"{type(fit).__name__} has no cov_params() and no variance_matrix_. Give covariances=, one per fit, from a bootstrap for instance."
        )
    spread = np.asarray(given, dtype=np.float64)
    spread = np.diag(np.atleast_1d(spread)) if spread.ndim < 2 else spread
    if spread.ndim != 2 or spread.shape[0] != spread.shape[1]:
        raise ValueError(
            f"the covariance of a fit has shape {spread.shape}. It must be a square matrix or a vector of variances."
        )
    if not np.isfinite(spread).all():
        raise ValueError(
            "the covariance of a fit is not finite. Look at that fit: its table may be too small for the model."
        )
    return spread


def _estimate(fit: Any, size: int) -> Array:
    found = next((getattr(fit, name) for name in ("params", "params_", "coef_") if hasattr(fit, name)), None)
    if found is None:
        raise ValueError(f"{type(fit).__name__} has no params, params_ or coef_: it cannot be pooled.")
    estimate = np.asarray(found, dtype=np.float64).ravel()
    if len(estimate) == size - 1 and hasattr(fit, "intercept_"):
        estimate = np.concatenate([np.ravel(fit.intercept_), estimate])
    return estimate


def _names(fit: Any, size: int) -> list[str]:
    found = getattr(getattr(fit, "params", getattr(fit, "params_", None)), "index", None)
    if found is None:
        found = getattr(getattr(fit, "model", None), "exog_names", getattr(fit, "feature_names_in_", None))
    names = [str(name) for name in found] if found is not None and not callable(found) else []
    if len(names) == size - 1:
        names = ["intercept", *names]
    return names if len(names) == size else [f"x{j}" for j in range(size)]


__all__ = ["Pooled", "pool"]
