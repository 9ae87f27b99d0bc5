"""The list of faults (benchmarks/faults.py) over every estimator: a table of fault, estimator and outcome, and a short soak."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pandas")  # frames are among the subjects
from benchmarks.faults import FAULTS, kept, tried
from benchmarks.promises import Outcome, outcome
from benchmarks.soak import Case, growth, soak
from benchmarks.subjects import OURS

from gramian._catalogue import ESTIMATORS

TABLE = [(fault, subject) for subject in OURS.values() for fault in FAULTS if fault.concerns(subject)]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("fault, subject", TABLE, ids=lambda one: getattr(one, "what", getattr(one, "name", "")))
def test_a_fault_has_an_outcome_that_was_promised(fault, subject):
    found = tried(fault, subject)
    assert kept(fault, subject, found), f"{fault.id}: {found.kind} {found.words}"


def test_every_estimator_is_tried():
    assert set(OURS) == set(ESTIMATORS)


@pytest.mark.parametrize("seed", [11])
def test_a_short_soak_breaks_no_promise(seed):
    found = soak(minutes=1.0, seed=seed, most=3 * len(OURS))
    assert found["broken"] == []
    assert found["outcomes"]["answer"] > len(OURS)


SOAKED = [
    ("MultiViewRKM", 1, 104),  # tiny rows of views, mostly missing: the square of the scale overflowed
    ("MultiViewRKM", 21, 1182),  # tiny rows of views without noise: one over the least noise overflowed
    ("RKMForecaster", 1, 195),  # a series with a wild value and gaps: a fold without any axis
    ("MultiViewRKM", 31, 5340),  # views of exact rank with holes: no noise left
    ("RKMForecaster", 31, 6322),  # a tiny series with a wild value: a noise whose square vanishes
    ("PPCA", 31, 6875),  # a wide table beyond 1e150
    ("MultiViewRKM", 31, 7705),  # constant views with an offset and holes
    ("PPCAMixture", 31, 10980),  # a tiny table with holes in a mixture: variances of a predictive density
    ("PPCA", 32, 2046),  # a noise that is far above tiny rows with holes
    ("PPCA", 31, 10208),  # constant columns with holes at a given noise
    ("PPCAMixture", 1801, 24400),  # exact rows with holes in a mixture: a leap went too far
    ("PPCA", 1801, 27665),  # huge rows with holes at a given noise that is nothing beside them
    # views of rank one with holes and as many components as columns: a noise that rounding has lost
    ("MultiViewRKM", 1901, 12545),
    # huge rows with heavy tails: a penalty of the ridge pre-image whose error is beyond float64
    ("KernelPPCA", 31, 2762),
]


@pytest.mark.parametrize("name, seed, number", SOAKED)
def test_what_the_soak_found_stays_mended(name, seed, number):
    found = Case.of(seed, number, replace(OURS[name], holes=name != "KernelPPCA")).tried()  # that case was drawn whole
    assert found.promised, found


@pytest.mark.parametrize("name", ["PPCA", "PPCAMixture", "MultiViewRKM"])
def test_memory_does_not_grow_with_fits(name):
    assert growth(100, (name,))[name] <= 2.0


def test_a_case_of_the_soak_is_a_function_of_its_seed_and_number():
    one, two = Case.of(3, 14), Case.of(3, 14)
    assert str(one) == str(two)
    np.testing.assert_array_equal(one.X, two.X)


def raised(error):
    def work():
        raise error

    return work


JUDGED = {
    "an answer": (lambda: [np.ones(2), 3.0, np.array(["a"])], "answer"),
    "NaN": (lambda: [np.array([1.0, np.nan])], "silent NaN"),
    "infinity": (lambda: [np.float32(np.inf)], "silent NaN"),
    "words": (raised(ValueError("n_components=-1 must be at least 1")), "said"),
    "no words": (raised(ValueError()), "exception"),
    "a bare LinAlgError": (raised(np.linalg.LinAlgError("SVD did not converge")), "exception"),
    "an IndexError": (raised(IndexError("out of bounds")), "exception"),
    "a warning of NumPy": (lambda: [np.float64(1.0) / np.zeros(1) * 0 + 1], "warning"),
}


@pytest.mark.parametrize("work, kind", JUDGED.values(), ids=JUDGED)
def test_outcomes_are_judged(work, kind):
    assert outcome(work).kind == kind
    assert Outcome(kind).promised == (kind in ("answer", "said"))


def test_a_call_without_an_end_is_ended():
    def forever():
        while True:
            pass

    assert outcome(forever, seconds=0.05) == Outcome("exception", "Endless: no end after 0.05 s of CPU")
