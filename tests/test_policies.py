"""Policy constants: when to trust, when to switch, when to stop. A constant that is changed must be changed here too, with a reason.

Why each has its value is said beside it in the source, and shown on the pages that it decides (docs/choosing.md, docs/benchmarks.md).
"""

import ast
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "gramian"

POLICIES = {
    "series.candidates": {"PLAIN_LAGS": 10, "PEAK": 0.3, "IN_STEP": 0.7, "SPAN": 1.5},
    "series.trial": {"KERNEL_VALUES": 300, "AGE": 2.0, "FAR_OFF": 1.5},
    "series.window_model": {"EXACT_WINDOWS": 2000, "CHOSEN_WINDOWS": 1000, "LANDMARKS": 400},
    "latent.dimension": {"FLAT": 1e-12, "DEFAULT_FRACTION": 0.95},
    "_memory": {"MODEST": 2**26},
    "cli._digest": {"CELLS": 4096},
    "cli._goodness": {"MOST_GROUPS": 10000},
    "latent.feature_moments": {"CHUNK_BYTES": 2**24, "SHIFT_ROWS": 256, "LONG": 1_000_000, "UNSEEN": 1e-12},
    "latent.gaussian": {"SEEN": 1e-10, "ZERO_NOISE": 1e-12},
    "latent.hole_em": {"PARTS": 8},
    "mixtures.kernel_component": {"CONSTANT_FREE": 0.0, "NEGLIGIBLE": 1e-13, "DENSE_ROWS": 300, "DENSE_SHARE": 6},
    "mixtures.kernel_kmeans": {
        "MAX_STEPS": 100,
        "DENSE_GRAPH": 800,
        "GRAPH_VALUES": 1 << 22,
        "BACKGROUND": 0.001,
        "SHARPNESS": 2.0,
        "WIDTH_NEIGHBOUR": 10,
        "ALIKE": 0.02,
    },
    "mixtures.kernel_fit": {"CLEAR_GAIN": 0.02, "RACE_STEPS": 8},
    "latent.masked_em": {"CACHED_NUMBERS": 2**18, "FEWEST_ROWS": 256, "LARGEST_PIVOT": 1e38},
    "latent.masked_start": {
        "PAIRWISE_COLUMNS": 1000,
        "SAMPLE_ROWS": 2000,
        "FEW_HOLES": 0.15,
        "MANY_CELLS": 150.0,
        "RANDOM_STARTS": 26,
        "RACE_WORK": 300000000.0,
        "PSEUDO_PAIRS": 5.0,
        "POWER_STEPS": 10,
    },
    "latent.masked_table": {"CACHE_BYTES": 2**29},
    "latent.missing": {
        "RACE_STEPS": 6,
        "SAME_LEVEL": 1e-05,
        "LITTLE_NOISE": 1e-06,
        "VANISHING": 1e-100,
        "MUCH_NOISE": 1e6,
        "HOLES_PER_LATENT": 0.55,
        "BLOCK_FLOOR": 1e-08,
    },
    "mixtures.mixture": {"EMPTY": 1e-10, "SMALLEST_SHARE": 1e-100, "RESCUES_PER_CLUSTER": 2, "ROUNDING": 1e-09},
    "mixtures.complete": {"CLOSED_SIZE": 64, "CLOSED_SHARE": 8, "NEGLIGIBLE": 1e-30},
    "mixtures.holes": {"GROUP_ROWS": 8192, "STARTING_NOISE": 0.001},
    "mixtures.rows": {"START_ROWS": 1000, "FRACTION_ROWS": 5000, "AT_FLOOR": 1.0 + 1e-09},
    "mixtures.start": {"DRAWN_ROWS": 5000, "KMEANS_TRIES": 4, "EVERYONE": 0.1},
    "latent.model": {"FULL_SIZE": 1500, "FIRST_COUNT": 64},
    "latent.noise_field": {"DENSE_SIZE": 3000, "MAX_RANK": 2000, "TRACE_SHARE": 1e-10},
    "mixtures.ppca_fit": {"COUNT_ROUNDS": 3, "ABOVE": 1e-09},
    "latent.sample": {"STORED_LIMIT": 6000, "DUAL_RANK": 1e-12, "DUAL_FLOOR": 1e-14},
    "latent.small_sample": {"LEVEL": 0.95},
    "latent.squarem": {"LAST_CYCLES": 3, "NOTHING": 0.001},
    "targets.squash": {"FAR": 3.0, "HEAVY": 5.0},
    "latent.subspace": {"TILE_ROWS": 512, "TILE_COLUMNS": 1024},
    "targets.axes": {"TARGET_RANK": 1e-12},
    "evidence.calibration": {"INTERVAL": 0.9, "OPTIMISM": 4.0},
    "targets.fit": {"TARGET_WEIGHT_WHEN_COUNTING": 1e-05, "MOST_COMPONENTS": 600, "UNCHECKED": 0.05},
    "targets.folds": {"FEWEST_ROWS": 10},
    "targets.path": {"MIN_IMPROVEMENT": 1.01},
    "targets.reach": {"REFERENCE_ROWS": 500, "NEAR": 0.99, "FADE": 0.5, "MARGIN": 0.1},
    "targets.single": {"ROUNDING": 1e-14},
    "targets.spread": {
        "MOST_LATENTS": 30,
        "FEWEST_FOR_SPREAD": 40,
        "MOST_INPUTS": 100,
        "FARTHEST": 3.0,
        "QUIETEST": 0.15,
        "LOUDEST": 6.0,
    },
    "targets.survey": {"DRAWN_PAIRS": 10000},
    "views.folds": {"UNSEEN": 1e-10, "RANK": 1e-10},
    "views.missing": {"FLAT": 1e-10},
    "views.moments": {"CHUNK_BYTES": 16000000},
    "views.noise": {
        "FARTHEST": 300.0,
        "ROUNDS": 50,
        "SMALLEST": 1e-09,
        "ROUNDING": 1e-12,
        "COLLAPSE": 0.05,
        "PINNED": 2000,
        "FEWEST_ROWS": 10,
    },
    "views.subspace": {"N_RIDGES": 49, "RIDGE_RANGE": 1e-10},
    "views.view": {"ANCHOR_ROWS": 2000, "RANK_ROWS": 10000},
    "mixtures.whitened_components": {"FAR": 100000000.0},
    "evidence.cell_scales": {
        "PRIOR_CELLS": 100.0,
        "PRIOR_TABLE": 20.0,
        "NORMAL_90": 1.6448536269514722,
        "FARTHEST": 100.0,
        "LEAST": 1e-06,
    },
    "evidence.cells": {
        "N_DRAWS": 5,
        "SHARE": 0.1,
        "MOST_ROWS": 2000,
        "LOOSE": 0.01,
        "LOOSE_STEPS": 5,
        "NOISE_STEPS": 1,
        "ALMOST_NONE": 0.0001,
        "TIGHT": 1e-06,
        "TIGHT_STEPS": 100,
        "EVERY": 6,
        "PATIENCE": 2,
        "LARGEST_NOISE": 2.0,
        "NOISE_RATIO": 0.25,
        "N_NOISES": 11,
        "NEGLIGIBLE": 0.01,
        "STANDS_OUT": 0.1,
    },
    "classes.blend": {"ROW_SHARE": 0.05, "LEAST_SHARE": 1e-3},
    "classes.calibration": {
        "STEPS": 25,
        "HALVINGS": 8,
        "CONVERGED": 1e-07,
        "LEAST_SCALE": 0.0001,
        "AT_ONCE": 1 << 21,
    },
    "classes.rule": {
        "USUAL_WIDTH": 0.6,
        "USUAL_NOISE": 0.01,
        "LIMITING_DISTANCE": 3.0,
        "CHOOSING_ROWS": 2000,
        "SCREENING_ROWS": 500,
    },
    "evidence.dimension": {"RANK": 1e-12, "WHOLE_SIZE": 600, "FIRST_PAIRS": 32, "BEYOND": 1.1, "MOST": 0.25},
    "evidence.fold_stream": {"N_FOLDS": 5},
    "evidence.leading_pairs": {"SPARE": 0.125, "SEEN": 1e-5},
    "evidence.selection": {"ROUNDING": 1e-12},
    "evidence.limits": {"FEW_ROWS": 100, "LIMIT_FOLDS": 10},
    "mixtures.choice": {
        "FOLDS": 5,
        "CHOOSING_ROWS": 10000,
        "CHOOSING_ROWS_WITH_HOLES": 2000,
        "CLUSTER_ROWS": 2000,
        "FEWEST_ROWS": 6,
        "ROUNDS": 2,
        "WHOLE": 128,
        "HIDDEN": 0.1,
        "DRAWS": 3,
        "PATIENCE": 2,
        "MOST_CLUSTERS": 10,
        "CLUSTER_PATIENCE": 3,
        "MOST_KERNEL_LATENTS": 20,
        "LOOSE_TOL": 0.0001,
        "LOOSE_STEPS": 50,
    },
    "evidence.tables": {"GRAM_ROWS": 2000},
    "targets.design": {"LANDMARKS": 200, "RANK_TOL": 1e-12},
    "targets.kernel_choice": {"MOST_ROWS": 2000, "LEAST_RELEVANCE": 0.03},
    "targets.landmarks": {"COMPARED_ROWS": 1000},
    "evidence.trimmed": {"TRIMMED_SHARE": 0.25, "NOISE_FLOOR": 0.001, "CHOICE_ROWS": 5000},
    "views.choice": {"GROWTH": 1.5, "EACH": 8, "PLATEAU": 0.002, "PATIENCE": 3, "SAFE_RIDGE": 0.5},
    "series.window_ridge": {"FEWEST_WINDOWS": 6},
    "classes.choice": {"DEFAULT_FOLDS": 5, "MOSTLY_COPIES": 0.5},
    "estimators.kernel_ppca": {"MORE_COMPONENTS": 1.3},
    "estimators.imputer": {"LEAST_STD": 0.001, "WIDEST": 100, "REFITS": 2},
    "views.trusts": {"EVERY_SUBSET": 4, "MANY_VIEWS": 12, "LEAST_UNEXPLAINED": 1e-12, "FEWEST_ROWS": 10},
}


def numbers_of(module):
    """Names in capitals that a module sets to a number."""
    tree = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text())
    values = vars(importlib.import_module(f"gramian.{module}"))
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    found = {name: values[name] for name in names if name.isupper()}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


@pytest.mark.parametrize("module", POLICIES)
def test_policies_are_what_they_were_decided_to_be(module):
    assert {name: numbers_of(module).get(name) for name in POLICIES[module]} == POLICIES[module]


def test_no_policy_of_latent_is_left_out():
    modules = [f"latent.{path.stem}" for path in sorted((SOURCE / "latent").glob("*.py")) if path.stem != "__init__"]
    unnamed = {module: set(numbers_of(module)) - set(POLICIES.get(module, {})) for module in modules}
    left = {module: names for module, names in unnamed.items() if names}
    # these two follow from mathematics and from the machine
    assert left == {"latent.masked_em": {"LOG_2PI"}, "latent.units": {"CONSTANT"}}
