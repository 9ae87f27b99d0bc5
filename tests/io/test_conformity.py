"""The state of saved objects is what their classes have: names, kinds, shapes that agree; the same rule for saving and loading."""

import ast
import copy
import inspect
import re
import textwrap

import numpy as np
import pytest
from scipy import sparse

import gramian
from gramian import ModelFileError, load, save
from gramian.features import FEATURE_MAPS
from gramian.io.conformity import WORDS, problem_of
from gramian.io.declarations import FOREIGN, declarations, fits
from gramian.io.registry import CLASSES, class_of
from gramian.kernels import RBF, Linear
from gramian.solvers.eigh import Eigh


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(20, 4))
    return gramian.PPCA(2).fit(X), gramian.KernelPPCA(2, kernel=RBF(1.0) + Linear()).fit(X)


def test_classes_of_others_are_registered():
    assert set(FOREIGN) <= set(CLASSES)


RULE = re.compile(r"(its (\w(=\w)?( |$))*)|\.\.\.|=\w|[A-Z]\w+|([~?%] |\+\+? |labels |#=?\w? )?((\w(=\w)?|1?\*)( |$))*")


@pytest.mark.parametrize("name", CLASSES)
def test_what_stands_beside_a_type_is_said_in_known_words(name):
    if name.startswith("deep."):
        pytest.importorskip("torch")
    declared = declarations(class_of(name))
    for base in class_of(name).__mro__:  # a name that is only there for the type checker would hide what is said
        for attribute, hint in vars(base).get("__annotations__", {}).items():
            assert "Annotated" not in str(hint) or declared[attribute].rule is not None, attribute
    for attribute, said in declared.items():
        length, _, each = (said.rule or "").rpartition(": ")
        assert len(length) <= 1, (attribute, said.rule)
        assert each in {*WORDS, "io.Preprocessing"} or RULE.fullmatch(each), (attribute, said.rule)


@pytest.mark.parametrize("name", [name for name in CLASSES if not name.startswith("sklearn.")])
def test_a_class_declares_every_attribute_that_its_methods_set(name):
    if name.startswith("deep."):
        pytest.importorskip("torch")
    cls = class_of(name)
    of_the_moment = {"_dealt", "_kernel_selection", "__dict__"}  # gone when fit ends
    assert _attributes_set(cls) - of_the_moment <= declarations(cls).keys() | set(getattr(cls, "_transient", ()))


def _attributes_set(cls):
    """Names of the attributes of ``self`` that the code of a class, and of those it is made of, assigns."""
    found = set()
    for base in cls.__mro__:
        if base.__module__.startswith("gramian."):
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(base)))):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id == "self" else set()
    return found


def test_parameters_of_a_fitted_model_are_those_that_fit_takes(fitted):
    for name, value in {
        "rotation": "sideways",
        "solver": [],
        "tol": -1.0,
        "max_iter": "many",
        "n_components": {},
    }.items():
        model = copy.deepcopy(fitted[0])
        model.__dict__[name] = value
        assert name in problem_of(model), name
    approximated = copy.deepcopy(fitted[1])
    approximated.approximation = []
    assert "approximation=[]" in problem_of(approximated)


@pytest.mark.parametrize("inside", ["kernel", "preimage", "memory_limit", "_kept"])
def test_a_model_that_holds_itself_is_refused(fitted, inside, tmp_path):
    from benchmarks.soak_typed_files import written

    model = copy.deepcopy(fitted[1])
    save(model, tmp_path / "m")
    model.__dict__[inside] = model
    (tmp_path / "m").write_bytes(written(model, (tmp_path / "m").read_bytes()))
    with pytest.raises(ModelFileError, match="inside itself"):
        load(tmp_path / "m")


def test_what_is_kept_on_first_need_has_its_type(fitted):
    model = copy.deepcopy(fitted[1])
    model._kept = 3
    assert "'_kept' is a int, not of the type Kept" in problem_of(model)


def test_fitted_and_unfitted_models_conform(fitted):
    assert [problem_of(model) for model in (*fitted, gramian.PPCA(), gramian.RKMForecaster(), RBF(2.0))] == [None] * 5


