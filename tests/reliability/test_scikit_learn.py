"""The scikit-learn checks that `check_estimator` leaves out."""

import warnings

import pytest
from sklearn.utils import estimator_checks as checks

from reliability.cases import CASES

EVERY = [checks.check_dataframe_column_names_consistency, checks.check_inplace_ensure_writeable]
TRANSFORMERS = [
    checks.check_get_feature_names_out_error,
    checks.check_transformer_get_feature_names_out,
    checks.check_transformer_get_feature_names_out_pandas,
    checks.check_set_output_transform,
    checks.check_set_output_transform_pandas,
    checks.check_set_output_transform_polars,
    checks.check_global_output_transform_pandas,
    checks.check_global_set_output_transform_polars,
]
PAIRS = [
    (name, check)
    for name, case in CASES.items()
    for check in [*EVERY, *(TRANSFORMERS if hasattr(case.make(), "transform") else [])]
]


@pytest.mark.parametrize(("name", "check"), PAIRS, ids=[f"{name}-{check.__name__}" for name, check in PAIRS])
def test_the_checks_that_are_left_out_pass_too(name, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(name, CASES[name].make())
