"""The classes that a model file may hold: a name in the file, and where the class lives now.

Names in files never change; when a class moves, only its home in this table does. Nothing outside the table is ever
imported
or built on a file's word.
"""

from __future__ import annotations

from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from gramian._catalogue import ESTIMATORS
from gramian.exceptions import ModelFileError

CLASSES: dict[str, str] = {
    **{name: f"{entry.home}:{name}" for name, entry in ESTIMATORS.items()},
    "kernels.Sum": "gramian.kernels.algebra:Sum",
    "kernels.Product": "gramian.kernels.algebra:Product",
    "kernels.Scaled": "gramian.kernels.algebra:Scaled",
    "kernels.Constant": "gramian.kernels.algebra:Constant",
    "kernels.Cosine": "gramian.kernels.cosine:Cosine",
    "kernels.CallableKernel": "gramian.kernels.function:CallableKernel",
    "kernels.Expected": "gramian.kernels.expected:Expected",
    "kernels.GaussianProcessKernel": "gramian.kernels.gaussian_process:GaussianProcessKernel",
    "kernels.Laplacian": "gramian.kernels.laplacian:Laplacian",
    "kernels.Linear": "gramian.kernels.linear:Linear",
    "kernels.Matern": "gramian.kernels.matern:Matern",
    "kernels.Periodic": "gramian.kernels.periodic:Periodic",
    "kernels.Polynomial": "gramian.kernels.polynomial:Polynomial",
    "kernels.Precomputed": "gramian.kernels.precomputed:Precomputed",
    "kernels.RationalQuadratic": "gramian.kernels.rational_quadratic:RationalQuadratic",
    "kernels.RBF": "gramian.kernels.rbf:RBF",
    "kernels.Sigmoid": "gramian.kernels.sigmoid:Sigmoid",
    "features.Identity": "gramian.features.identity:Identity",
    "features.Nystroem": "gramian.features.nystroem:Nystroem",
    "features.Polynomial": "gramian.features.polynomial:Polynomial",
    "features.RandomFourier": "gramian.features.random_fourier:RandomFourier",
    "features.WithInputs": "gramian.features.with_inputs:WithInputs",
    "preimage.Exact": "gramian.preimage.exact:Exact",
    "preimage.FixedPoint": "gramian.preimage.fixed_point:FixedPoint",
    "preimage.Gradient": "gramian.preimage.gradient:Gradient",
    "preimage.MDS": "gramian.preimage.mds:MDS",
    "preimage.KernelRidge": "gramian.preimage.ridge:KernelRidge",
    "preimage.KernelSmoother": "gramian.preimage.smoother:KernelSmoother",
    "preimage.Transport": "gramian.preimage.transport:Transport",
    "arrays.Kept": "gramian._arrays:Kept",
    "latent.LatentModel": "gramian.latent.model:LatentModel",
    "latent.LatentGaussian": "gramian.latent.gaussian:LatentGaussian",
    "latent.Projection": "gramian.latent.gaussian:Projection",
    "latent.Posterior": "gramian.latent.gaussian:Posterior",
    "latent.PrimalSubspace": "gramian.latent.subspace:PrimalSubspace",
    "latent.DualSubspace": "gramian.latent.subspace:DualSubspace",
    "latent.FeatureSubspace": "gramian.latent.feature_subspace:FeatureSubspace",
    "latent.NystroemSubspace": "gramian.latent.feature_subspace:NystroemSubspace",
    "latent.AnchoredSubspace": "gramian.latent.feature_subspace:AnchoredSubspace",
    "latent.RandomFeatureSubspace": "gramian.latent.feature_subspace:RandomFeatureSubspace",
    "latent.ViewPart": "gramian.views.subspace:ViewPart",
    "latent.ViewSubspace": "gramian.views.subspace:ViewSubspace",
    "latent.MappedSubspace": "gramian.latent.feature_subspace:MappedSubspace",
    "latent.TargetFit": "gramian.targets.model:TargetModel",
    "latent.TargetSpread": "gramian.targets.spread:TargetSpread",
    "latent.Squash": "gramian.targets.squash:Squash",
    "latent.TargetReach": "gramian.targets.reach:TargetReach",
    "choosing.LandmarkLoss": "gramian.targets.landmarks:LandmarkLoss",
    "latent.HeldOut": "gramian.targets.path:HeldOutPredictions",
    "latent.NoiseField": "gramian.latent.noise_field:NoiseField",
    "latent.ExplicitView": "gramian.views.view:ExplicitView",
    "latent.KernelView": "gramian.views.view:KernelView",
    "latent.NoiseFit": "gramian.views.noise:NoiseFit",
    "choosing.Blend": "gramian.classes.blend:Blend",
    "choosing.Selection": "gramian.evidence.selection:Selection",
    "evidence.Evidence": "gramian.evidence.selection:Evidence",
    "content.SmallestRows": "gramian._content:SmallestRows",
    "latent.PartialView": "gramian.views.missing:PartialView",
    "forecast.Member": "gramian.series.paths:Member",
    "forecast.SmoothingMember": "gramian.series.paths:SmoothingMember",
    "forecast.Panel": "gramian.series.panel:Panel",
    "forecast.PanelNames": "gramian.series.long_table:PanelNames",
    "forecast.Smoothing": "gramian.series.smoothing:Smoothing",
    "forecast.Line": "gramian.series.lines:Line",
    "forecast.Law": "gramian.series.recursion:RateLaw",
    "forecast.Effects": "gramian.series.block:Effects",
    "forecast.WindowModel": "gramian.series.window_model:WindowModel",
    "forecast.SeriesTransform": "gramian.series.transform:SeriesTransform",
    "estimators.ClassRule": "gramian.classes.models:ClassRule",
    "latent.Units": "gramian.latent.units:Units",
    "tables.Code": "gramian.tables.codes:Code",
    "single.InputLaw": "gramian.single.input_law:InputLaw",
    "single.UsualRows": "gramian.single.usual_rows:UsualRows",
    "latent.Tail": "gramian.latent.anomaly:Tail",
    "latent.MissingFit": "gramian.latent.missing:MissingFit",
    "latent.Tails": "gramian.latent.tails:Tails",
    "latent.CellSeer": "gramian.latent.cell_seer:CellSeer",
    "choosing.FoldStream": "gramian.evidence.fold_stream:FoldStream",
    "operators.Moments": "gramian.operators.moments:Moments",
    "operators.Centering": "gramian.operators.centering:Centering",
    "operators.DenseGram": "gramian.operators.gram:DenseGram",
    "operators.LazyGram": "gramian.operators.gram:LazyGram",
    "operators.SumGram": "gramian.operators.gram:SumGram",
    "solvers.Spectrum": "gramian.solvers.spectrum:Spectrum",
    "solvers.Auto": "gramian.solvers.auto:Auto",
    "solvers.Budgeted": "gramian.solvers.auto:Budgeted",
    "solvers.Eigh": "gramian.solvers.eigh:Eigh",
    "solvers.Em": "gramian.solvers.em:Em",
    "solvers.Krylov": "gramian.solvers.krylov:Krylov",
    "solvers.Randomized": "gramian.solvers.randomized:Randomized",
    "solvers.Stiefel": "gramian.solvers.stiefel:Stiefel",
    "io.TableModel": "gramian.io.table_model:TableModel",
    "io.Preprocessing": "gramian.tables.preprocessing:Preprocessing",
    "tables.Bounds": "gramian.tables.bounds:Bounds",
    "tables.Chances": "gramian.tables.chances:Chances",
    "tables.Margin": "gramian.tables.margins:Margin",
    "tables.Margins": "gramian.tables.margins:Margins",
    "filling.Limits": "gramian.filling.cells_known:Limits",
    "TablePreprocessor": "gramian.estimators.table_preprocessor:TablePreprocessor",
    "estimators.ViewLayout": "gramian.views.tables:ViewLayout",
    "deep.DeepRKM": "gramian.deep.deep_rkm:DeepRKM",
    "deep.TorchMap": "gramian.deep.torch_map:TorchMap",
    "deep.Net": "gramian.deep.nets:Net",
    "deep.Wiring": "gramian.deep.nets:Wiring",
    "deep.MLP": "gramian.deep.nets:MLP",
    "deep.Conv": "gramian.deep.nets:Conv",
    "deep.Identity": "gramian.deep.nets:Identity",
    "deep.Anchored": "gramian.deep.anchors:Anchored",
    "deep.HeldOutError": "gramian.deep.intervals:HeldOutError",
    "sklearn.RBF": "sklearn.gaussian_process.kernels:RBF",
    "sklearn.Matern": "sklearn.gaussian_process.kernels:Matern",
    "sklearn.RationalQuadratic": "sklearn.gaussian_process.kernels:RationalQuadratic",
    "sklearn.ExpSineSquared": "sklearn.gaussian_process.kernels:ExpSineSquared",
    "sklearn.DotProduct": "sklearn.gaussian_process.kernels:DotProduct",
    "sklearn.ConstantKernel": "sklearn.gaussian_process.kernels:ConstantKernel",
    "sklearn.WhiteKernel": "sklearn.gaussian_process.kernels:WhiteKernel",
    "sklearn.Sum": "sklearn.gaussian_process.kernels:Sum",
    "sklearn.Product": "sklearn.gaussian_process.kernels:Product",
    "sklearn.Exponentiation": "sklearn.gaussian_process.kernels:Exponentiation",
}


