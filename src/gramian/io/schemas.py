"""What the attributes of saved classes are: kinds, and shapes that agree, as a table.

``ROWS[name][sign]`` belongs to objects of the registered class ``name`` that have the attribute ``sign`` ("" for all of them,
"*" for those that are fitted): a path to an attribute, and what stands there. Names of paths are joined by dots; ``name?`` may be absent or None, ``name!`` only None,
and ``name*`` is a list, of which every item is meant (``name*?`` where items may be None).

=================  ====================================================================================================
``"q d"``          an array of finite numbers of that shape; a letter is the same number within one object, ``*`` any, ``1*`` any but 0
``"~ n d"``        the same where NaN may stand (rows with holes)
``"? n d"``        truths
``"+ q"``          the same, without negative numbers
``"++ q"``         the same, all above zero
``"% q q"``        the same, below 1e100: what is of the order of one
``"# n"``          the same, whole numbers, not negative; ``"#m n"`` and below m, ``"#=m n"`` and at most m
``"..."``          an array of finite numbers of any shape
``"scales"``       numbers above zero: one, a list or an array of them; or a text ("median"); ``noises``: the same or 0, no text
``"order"``        a number between 1e-100 and 1e100
``"=d"``           a whole number, equal to that letter
``"number"``       a finite number; also ``filled`` (a list of one or more), ``positive``, ``nonnegative``, ``above zero`` (or infinite), ``count`` (whole, not
                   negative), ``width`` (the same, at most 2**20), ``natural`` (whole, above zero), ``dtype`` (a name), ``flag``, ``text``; ``fitted`` (an object that is); ``model`` (an object, or "auto"); ``map`` (a feature map); ``never``: what no file may hold
``"Kernel"``       an object of that group (Kernel, GPKernel, Solver, Subspace, Preimage), or of the registered class of that
                   name
=================  ====================================================================================================
"""

from __future__ import annotations

from gramian.io.part_schemas import PART_ROWS, Rows

LATENT = {
    "_model": "latent.LatentModel",
    "_model.gaussian.eigenvalues": "+ q",
    "n_components_": "=q",
    "noise_variance_": "nonnegative",
    "explained_variance_": "+ q",
    "explained_variance_ratio_": "q",
    "n_iter_?": "count",
}
"""What every estimator with one latent model has."""

REGRESSION = {
    "_fit": "latent.TargetFit",
    "_fit.model.gaussian.eigenvalues": "+ q",
    "_fit.std": "+ m",
    "_fit.model.subspace.parts*.subspace": "Subspace",
    "_shift!": "d",
    "_scale!": "++ d",
    "n_features_in_": "=d",
    "_squash!": "latent.Squash",
    "_squash!.center": "d",
    "n_components_": "=q",
    "trust_?": "number",
    "_law?": "single.InputLaw",
    "_law?.scales": "+ d",
}

MIXTURE = {
    "_components": "list",
    "_components*": "latent.LatentModel",
    "weights_": "+ k",
    "n_components_": "list",
    "n_components_*": "width",
    "_units?.mean": "d",
    "_width?": "width",
    "n_features_in_": "=d",
    "_columns?": "#d *",
}

PREIMAGE = {
    "": {},
    "X_": {
        "X_": "n d",
        "kernel_": "Kernel",
        "linear_": "flag",
        "lower_": "d",
        "upper_": "d",
        "row_weights_?": "+ n",
        "n_neighbors?": "natural",
        "smoother_?": "preimage.KernelSmoother",
        "smoother_?.X_": "n d",
        "half_diagonal_?": "n",
        "centers_?": "#n *",
    },
}

UNITS = {"": {"mean": "d", "scale": "++ d"}}

FEATURES = {
    "feature_map": "map",
    "primal": "latent.PrimalSubspace",
    "primal.mean": "r",
    "point_features": "m r",
    "points?": "~ m *",
}

