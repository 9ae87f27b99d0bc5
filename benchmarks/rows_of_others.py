"""What other eyes found, row by row: the tests that keep the smallest forms of each, run on the present code.

Run as ``python -m benchmarks.rows_of_others``. A row is kept where all of its tests pass.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from benchmarks._results import note

FOUND = "tests/reliability/test_found_by_others.py"
LAWS = "tests/reliability/test_laws.py"
ROWS = {
    "anomaly of a kernel model: tiny samples, far rows": (
        f"{FOUND}::test_limits_of_two_rows_of_a_kernel_model_are_said_to_be_unknown",
        f"{FOUND}::test_three_rows_are_too_few_for_the_limits_of_a_kernel_model",
        "tests/evidence/test_limits.py::test_weights_below_a_rounding_of_one_row_say_nothing",
    ),
    "limits of few rows": (
        f"{FOUND}::test_limits_of_few_rows_and_of_one_column_are_finite",
        "tests/reliability/test_calibration.py::test_few_rows_do_not_raise_alarms",
    ),
    "no rows": (
        f"{FOUND}::test_no_rows_of_views_are_answered_with_no_rows",
        f"{FOUND}::test_no_latents_are_answered_with_no_rows",
    ),
    "rows far beyond the data": (
        f"{FOUND}::test_rows_far_beyond_the_data_get_finite_answers_or_one_sentence",
        f"{FOUND}::test_a_far_row_with_a_hole_has_a_finite_decision",
        f"{FOUND}::test_cells_whose_squares_overflow_are_wild_without_a_warning",
    ),
    "a batch of one": (f"{FOUND}::test_a_far_row_has_the_same_random_features_alone_and_among_others",),
    "extreme scales": (
        f"{FOUND}::test_extreme_scales_are_fitted_or_refused_in_words_without_a_warning_of_numpy",
        f"{FOUND}::test_a_table_whose_squares_vanish_is_no_constant_table",
    ),
    "a posterior wider than the prior": (
        f"{FOUND}::test_no_posterior_is_wider_than_the_prior",
        f"{FOUND}::test_a_posterior_of_ill_conditioned_rows_is_symmetric_and_within_the_prior",
    ),
    "a class per row": (f"{FOUND}::test_a_class_per_row_is_answered_without_a_guess_of_scikit_learn",),
    "model files by a second mutator": (
        "tests/io/test_fuzz_model_files.py::test_models_with_values_of_other_kinds_are_refused_or_harmless",
        "tests/io/test_conformity.py::test_what_the_soak_of_mutated_files_found_is_refused",
    ),
    "bombs": (
        "tests/io/test_packing.py::test_a_parquet_bomb_is_refused",
        "tests/io/test_model_file.py::test_a_small_file_cannot_fill_memory",
    ),
    "memory of krylov": (
        f"{FOUND}::test_krylov_works_within_a_small_memory",
        f"{FOUND}::test_advice_about_memory_is_true",
        f"{FOUND}::test_what_a_refusal_for_memory_advises_is_enough",
    ),
    "the median of an even number of distances": (
        f"{FOUND}::test_the_median_of_an_even_number_of_distances_is_the_mean_of_the_middle_two",
    ),
    "offsets before polynomial kernels": (
        f"{FOUND}::test_an_offset_costs_a_polynomial_of_degree_1_no_digits",
        f"{FOUND}::test_an_offset_before_a_polynomial_is_named_and_no_length_scale",
        "tests/kernels/test_offset.py::test_a_polynomial_kernel_on_rows_far_from_the_origin_is_told_of_once",
    ),
    "more clusters than distinct rows": (f"{FOUND}::test_more_clusters_than_distinct_rows_are_refused",),
    "float32 of mixtures": (f"{FOUND}::test_draws_of_a_mixture_of_float32_rows_are_float32",),
    "a callable kernel on sparse rows": (f"{FOUND}::test_a_callable_that_cannot_take_sparse_rows_is_told_so",),
    "batches: nothing of size N, cuts to 1e-9": (
        f"{FOUND}::test_batches_leave_nothing_of_the_size_of_the_table_and_their_cuts_are_no_matter",
    ),
    "weights are repetition by EM": (
        f"{FOUND}::test_weights_equal_repetition_with_em",
        f"{FOUND}::test_weights_equal_repetition_of_rows_with_holes_in_a_kernel_model",
    ),
    "a column of one value": (
        f"{FOUND}::test_a_column_constant_among_its_seen_cells_is_filled_with_exactly_that",
        f"{FOUND}::test_a_mixture_fills_a_column_of_one_value_with_it_to_the_last_digit",
    ),
    "options drawn as well": (
        f"{FOUND}::test_a_posterior_that_knows_nothing_is_within_the_prior_in_turned_coordinates_too",
        f"{FOUND}::test_equal_rows_have_a_law_of_heavy_tails_without_a_warning_of_numpy",
        "tests/estimators/test_kernel_ppca.py::test_a_grid_needs_two_latent_coordinates_that_are_there",
        "tests/kernels/test_expected.py::test_a_far_mean_of_an_unsure_cell_takes_no_digits_of_the_others",
    ),
    "what the second soak found": (f"{LAWS}::test_what_the_soak_found_holds_now",),
}


def main() -> None:
    """Run the tests of all rows and count them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        names = [name for tests in ROWS.values() for name in tests]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *names]
        subprocess.run(command, check=False)
        cases = list(ElementTree.parse(report).iter("testcase"))
    passed: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for case in cases:
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '').partition('[')[0]}"
        tried[name] += 1
        passed[name] += not any(child.tag in ("failure", "error") for child in case)
    found = {
        row: [sum(tried[name] for name in tests), sum(passed[name] for name in tests)] for row, tests in ROWS.items()
    }
    print(*(f"{row}: {kept} of {count}" for row, (count, kept) in found.items()), sep="\n")
    note("rows of others", found)


if __name__ == "__main__":
    main()