CHANGES = {
    "a name that is not its own": (0, "extra", 1, "no attribute 'extra'"),
    "a hidden method": (0, "_project", 1, "hide a method"),
    "another length": (0, "mean_", np.zeros(3), "length 3 where 4"),
    "another number of dimensions": (0, "components_", np.zeros(4), "1 dimensions, not 2"),
    "text for numbers": (0, "mean_", np.array(["a", "b", "c", "d"]), "does not hold numbers"),
    "a number for an array": (0, "mean_", 3.0, "not an array"),
    "NaN": (0, "mean_", np.full(4, np.nan), "not finite"),
    "infinity": (0, "loadings_", np.full((4, 2), np.inf), "not finite"),
    "a negative variance": (0, "noise_variance_", -1.0, "at least zero"),
    "a truth value for a count": (0, "n_components_", True, "not a whole number"),
    "no model": (0, "_model", None, "_model is None"),
    "an object of another class": (0, "_model", Eigh(), "is a Eigh, not of the type"),
    "a parameter that is NaN": (0, "tol", float("nan"), "is NaN"),
    "a solver for a kernel": (1, "kernel_", Eigh(), "not a Kernel"),
    "fewer columns": (1, "X_fit_", np.zeros((20, 3)), "length 4 where 3"),
}


@pytest.mark.parametrize("which, name, value, words", CHANGES.values(), ids=CHANGES)
def test_a_state_that_the_class_does_not_have_is_named_and_not_saved(fitted, which, name, value, words, tmp_path):
    model = copy.deepcopy(fitted[which])
    model.__dict__[name] = value
    assert words in problem_of(model)
    with pytest.raises(ValueError, match="cannot be saved"):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_models_of_tiny_and_huge_rows_conform(scale):
    X = scale * np.random.default_rng(0).normal(size=(20, 3))
    assert problem_of(gramian.PPCA(1).fit(X)) is None


def test_a_constant_input_and_exogenous_inputs_conform():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[:, 2] = 5.0
    assert problem_of(gramian.RKMRegressor(kernel=RBF(1.0), random_state=0).fit(X[:, 1:], X[:, 0])) is None
    assert problem_of(gramian.RKMForecaster(lags=4, random_state=0).fit(X[:, 0], X[:, 1:2])) is None


def test_a_field_of_another_type_is_named(fitted):
    model = copy.deepcopy(fitted[0])
    object.__setattr__(model._model.spectrum, "converged", "yes")
    assert "'converged' is a str" in problem_of(model)


def test_part_of_a_kernel_must_be_a_kernel():
    kernel = RBF(1.0) + Linear()
    kernel.k2 = 3.0
    assert "'k2' is a float, not of the type Kernel" in problem_of(kernel)


def test_parameters_that_a_file_does_not_know_get_their_defaults(tmp_path):
    model = gramian.PPCA(3)
    del model.__dict__["tol"]
    assert "'tol' is missing" in problem_of(model)
    from gramian.io.decoder import decode
    from gramian.io.encoder import encode

    again = decode(*encode(model))
    assert again.tol == gramian.PPCA().tol
    save(again, tmp_path / "m")
    assert load(tmp_path / "m").get_params() == gramian.PPCA(3).get_params()