ROWS: Rows = {
    **PART_ROWS,
    "PPCA": {
        "components_": {
            **LATENT,
            "noise_variance_": "noises",
            "n_features_in_": "=d",
            "mean_": "d",
            "components_": "q d",
            "loadings_": "d q",
            "rotation_?": "q q",
            "_model.subspace": "latent.PrimalSubspace",
            "_model.subspace.mean": "d",
            "n_samples_": "positive",
            "_column_weights": "+ d",
            "_tail?": "latent.Tail",
            "_held_out_spe?": "nonnegative",
        },
        "_moments": {
            "_moments": "operators.Moments",
            "_n_rows": "count",
            "n_features_in_": "=d",
            "_moments.mean": "d",
            "_dtype": "dtype",
        },
        "_model": {"components_": "* *"},
        "*": {"components_|_moments": "any"},
    },
    "KernelPPCA": {
        "*": {
            **LATENT,
            "kernel_": "Kernel",
            "_model.subspace": "Subspace",
            "X_fit_!": "n d",
            "dual_coef_": "* q",
            "_law?": "single.InputLaw",
            "_law?.scales": "+ d",
            "_weights!": "+ n",
            "_kept": "any",
            "_preimage?": "Preimage",
            "n_features_in_": "count",
        },
        "_preimage": {"X_fit_": "n d"},
    },
    "KernelPPCAClassifier": {
        "*": {
            "classes_": "labels k",
            "class_prior_": "+ k",
            "_models": "list k",
            "_models*": "filled",
            "_models**": "latent.LatentModel",
            "_models**.subspace": "Subspace",
            "_mixing": "list k",
            "_mixing*": "+ *",
            "n_features_in_": "=d",
            "_columns!*": "#d *",
            "noise_variance_!": "nonnegative",
            "evidence_scale_?": "number",
            "evidence_offsets_?": "k",
            "kernel_": "Kernel",
            "_shift?": "d",
            "_scale?": "++ d",
            "_law?": "single.InputLaw",
            "_law?.scales": "+ d",
        }
    },
    "KernelPPCAMixture": {
        "*": {
            **MIXTURE,
            "_width": "width",
            "noise_variance_": "nonnegative",
            "_gram!": "* *",
            "X_fit_!": "* *",
            "_columns!": "#d *",
            "_components": "list k",
            "kernel_": "Kernel",
            "_law?": "single.InputLaw",
            "_law?.scales": "+ d",
            "_components*.subspace": "Subspace",
            "preimage_!": "Preimage",
        }
    },
    "PPCAMixture": {
        "*": {
            **MIXTURE,
            "_components": "list k",
            "means_": "k d",
            "noise_variances_": "+ k",
            "loadings_": "list k",
            "loadings_*": "d *",
            "_components*.subspace.mean": "d",
        }
    },
    "MultiViewRKM": {
        "*": {
            **LATENT,
            "_model.subspace": "latent.ViewSubspace",
            "_model.subspace.parts": "list v",
            "latents_": "* q",
            "eigenvalues_": "q",
            "noise_variances_": "+ v",
            "view_names_": "list v",
            "_widths": "list v",
            "_widths*": "count",
            "n_features_in_?": "=d",
            "_columns!": "list v",
            "_columns?*": "#d *",
            "_rotation!": "% q q",
            "loadings_": "list v",
            "preimages_": "list v",
            "preimages_*?": "Preimage",
            "_input_std?": "list v",
            "_container": "text",
            "_labels?": "list v",
            "_dtype?": "dtype",
            "_counts?": "list v",
            "_counts?*": "+ *",
        }
    },
    "RKMRegressor": {"*": {**REGRESSION, "_single": "flag"}},
    "RKMClassifier": {"*": {**REGRESSION, "classes_": "labels m", "temperature_": "order"}},
    "RKMForecaster": {
        "*": {
            "_members": "list",
            "_members*": "forecast.Member",
            "_members*.model.shift": "d",
            "_members*.transforms": "list d",
            "_series": "~ * d",
            "_inputs!": "~ * e",
            "_index!": "any",
            "_columns!": "any",
            "_name!": "any",
            "n_series_": "=d",
            "n_inputs_": "count",
            "lags_": "count",
            "residual_std_?": "+ d",
            "_spread": "+ h *",
            "_single": "flag",
            "_seed": "count",
        },
    },
    "DynamicPPCA": {
        "*": {
            "n_components_": "=q",
            "n_series_": "=d",
            "mean_": "d",
            "loadings_": "d q",
            "transition_": "% p q q",
            "state_noise_": "% q q",
            "noise_variance_": "scales",
            "log_likelihoods_": "*",
            "_rows": "~ 1* d",
            "_scale": "++ d",
            "_index!": "any",
            "_columns!": "any",
            "_seed": "count",
        }
    },
    "LatentImputer": {
        "*": {
            "estimator?": "model",
            "estimator_": "fitted",
            "n_features_in_": "=d",
            "std_scales_": "+ d",
            "_others?": "LatentImputer",
            "_spreads": "+ d",
            "_shown_columns?": "# d",
            "_indicated?": "# *",
            "_units?.mean": "d",
            "_units?.scale": "++ d",
        }
    },
    "LatentOutlierDetector": {
        "*": {
            "estimator?": "object",
            "estimator_": "fitted",
            "n_features_in_": "=d",
            "_units?.mean": "d",
            "_fold_models?*": "object",
            "_usual?": "single.UsualRows",
            "_usual?.rows": "* d",
            "offset_": "number",
            "training_scores_": "s",
            "_weights": "++ s",
        },
        "_fold_models": {"_hashes": "n", "_folds": "n"},
    },
    "latent.LatentModel": {
        "": {
            "subspace": "Subspace",
            "gaussian.eigenvalues": "+ q",
            "spectrum.eigenvalues": "q",
            "subspace.components?": "q *",
            "subspace.axes?": "* q",
            "subspace.primal?.components": "q *",
            "subspace.parts?*.overlap": "q q",
            "subspace.parts?*.subspace.components?": "q *",
            "subspace.parts?*.subspace.axes?": "* q",
            "subspace.parts?*.subspace.primal?.components": "q *",
        }
    },
    "latent.LatentGaussian": {"": {"eigenvalues": "+ q", "noise_variance": "nonnegative"}},
    "solvers.Spectrum": {"": {"eigenvalues": "q", "eigenvectors": "% * q", "trace": "number", "gamma?": "* *"}},
    "latent.PrimalSubspace": {"": {"mean": "d", "components": "% q d", "scale?": "++ d"}},
    "latent.DualSubspace": {
        "": {
            "points?": "~ n *",
            "points|gram": "any",
            "affine": "% n",
            "axes": "n q",
            "raw_mean": "% n",
            "images": "n q",
            "gram?": "% n n",
        }
    },
    "latent.FeatureSubspace": {"": FEATURES},
    "latent.NystroemSubspace": {"": FEATURES},
    "latent.AnchoredSubspace": {"": {**FEATURES}},
    "latent.RandomFeatureSubspace": {"": {**FEATURES, "affine": "m", "axes": "m q", "primal.components": "q r"}},
    "latent.MappedSubspace": {"": {"feature_map": "map"}},
    "latent.ViewPart": {"": {"subspace": "Subspace", "scale": "number", "overlap": "% q q", "trust": "number"}},
    "latent.ViewSubspace": {"": {"parts*": "latent.ViewPart"}},
    "latent.TargetFit": {
        "": {
            "model.subspace": "latent.ViewSubspace",
            "model.subspace.parts": "list v",
            "noise_variances": "+ v",
            "std": "+ m",
            "reach?.target_mean": "m",
            "spread?.intercept": "m",
        }
    },
    "latent.TargetReach": {
        "": {
            "mean": "d",
            "scale": "~ d",  # infinite for a constant column
            "points": "* d",
            "near": "number",
            "fade": "number",
            "target_mean": "m",
            "target_std": "+ m",
            "low": "m",
            "high": "m",
            "farthest": "number",
            "middle": "m",
        }
    },
    "latent.TargetSpread": {"": {"intercept": "m", "coefficients": "* m"}},
    "latent.Squash": {"": {"center": "d", "unit": "+ d"}},
    "latent.HeldOut": {"": {"predictions": "~ n m", "leverages": "~ n"}},
    "latent.NoiseField": {"": {"factor": "n r", "pivots": "r", "rest": "n"}},
    "latent.Units": UNITS,
    "single.UsualRows": {
        "": {
            "rows": "n d",
            "weights": "++ n",
            "folds": "n",
            "kernel": "Kernel",
            "rate": "nonnegative",
            "middle": "number",
        }
    },
    "single.InputLaw": {
        "": {
            "units.mean": "d",
            "model.subspace": "latent.PrimalSubspace",
            "model.subspace.mean": "d",
            "scales": "+ d",
        }
    },
    "latent.Tail": {"": {"theta1": "nonnegative"}},  # the higher powers overflow for data beyond 1e77
    "choosing.Blend": {"": {"counts": "# b", "noises": "++ b", "shares": "+ b"}},
    "choosing.Selection": {"": {"candidates": "list c"}},
    "evidence.Evidence": {
        "": {
            "candidates": "list c",
            "losses": "~ c f",
            "weights": "++ f",
            "row_losses?": "~ c n",
            "voted?": "~ n",
        }
    },
    "forecast.Member": {"": {"transforms*": "forecast.SeriesTransform", "weight": "order"}},
    "forecast.SmoothingMember": {"": {"weight": "order"}},
    "forecast.Smoothing": {
        "": {
            "seasons*": "count",
            "effects*": "forecast.Effects",
            "lines": "list",
            "lines*": "forecast.Line",
        },
    },
    "forecast.Line": {"": {"transform": "forecast.SeriesTransform", "lags": "count", "share": "nonnegative"}},
    "forecast.Law": {"": {"drift": "number", "evidence": "number"}},
    "forecast.Effects": {"": {"mean": "k", "spread": "++ k"}},
    "forecast.PanelNames": {"": {"inputs*": "text"}},
    "forecast.Panel": {
        "": {
            "ids": "list n",
            "values": "~ *",
            "lengths": "# n",
            "firsts": "# n",
            "n_times": "count",
            "names*": "text",
            "inputs": "~ * *",
            "input_names*": "text",
        }
    },
    "forecast.SeriesTransform": {
        "": {"season": "count", "difference": "count", "season_rate": "number", "level_rate": "number"}
    },
    "forecast.WindowModel": {
        "": {
            "lags": "natural",
            "ahead": "natural",
            "shift": "d",
            "scale": "++ d",
            "input_shift": "e",
            "input_scale": "e",
            "low": "d",
            "high": "d",
        }
    },
    "operators.Moments": {"": {"weight": "nonnegative", "mean": "d", "scatter": "d d"}},
    "features.Nystroem": {
        "landmarks_": {"landmarks_": "m d", "normalization_": "m r", "n_features_in_": "=d", "kernel_": "Kernel"},
        "n_features_in_": {"landmarks_": "* *"},
    },
    "features.Polynomial": {
        "powers_": {"n_features_in_": "=d", "powers_": "#=d r *", "multinomials_": "% r", "gamma_": "number"},
        "n_features_in_": {"powers_": "* *"},
    },
    "features.RandomFourier": {
        "frequencies_": {"frequencies_": "d *", "n_features_in_": "=d", "phase_": "number", "kernel_": "Kernel"},
        "n_features_in_": {"frequencies_": "* *"},
    },
    "features.WithInputs": {
        "curves_": {"curves_": "features.Nystroem", "unit_": "positive", "n_features_in_": "count"},
        "n_features_in_": {"curves_": "features.Nystroem"},
    },
    "preimage.FixedPoint": {
        **PREIMAGE,
        "smoother_": {"spread_": "nonnegative", "smoother_": "preimage.KernelSmoother"},
    },
    "preimage.Gradient": {**PREIMAGE, "smoother_": {"spread_": "nonnegative", "smoother_": "preimage.KernelSmoother"}},
    "preimage.MDS": PREIMAGE,
    "preimage.KernelSmoother": PREIMAGE,
    "preimage.KernelRidge": {
        **PREIMAGE,
        "coefficients_": {
            "X_": "n d",
            "coefficients_": "m d",
            "mean_": "d",
            "scores_": "n *",
            "length_scale_": "positive",
        },
    },
    "preimage.Transport": {
        **PREIMAGE,
        "prices_": {"X_": "n d", "scores_": "n *", "prices_": "m", "half_norms_": "m", "blur_": "above zero"},
    },
    "io.TableModel": {
        "": {
            "estimator": "object",
            "filler?": "object",
            "detector?": "LatentOutlierDetector",
        }
    },
    "io.Preprocessing": {
        "": {
            "names": "list c",
            "names*": "text",
            "categories": "list c",
            "mean": "d",
            "scale": "++ d",
            "target_mean?": "number",
            "target_scale?": "number",
        }
    },
}
