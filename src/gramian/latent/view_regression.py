"""Names that moved: see `target`, `target_fit`, `target_folds`, `target_path` and `target_calibration`."""

from gramian.latent.target import TargetModel
from gramian.latent.target import TargetModel as TargetFit
from gramian.latent.target_calibration import calibrated_std, weighted_quantile
from gramian.latent.target_fit import fit_target
from gramian.latent.target_folds import Folds, block_folds, dealt_folds
from gramian.latent.target_path import HeldOut, held_out, kept_spectrum, ridge_grid, ridge_predictions

__all__ = [
    "Folds",
    "HeldOut",
    "TargetFit",
    "TargetModel",
    "block_folds",
    "calibrated_std",
    "dealt_folds",
    "fit_target",
    "held_out",
    "kept_spectrum",
    "ridge_grid",
    "ridge_predictions",
    "weighted_quantile",
]