@pytest.mark.parametrize(
    "value, hint, expected",
    [
        (1, float, True),
        (True, int, False),
        (None, float | None, True),
        ("a", float | None, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ([1.5], list[float], True),
        ((1.5,), list[float], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
    ],
)
def test_values_fit_annotations(value, hint, expected):
    assert fits(value, hint) is expected


def test_what_is_made_anew_on_first_need_is_not_read_from_a_file():
    from gramian._arrays import Kept
    from gramian.io.decoder import decode
    from gramian.io.encoder import encode

    kept = Kept()
    kept.get("gram", lambda: np.eye(2))
    tree, tensors = encode(kept)
    assert tree["state"] == {}
    tree["state"]["_values"] = {"dict": [["gram", 3.0]]}
    with pytest.raises(ModelFileError, match="_values"):
        decode(tree, tensors)


FROM_THE_SOAK = {
    "columns of one view less": ("MultiViewRKM", lambda model: model._columns.pop(), "_columns has the length 1"),
    "a column that is not there": ("MultiViewRKM", lambda model: model._columns[0].fill(9), "index outside 0 to 3"),
    "a huge mean": ("MultiViewRKM", lambda model: _dual(model).raw_mean.fill(1e300), "far too large"),
    "no columns": ("MultiViewRKM", lambda model: vars(model).pop("_columns"), "MultiViewRKM: _columns is missing"),
    "a list for an estimator": (
        "LatentOutlierDetector",
        lambda model: vars(model).update(estimator=[]),
        "estimator is not an object of gramian",
    ),
    "a class without a model": (
        "KernelPPCAClassifier",
        lambda model: model._models[0].clear(),
        "_models is not a list of one or more",
    ),
    "no landmarks": (
        "Nystroem",
        lambda model: vars(model._model.subspace.feature_map).pop("landmarks_"),
        "landmarks_ is missing",
    ),
    "a huge factor of a feature": (
        "mapped views",
        lambda model: model._model.subspace.parts[0].subspace.feature_map.multinomials_.fill(1e308),
        "multinomials_ has a number that is far too large",
    ),
    "a smoother without rows": (
        "KernelPPCA",
        lambda model: vars(model._preimage.smoother_).pop("X_"),
        "preimage.KernelSmoother: X_ is missing",
    ),
    "no members": ("RKMForecaster", lambda model: vars(model).pop("_members"), "is missing"),
}


def _dual(model):
    return model._model.subspace.parts[0].subspace


@pytest.mark.parametrize("name, change, words", FROM_THE_SOAK.values(), ids=FROM_THE_SOAK)
def test_what_the_soak_of_mutated_files_found_is_refused(name, change, words):
    X = np.random.default_rng(0).normal(size=(24, 4))
    model = {
        "MultiViewRKM": lambda: gramian.MultiViewRKM(1, views={"a": [0, 1], "b": [2, 3]}, kernel=RBF(1.0)).fit(X),
        "KernelPPCA": lambda: gramian.KernelPPCA(2, kernel=RBF(1.0), preimage="gradient").fit(X),
        "RKMForecaster": lambda: gramian.RKMForecaster(lags=4, random_state=0).fit(X[:, 0]),
        "LatentOutlierDetector": lambda: gramian.LatentOutlierDetector(gramian.PPCA(1)).fit(X),
        "Nystroem": lambda: gramian.KernelPPCA(2, kernel=RBF(1.0), approximation="nystroem", n_landmarks=8).fit(X),
        "KernelPPCAClassifier": lambda: gramian.KernelPPCAClassifier(kernel=RBF(1.0)).fit(X, X[:, 0] > 0),
        "mapped views": lambda: gramian.MultiViewRKM(
            1, views={"a": [0, 1], "b": [2, 3]}, kernel=FEATURE_MAPS["polynomial"]()
        ).fit(X),
    }[name]()
    assert problem_of(model) is None
    change(model)
    assert words in problem_of(model)


UNREAL = {
    "a negative width": (RBF(1.0), "length_scale", -1.0, "above zero"),
    "a width that is a kernel": (RBF(1.0), "length_scale", Linear(), "above zero"),
    "an attribute of a kernel without parameters": (Linear(), "extra", 1.0, "no attribute"),
    "half a degree": (gramian.kernels.Polynomial(), "degree", 1.5, "not a count"),
    "a tolerance below zero": (Eigh(), "tol", -1.0, "no attribute"),
    "rounds that are no count": (gramian.solvers.Em(), "max_iter", 2.5, "not a count"),
}


@pytest.mark.parametrize("part, name, value, words", UNREAL.values(), ids=UNREAL)
def test_parameters_of_kernels_and_solvers_are_of_their_kind(part, name, value, words):
    part = copy.deepcopy(part)
    assert problem_of(part) is None
    part.__dict__[name] = value
    assert words in problem_of(part)


def test_a_callable_is_no_data():
    from gramian.kernels import as_kernel

    assert "not data" in problem_of(as_kernel(lambda A, B: A @ B.T))


@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_landmarks": 10}, {"approximation": "rff"}])
def test_models_of_sparse_rows_conform_and_arrays_that_never_are_sparse_may_not_be(options):
    X = sparse.random(40, 8, density=0.4, random_state=0, format="csr")
    model = gramian.KernelPPCA(2, **options).fit(X)
    assert problem_of(model) is None
    model.explained_variance_ = sparse.csr_array(np.ones((1, 2)))
    assert "explained_variance_" in problem_of(model)


def test_a_stream_of_rows_that_chooses_q_can_be_saved(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = gramian.PPCA().partial_fit(X[:30])
    save(model, tmp_path / "m")
    again = load(tmp_path / "m").partial_fit(X[30:])
    np.testing.assert_array_equal(again.components_, gramian.PPCA().partial_fit(X[:30]).partial_fit(X[30:]).components_)
    model._stream.kept.append("rows")
    assert "kept" in problem_of(model)
