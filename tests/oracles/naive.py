"""The textbook formulas with dense matrices: slow, obvious, and written without looking at the library."""

import numpy as np
from scipy.stats import multivariate_normal


def covariance(X, weights=None, center=True):
    s = np.full(len(X), 1 / len(X)) if weights is None else np.asarray(weights, float) / np.sum(weights)
    mean = s @ X if center else np.zeros(X.shape[1])
    return mean, (X - mean).T @ np.diag(s) @ (X - mean)


def ppca(X, q, weights=None, center=True, noise=None):
    """mean, W, sigma2, l, U of Tipping & Bishop's maximum-likelihood solution."""
    mean, C = covariance(X, weights, center)
    values, vectors = np.linalg.eigh(C)
    values, vectors = values[::-1], vectors[:, ::-1]
    sigma2 = values[q:].mean() if noise is None else noise
    W = vectors[:, :q] * np.sqrt(values[:q] - sigma2)
    return mean, W, sigma2, values[:q], vectors[:, :q]


def posterior(x, mean, W, sigma2):
    """E[z|x], Cov[z|x] from the observed entries of one row, by conditioning the joint Gaussian of (z, x)."""
    o = ~np.isnan(x)
    C = W[o] @ W[o].T + sigma2 * np.eye(o.sum())
    gain = W[o].T @ np.linalg.inv(C)
    return gain @ (x[o] - mean[o]), np.eye(W.shape[1]) - gain @ W[o]


def log_density(X, mean, W, sigma2):
    """Row-wise log p of the observed entries with SciPy's Gaussian."""
    C = W @ W.T + sigma2 * np.eye(len(mean))
    out = []
    for x in X:
        o = ~np.isnan(x)
        out.append(multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(x[o]) if o.any() else 0.0)
    return np.array(out)


def conditional(x, mean, W, sigma2):
    """Mean and covariance of the missing entries of one row given the observed ones."""
    o = ~np.isnan(x)
    C = W @ W.T + sigma2 * np.eye(len(mean))
    gain = C[np.ix_(~o, o)] @ np.linalg.inv(C[np.ix_(o, o)])
    return mean[~o] + gain @ (x[o] - mean[o]), C[np.ix_(~o, ~o)] - gain @ C[np.ix_(o, ~o)]


def centring_matrix(weights, center=True):
    """J of the theory page, formed."""
    s = np.asarray(weights, float) / np.sum(weights)
    eye = np.eye(len(s))
    return ((eye - np.outer(s, np.ones(len(s)))) if center else eye) @ np.diag(np.sqrt(s))
