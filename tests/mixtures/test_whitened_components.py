"""All components see complete rows through one product."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from gramian.latent.primal import latent_model
from gramian.mixtures.mixture import log_terms
from gramian.mixtures.whitened_components import WhitenedComponents


def test_one_product_sees_what_the_gaussians_see():
    rng = np.random.default_rng(0)
    models = [latent_model(rng.standard_normal(5), rng.standard_normal((5, q)), 0.1 + q) for q in (2, 0, 3)]
    mixing = np.array([0.2, 0.5, 0.3])
    X = rng.standard_normal((20, 5))
    seen_by = WhitenedComponents.of(models, mixing)
    seen = [model.subspace.project(X) for model in models]
    for far in (False, True):
        whitened, terms = replace(seen_by, far=far)(X, (X**2).sum(axis=1))
        assert_allclose(terms, log_terms(models, mixing, seen), rtol=1e-10)
        for k, (model, part) in enumerate(zip(models, seen)):
            q = model.gaussian.n_components
            latents = whitened[k, :q].T * seen_by.gains[k, :q]
            assert_allclose(latents, model.gaussian.posterior(part).mean, atol=1e-12)
