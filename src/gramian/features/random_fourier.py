"""Random Fourier features of stationary kernels."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_flag, check_random_state, positive_rows
from gramian._precision import EPS, ROUNDING
from gramian._types import Points, RandomState
from gramian.features.base import DRAWN_ROWS, FeatureMap
from gramian.kernels import RBF, Kernel, Laplacian, Matern, as_kernel
from gramian.kernels._rows import dense
from gramian.kernels._scales import check_length_scale


class RandomFourier(FeatureMap):
    """φ(x) = (cos ωᵢᵀx, sin ωᵢᵀx)ᵢ / √p, with p frequencies ω drawn so that E φ(x)ᵀφ(y) = k(x, y).

    Their spectral density is normal for RBF, multivariate t with 2ν degrees of freedom for Matérn, and Cauchy in each
    column for Laplacian. The error of a kernel value is of the order 1/√p, whatever the data: good for large sums, poor
    for subspaces (Nystroem with as many landmarks is far better there).

    Parameters
    ----------
    kernel : RBF, Matern or Laplacian, or their names, default="rbf"
        What is approximated; "median" is settled on the rows given to `fit`.
    n_features : int, default=100
        The number of features: two a frequency, and one with a random phase if it is odd.
    orthogonal : bool, default=False
        Draw the directions of each d frequencies orthogonal to each other: less variance at no cost.
    random_state : int, Generator or RandomState, optional
        Draws the frequencies.

    Attributes
    ----------
    kernel_ : Kernel
        The resolved kernel.
    frequencies_ : array of shape (d, ceil(n_features / 2))
        ω in columns.
    phase_ : float
        The phase of the odd last feature.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.features import RandomFourier
    >>> from gramian.kernels import RBF
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> F = RandomFourier(RBF(1.0), n_features=2000, random_state=0).fit_transform(X)
    >>> bool(np.abs(F @ F.T - RBF(1.0)(X)).max() < 0.1)
    True
    """

    accepts_sparse: Any = True
    size_parameter = "n_features"

    seed_: int
    frequencies_: Annotated[Array, "d *"]
    n_features_in_: Annotated[int, "=d"]
    phase_: Annotated[float, "number"]
    kernel_: Annotated[Any, "Kernel"]

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        n_features: int = 100,
        orthogonal: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.orthogonal = orthogonal
        self.random_state = random_state

    @property
    def n_drawn(self) -> int:
        return DRAWN_ROWS

    @property
    def dim(self) -> int:
        return check_count("n_features", self.n_features, 1)

    def seed(self) -> RandomFourier:
        """Settle everything but the width of the rows: `transform` then draws the same frequencies at each call.

        The kernel must have a number or an array as its length scale. This is what ``kernel.random_features`` does.
        """
        kernel = self._spectral_kernel()
        if isinstance(kernel.length_scale, str):
            check_length_scale(kernel.length_scale, 1)  # says that "median" needs rows
        self._check_parameters()
        self.kernel_ = kernel
        self.seed_ = int(check_random_state(self.random_state).integers(2**63 - 1))
        return self

    def transform(self, X: Points) -> Array:
        if hasattr(self, "seed_") and not hasattr(self, "frequencies_"):
            # a fitted object is not changed by its methods: a map for this width is made and used once
            ready = RandomFourier(self.kernel_, self.n_features, orthogonal=self.orthogonal, random_state=self.seed_)
            return ready.fit(X).transform(X)
        return super().transform(X)

    def _fit(self, X: Points, weights: Array) -> None:
        self._check_parameters()
        kernel = self._spectral_kernel()
        rng = check_random_state(self.random_state)
        X, _ = positive_rows(X, weights)
        kernel = kernel.resolve(X)
        frequencies = draw_frequencies(kernel, X.shape[1], (self.dim + 1) // 2, self.orthogonal, rng)
        self.__dict__.pop("seed_", None)
        self.kernel_ = kernel
        self.frequencies_ = frequencies
        self.phase_ = float(rng.uniform(0.0, 2.0 * np.pi))

    def _features(self, X: Points) -> Array:
        check_is_fitted(self, "frequencies_")
        angles = _angles(X, self.frequencies_)
        n_pairs = self.dim // 2
        features = np.empty((angles.shape[0], self.dim))
        np.cos(angles[:, :n_pairs], out=features[:, :n_pairs])
        np.sin(angles[:, :n_pairs], out=features[:, n_pairs : 2 * n_pairs])
        if self.dim % 2:  # E 2 cos(ωᵀx + b) cos(ωᵀy + b) = cos ωᵀ(x - y) for a uniform phase b
            features[:, -1] = np.sqrt(2.0) * np.cos(angles[:, -1] + self.phase_)
        features /= np.sqrt(angles.shape[1])
        return features

    def _check_parameters(self) -> None:
        check_count("n_features", self.n_features, 1)
        check_flag("orthogonal", self.orthogonal)

    def _spectral_kernel(self) -> Any:
        kernel = as_kernel(self.kernel)
        if not isinstance(kernel, RBF | Matern | Laplacian):
            raise ValueError(
                f"kernel={self.kernel!r} has no random Fourier features here. Use RBF, Matern or Laplacian, "
                "or Nystroem features, which take any kernel."
            )
        return kernel


def _angles(X: Points, frequencies: Array) -> Array:
    """ωᵀx of every row, the same to the bit whatever rows it is computed with where that matters.

    An angle a is known to ε a, and its cosine no better. Products of matrices round differently for one row than for many:
    where that would show beyond the digits that batches promise, the columns are added up one after the other.
    """
    angles = np.asarray(X @ frequencies)
    far = np.flatnonzero(np.abs(angles).max(axis=1, initial=0.0) * EPS > ROUNDING)
    if far.size:
        rows = dense(X[far])
        angles[far] = sum(rows[:, [j]] * frequencies[j] for j in range(rows.shape[1]))
    return angles


def draw_frequencies(kernel: Kernel, n_columns: int, count: int, orthogonal: bool, rng: np.random.Generator) -> Array:
    """``count`` draws from the kernel's spectral density, in columns."""
    normal = _orthogonal_normals(n_columns, count, rng) if orthogonal else rng.standard_normal((n_columns, count))
    if isinstance(kernel, Matern):
        degrees = 2.0 * kernel.nu
        normal /= np.sqrt(rng.chisquare(degrees, count) / degrees)
    elif isinstance(kernel, Laplacian):
        normal = np.tan(np.pi * (ndtr(normal) - 0.5))  # normal to uniform to Cauchy, entry by entry
    scale = check_length_scale(kernel.length_scale, n_columns)
    with np.errstate(over="ignore"):
        frequencies = np.asarray(normal / (scale if np.ndim(scale) == 0 else np.asarray(scale)[:, None]))
    if not np.isfinite(frequencies).all():
        raise ValueError(
            f"length_scale={np.min(scale):.3g} has no inverse in float64. Rescale X first (e.g. divide by its largest value)."
        )
    return frequencies


def _orthogonal_normals(n_columns: int, count: int, rng: np.random.Generator) -> Array:
    """Standard normal vectors in columns, orthogonal within each block of d: Haar directions times χ_d lengths."""
    blocks = []
    for _ in range(-(-count // n_columns)):
        directions, upper = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))
        directions *= np.sign(np.diagonal(upper))  # makes the QR unique, and so the directions uniform
        blocks.append(directions * np.sqrt(rng.chisquare(n_columns, n_columns)))
    return np.hstack(blocks)[:, :count]
