"""The prior over latents: a mixture whose size follows the rows, fitted to those of smallest hash."""

import numpy as np
from numpy.testing import assert_allclose

from gramian.deep.prior import fitted_prior

RNG = np.random.default_rng(0)


def latents(n, q=3):
    Z = RNG.standard_normal((n, q)) + 6.0 * RNG.standard_normal((2, q))[np.arange(n) % 2]
    return np.linalg.qr(Z - Z.mean(axis=0))[0]


def test_samples_have_the_moments_of_the_latents():
    H = latents(400)
    drawn = fitted_prior(H, np.arange(400, dtype=np.uint64)).sample(20_000, random_state=0)[0]
    assert_allclose(drawn.mean(axis=0), 0.0, atol=0.05)
    assert_allclose(np.cov(drawn.T), np.eye(3), atol=0.08)


def test_clusters_and_components_follow_the_rows():
    small = fitted_prior(latents(30), np.arange(30, dtype=np.uint64))
    assert len(small.weights_) == 1
    assert small.n_components == 2
    assert len(fitted_prior(latents(85), np.arange(85, dtype=np.uint64)).weights_) == 2


def test_of_many_rows_those_of_smallest_hash_are_taken():
    H = latents(90)
    hashes = RNG.permutation(90).astype(np.uint64)
    order = RNG.permutation(90)
    one, other = (fitted_prior(H[rows], hashes[rows], max_rows=60) for rows in (slice(None), order))
    assert_allclose(np.sort(one.means_, axis=0), np.sort(other.means_, axis=0), atol=1e-6)
