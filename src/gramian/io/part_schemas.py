"""Rows of the table of :mod:`gramian.io.schemas` for kernels, solvers, networks, tables and the smaller parts of models."""

from __future__ import annotations

Rows = dict[str, dict[str, dict[str, str]]]

SCALES = {"length_scale": "scales"}
GP_PAIR = {"": {"k1": "GPKernel", "k2": "GPKernel"}}
ITERATION = {"tol?": "nonnegative", "max_iter": "count", "random_state?": "count"}
DEEP = {
    "*": {
        "model_": "MultiViewRKM",
        "maps_": "list v",
        "maps_*": "object",
        "_layout": "estimators.ViewLayout",
        "_layout.widths": "list v",
        "_errors*": "deep.HeldOutError",
        "_dtype": "dtype",
        "n_epochs_": "count",
    }
}

PART_ROWS: Rows = {
    # kernels and feature maps
    "kernels.Scaled": {"": {"scale": "number"}},
    "kernels.Constant": {"": {"value": "nonnegative"}},
    "kernels.CallableKernel": {"": {"function": "never"}},  # code is no data
    "kernels.GaussianProcessKernel": {"": {"kernel": "GPKernel"}},
    "kernels.Laplacian": {"": SCALES},
    "kernels.RBF": {"": SCALES},
    "kernels.Matern": {"": {**SCALES, "nu": "positive"}},
    "kernels.Periodic": {"": {**SCALES, "period": "positive"}},
    "kernels.RationalQuadratic": {"": {**SCALES, "alpha": "positive"}},
    "kernels.Polynomial": {"": {"degree": "count", "gamma?": "positive", "coef0": "number"}},
    "kernels.Sigmoid": {"": {"gamma?": "positive", "coef0": "number"}},
    # scikit-learn's kernels, inside kernels.GaussianProcessKernel
    "sklearn.RBF": {"": SCALES},
    "sklearn.Matern": {"": {**SCALES, "nu": "above zero"}},
    "sklearn.RationalQuadratic": {"": {**SCALES, "alpha": "positive"}},
    "sklearn.ExpSineSquared": {"": {**SCALES, "periodicity": "positive"}},
    "sklearn.DotProduct": {"": {"sigma_0": "nonnegative"}},
    "sklearn.ConstantKernel": {"": {"constant_value": "nonnegative"}},
    "sklearn.WhiteKernel": {"": {"noise_level": "nonnegative"}},
    "sklearn.Sum": GP_PAIR,
    "sklearn.Product": GP_PAIR,
    "sklearn.Exponentiation": {"": {"kernel": "GPKernel", "exponent": "number"}},
    # solvers
    "solvers.Auto": {"": ITERATION},
    "solvers.Budgeted": {"": {"budget": "count"}},
    "solvers.Em": {"": {**ITERATION}},
    "solvers.Krylov": {"": ITERATION},
    "solvers.Arpack": {"": ITERATION},
    "solvers.Randomized": {"": {**ITERATION, "n_oversamples": "count"}},
    "solvers.Stiefel": {"": {**ITERATION, "learning_rate": "positive"}},
    # parts of models
    "latent.Projection": {"": {"scores": "n q", "squared_norm": "n", "overlap?": "..."}},
    "latent.Posterior": {"": {"mean": "n q", "covariance": "..."}},
    "latent.ExplicitView": {"": {"features": "~ n r", "feature_map?": "map"}},
    "latent.KernelView": {"": {"kernel": "Kernel", "raw": "object"}},
    "latent.PartialView": {"": {"view": "object", "rows": "# n", "weights": "+ n"}},
    "latent.NoiseFit": {"": {"noise_variances": "+ v", "log_likelihoods": "*", "n_iter": "count", "latents": "n q"}},
    "latent.MissingFit": {"": {"mean": "d", "loadings": "d q", "log_likelihoods*": "number", "n_iter": "count"}},
    "choosing.LandmarkLoss": {
        "": {"n_landmarks": "count", "n_rows": "count", "approximate": "number", "exact": "number"}
    },
    "choosing.FoldStream": {"": {"hashes": "*", "kept*": "...", "summed*?": "operators.Moments"}},
    "tables.Code": {"": {"value": "number", "count": "count"}},
    "content.SmallestRows": {"": {"limit": "count", "hashes": "m", "rows": "m d", "weights": "+ m"}},
    "estimators.ClassRule": {"": {"noise_variance": "nonnegative", "n_clusters": "count"}},
    "estimators.ViewLayout": {"": {"names": "list v", "widths": "list v", "widths*": "count", "columns?*": "# *"}},
    "operators.Centering": {"": {"weights": "+ n"}},
    "operators.DenseGram": {"": {"matrix": "n n"}},
    "operators.LazyGram": {"": {"memory?": "count"}},
    "operators.SumGram": {"": {"parts": "list p", "parts*": "object", "scales": "list p", "scales*": "number"}},
    # tables
    "tables.Bounds": {"": {"whole": "~ c"}},
    "tables.Margin": {
        "": {
            "shift": "number",
            "scale": "positive",
            "origin": "number",
            "inner?": "* k",
            "knots?": "* m",
            "slopes?": "+ *",
        }
    },
    "latent.Tails": {"": {"middle": "d", "bends": "+ * d", "units": "++ * d", "scale": "++ d"}},
    "latent.CellSeer": {
        "": {
            "tails.middle": "d",
            "mean": "d",
            "loadings": "d q",
            "spread": "++ d",
            "able": "? d",
            "rare": "? d",
        }
    },
    "tables.Margins": {"": {"columns": "filled", "columns*": "tables.Margin"}},
    "filling.Limits": {"": {"columns": "filled", "values": "filled"}},
    "tables.Chances": {"": {"shares": "++ k", "temperature": "positive", "weight": "nonnegative"}},
    "TablePreprocessor": {
        "*": {
            "preprocessing_": "io.Preprocessing",
            "feature_names_in_": "labels c",
            "n_features_in_": "=c",
            "carried_*": "text",
            "left_out_*": "text",
            "notes_*": "text",
        }
    },
    # networks
    "deep.DeepRKM": DEEP,
    "deep.TorchMap": {"dim_": {"encoder": "object", "decoder?": "object", "dim_": "count", "n_features_in_": "count"}},
    "deep.Net": {"": {"spec": "object", "role": "text", "wiring": "deep.Wiring", "arrays": "any"}},
    "deep.Wiring": {"": {"n_columns": "count", "n_features": "count", "image_shape?*": "count"}},
    "deep.MLP": {"": {"hidden*": "count"}},
    "deep.Conv": {"": {"channels*": "count"}},
    "deep.Anchored": {"": {"inner": "object", "kernel": "Kernel", "n_anchors": "count"}},
    "deep.HeldOutError": {"": {"shown*": "count", "view": "count", "std": "+ d", "noise": "+ d"}},
}
