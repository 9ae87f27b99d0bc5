"""Draws of a dual Gaussian in inputs: where latents are drawn, and what the way back from feature space loses [3, 4]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, float_dtype
from gramian._checks import check_choice, check_count, check_flag, check_random_state
from gramian._types import RandomState, Table
from gramian.policy import LOOK
from gramian.preimage import warn_unsettled
from gramian.single.dual_inputs import DualInputsMixin
from gramian.single.preimage_choice import Generator

PRIORS = ("auto", "normal", "posterior", "mixture")
PLAIN_WIDTH = 0.2
"""Of the deviations of the latents: the width about posteriors where held-out rows were not asked."""


@dataclass(frozen=True)
class Loss:
    """What is lost between rows and what their latents, moved, decode to: x = x̄ + share (y - ȳ) + e with y decoded, and the e of training rows.

    Decoded points are drawn towards each other, and what is drawn near a row must not be that row: with the e of another row the draws have
    the place and the total variance of the rows, however far latents are moved.
    """

    mean: Array  # x̄ - share ȳ
    share: float
    rows: Array
    weights: Array

    @classmethod
    def of(cls, rows: Array, decoded: Array, weights: Array) -> Loss:
        """From rows and what they decode to."""
        shares = weights / weights.sum()
        mean, middle = shares @ rows, shares @ decoded
        seen, found = rows - mean, decoded - middle
        size = float(shares @ np.square(found).sum(axis=1))
        share = float(shares @ (seen * found).sum(axis=1)) / size if size > 0 else 0.0
        return cls(mean - share * middle, share, seen - share * found, shares)

    def added(self, decoded: Array, rng: np.random.Generator) -> Array:
        """Decoded draws, each with the loss of some training row."""
        others = rng.choice(len(self.rows), len(decoded), p=self.weights)
        return np.asarray(self.mean + self.share * decoded + self.rows[others])


class DualSamplesMixin(DualInputsMixin):
    """`KernelPPCA.sample`."""

    def sample(
        self,
        n_samples: int = 1,
        *,
        latent: Table | None = None,
        noise: bool = True,
        prior: str = "auto",
        random_state: RandomState = None,
    ) -> Array:
        """Draw inputs: latents (or ``latent=Z``), noise unless ``noise=False``, then the pre-image [3, 4].

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        latent : array-like of shape (n, n_components_), optional
            Latents to start from; then one row is drawn for each of them.
        noise : bool, default=True
            False leaves the noise out.
        prior : {"auto", "normal", "posterior", "mixture"}, default="auto"
            Where latents are drawn: N(0, I) ([DP]), about the posteriors of training rows, or a `PPCAMixture` on the latents of training
            rows. About posteriors, the noise is what the way back loses: each draw is given the loss of another training row.
            "auto": with ``preimage="auto"`` what comes nearest to held-out rows (energy distance) without copying training rows; with a given
            pre-image "normal".
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import KernelPPCA
        >>> X = load_iris().data[::3]
        >>> model = KernelPPCA(n_components=2, preimage="smoother").fit(X)
        >>> model.sample(4, random_state=0).shape
        (4, 4)
        """
        check_is_fitted(self)
        check_flag("noise", noise)
        check_choice("prior", prior, PRIORS)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if latent is not None:
            return self._noisy_preimages(self._check_latents(latent), noise, rng)
        generator = Generator("normal", PLAIN_WIDTH, "")
        if self._auto_preimage and self._has_inputs:
            generator = self._evidence.generator
        if prior != "auto":
            generator = Generator(prior, generator.width or PLAIN_WIDTH, generator.method)
        Z = self._prior_latents(n_samples, generator, rng)
        if generator.prior != "posterior" or not noise or not self.n_components_:
            return self._noisy_preimages(Z, noise, rng)
        method = self.preimage_["sample"] if isinstance(self.preimage_, dict) else self.preimage_
        rows, info = self._preimages(self._gaussian.decode(Z), "sample")
        warn_unsettled(info)
        loss = self._on_need("loss", lambda: self._loss(method, generator, LOOK.rows))
        return loss.added(rows, rng).astype(float_dtype(self.X_fit_), copy=False)

    def _noisy_preimages(self, Z: Array, noise: bool, rng: np.random.Generator) -> Array:
        """Inputs by feature noise and the pre-image, as DP draws them."""
        drawn = self._model.subspace.unit_noise(len(Z), rng) if noise and self.noise_variance_ > 0 else None
        return self._preimages(self._gaussian.decode(Z), "sample", drawn)[0]

    def _drawn(self, method: Any, n_samples: int, generator: Generator) -> Array:
        """Samples by a fitted pre-image, as held-out rows judge them."""
        rng = np.random.default_rng(0)
        scores = self._gaussian.decode(self._prior_latents(n_samples, generator, rng))
        if generator.prior == "posterior":
            return self._loss(method, generator, n_samples).added(self._decoded(method, scores), rng)
        noise = self._model.subspace.unit_noise(n_samples, rng) if self.noise_variance_ > 0 else None
        return np.asarray(self._answers(method, scores, noise)[0], dtype=np.float64)

    # ------------------------------------------------------------ where latents are drawn

    def _prior_latents(self, n_samples: int, generator: Generator, rng: np.random.Generator) -> Array:
        """Latents of new rows: from N(0, I), about the posteriors of training rows, or from a mixture over their latents."""
        n_samples = check_count("n_samples", n_samples, 1)
        if generator.prior == "normal" or not self.n_components_:
            return rng.standard_normal((n_samples, self.n_components_))
        if generator.prior == "mixture":
            drawn = self._on_need("latent_mixture", self._latent_mixture).sample(n_samples, random_state=rng)[0]
            return np.asarray(rng.permutation(drawn))
        means, weights = self._training_latents()
        return self._moved_latents(means[rng.choice(len(means), n_samples, p=weights / weights.sum())], generator, rng)

    def _moved_latents(self, latents: Array, generator: Generator, rng: np.random.Generator) -> Array:
        """Latents moved by their posterior deviations and by the generator's width, of the deviations of the training latents."""
        spread = np.sqrt(self.noise_variance_ / np.maximum(self._gaussian.eigenvalues, np.finfo(float).tiny))
        steps = np.hypot(generator.width * self._training_latents()[0].std(axis=0), np.minimum(spread, 1.0))
        return np.asarray(latents + steps * rng.standard_normal(latents.shape))

    def _latent_mixture(self) -> Any:
        raise TypeError(f"{type(self).__name__} has no mixture over latents.")

    def _loss(self, method: Any, generator: Generator, count: int) -> Loss:
        """What this pre-image loses of training rows whose latents are moved as the generator moves them."""
        few = np.resize(self._distinct_points()[0], count)  # rows that are few are moved several times
        means, weights = self._training_latents()
        moved = self._moved_latents(means[few], generator, np.random.default_rng(0))
        decoded = self._decoded(method, self._gaussian.decode(moved))
        return Loss.of(np.asarray(self.X_fit_[few], dtype=np.float64), decoded, weights[few])