TABLES = {
    "kernels": ("gramian.kernels", "KERNELS"),
    "features": ("gramian.features", "FEATURE_MAPS"),
    "solvers": ("gramian.solvers", "SOLVERS"),
    "preimage": ("gramian.preimage", "PREIMAGES"),
}
"""The tables of plug-ins: a row there is enough for its class to be stored, under the name "table.Class"."""


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {home: name for name, home in CLASSES.items()}


def _table(table: str) -> Any:
    module, attribute = TABLES[table]
    return getattr(import_module(module), attribute)


def _plug_ins(table: str) -> dict[str, type]:
    """Name in files -> class, for the rows of a table."""
    made = (row.func if isinstance(row, partial) else row for row in _table(table).values())
    return {f"{table}.{cls.__name__}": cls for cls in made if isinstance(cls, type)}


PARTS = ("solvers.Spectrum",)
WHOLE = ("kernels.", "features.", "solvers.", "preimage.", "io.TableModel", "TablePreprocessor", "deep.")
"""What the names of classes that may be saved on their own begin with, beside the estimators."""


def check_whole(model: object, error: type[ValueError] = ModelFileError) -> None:
    """A model file holds one estimator, kernel, feature map, solver, pre-image or table model, and not a part of one."""
    name = name_of(type(model))
    if name is not None and name not in PARTS and (name in ESTIMATORS or name.startswith(WHOLE)):
        return
    raise error(
        f"a model file holds an estimator, a kernel, a feature map, a solver, a pre-image or a table model of gramian, not a "
        f"{type(model).__name__}."
    )


def name_of(cls: type) -> str | None:
    """The name of ``cls`` in model files, or None where it has none."""
    known = _names().get(f"{cls.__module__}:{cls.__qualname__}")
    if known is not None:
        return known
    return next((name for table in TABLES for name, row in _plug_ins(table).items() if row is cls), None)


def class_of(name: object) -> type:
    """The class that stands in the tables under ``name``; or that an installed package offers by an entry point; any other name is refused, and
    nothing is imported for it."""
    if isinstance(name, str) and name in CLASSES:
        module, _, attribute = CLASSES[name].partition(":")
        found: type = getattr(import_module(module), attribute)
        return found
    table, _, short = name.partition(".") if isinstance(name, str) else ("", "", "")
    if table in TABLES and (name in _plug_ins(table) or _table(table).named(short)) and name in _plug_ins(table):
        return _plug_ins(table)[str(name)]
    raise ModelFileError(
        f"the model file names the class {str(name)[:80]!r}, which is not one of the registered classes. Nothing was loaded."
    )
