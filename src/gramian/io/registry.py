"""The classes that a model file may hold: a name in the file, and where the class lives now.

Names in files never change; when a class moves, only its home in this table does. Nothing outside the table is ever
imported
or built on a file's word.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from gramian.exceptions import ModelFileError

CLASSES: dict[str, str] = {
    "PPCA": "gramian.estimators.ppca:PPCA",
    "KernelPPCA": "gramian.estimators.kernel_ppca:KernelPPCA",
    "PPCAMixture": "gramian.estimators.ppca_mixture:PPCAMixture",
    "KernelPPCAMixture": "gramian.estimators.kernel_mixture:KernelPPCAMixture",
    "KernelPPCAClassifier": "gramian.estimators.classifier:KernelPPCAClassifier",
    "MultiViewRKM": "gramian.estimators.multiview:MultiViewRKM",
    "RKMRegressor": "gramian.estimators.rkm:RKMRegressor",
    "RKMClassifier": "gramian.estimators.rkm:RKMClassifier",
    "RKMForecaster": "gramian.estimators.forecaster:RKMForecaster",
    "LatentImputer": "gramian.estimators.faces:LatentImputer",
    "LatentOutlierDetector": "gramian.estimators.faces:LatentOutlierDetector",
    "latent.LatentModel": "gramian.latent.model:LatentModel",
    "latent.LatentGaussian": "gramian.latent.gaussian:LatentGaussian",
    "latent.Projection": "gramian.latent.gaussian:Projection",
    "latent.Posterior": "gramian.latent.gaussian:Posterior",
    "latent.PrimalSubspace": "gramian.latent.subspace:PrimalSubspace",
    "latent.DualSubspace": "gramian.latent.subspace:DualSubspace",
    "latent.Tail": "gramian.latent.anomaly:Tail",
    "latent.MissingFit": "gramian.latent.missing:MissingFit",
    "operators.Moments": "gramian.operators.moments:Moments",
    "operators.Centering": "gramian.operators.centering:Centering",
    "solvers.Spectrum": "gramian.solvers.spectrum:Spectrum",
    "solvers.Auto": "gramian.solvers.auto:Auto",
    "solvers.Eigh": "gramian.solvers.eigh:Eigh",
}


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {home: name for name, home in CLASSES.items()}


def name_of(cls: type) -> str | None:
    """The name of ``cls`` in model files, or None where it has none."""
    return _names().get(f"{cls.__module__}:{cls.__qualname__}")


def class_of(name: object) -> type:
    """The class that stands in the table under ``name``; any other name is refused, and nothing is imported for it."""
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(
            f"the model file names the class {str(name)[:80]!r}, which is not one of the registered "
            "classes. Nothing was loaded."
        )
    module, _, attribute = CLASSES[name].partition(":")
    found: type = getattr(import_module(module), attribute)
    return found
