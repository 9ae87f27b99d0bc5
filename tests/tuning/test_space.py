"""Search spaces: short forms, the unit cube, conditions, priors."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from gramian import KernelPPCA
from gramian.kernels import RBF, Polynomial
from gramian.tuning.space import Category, Integer, Real, Space, build_space, parse_dimension, with_params


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, "a"], Category((1, "a"))),
        ((1, 5), Integer(1.0, 5.0)),
        ((1.0, 5), Real(1.0, 5.0)),
        ((np.int64(1), np.uint8(5)), Integer(1.0, 5.0)),
        (("log", 0.1, 10), Real(0.1, 10.0, log=True)),
        (("log", 0.1, 10, 3), Real(0.1, 10.0, log=True, size=3)),
        ({"range": ("log", 1, 10), "integer": True}, Integer(1.0, 10.0, log=True)),
        ({"range": (0.0, 1.0), "prior": (0.5, 0.1)}, Real(0.0, 1.0, prior=(0.5, 0.1))),
        ({"range": ("log", 0.1, 10), "prior": (1.0, 0.5)}, Real(0.1, 10.0, log=True, prior=(0.0, 0.5))),
    ],
)
def test_short_forms_mean_what_the_contract_says(given, expected):
    assert parse_dimension("p", given) == expected


@pytest.mark.parametrize(
    "given",
    [
        (5, 1),
        (1.0, 1.0),
        (0.0, np.inf),
        (np.nan, 1.0),
        ("log", 0.0, 1.0),
        ("log", -1.0, 1.0),
        ("log", 2.0, 1.0),
        ("lin", 1.0, 2.0),
        ("log", 1.0),
        ("log", 1.0, 2.0, 0),
        ("log", 1.0, 2.0, 1.5),
        (True, False),
        ("a", "b"),
        (1, 2, 3),
        [],
        3.0,
        None,
        "log",
        {"range": [1, 2], "prior": (1, 1)},
        {"range": (0.0, 1.0), "prior": (0.5, 0.0)},
        {"range": (0.0, 1.0), "prior": 0.5},
        {"range": ("log", 0.1, 1.0), "prior": (-1.0, 1.0)},
        {"prior": (0.5, 0.1)},
        {"range": (0.0, 1.0), "pior": (0.5, 0.1)},
    ],
    ids=repr,
)
def test_bad_dimensions_are_value_errors_that_name_the_parameter(given):
    with pytest.raises(ValueError, match="alpha"):
        build_space({"alpha": given}, Ridge())


@pytest.mark.parametrize("dimension", [Integer(1.0, 7.0), Integer(1.0, 99.0, log=True), Integer(0.0, 3.0)], ids=repr)
def test_every_integer_is_reached_and_round_trips(dimension):
    assert [dimension.decode(dimension.encode(value)) for value in dimension.values()] == dimension.values()
    reached = {dimension.decode(np.array([u])) for u in np.linspace(0, 1, 5001)}
    assert reached == set(dimension.values())


@pytest.mark.parametrize(
    "dimension", [Real(-2.0, 3.0), Real(1e-3, 1e3, log=True), Real(0.1, 9.0, log=True, size=3)], ids=repr
)
def test_reals_stay_inside_their_bounds_and_round_trip(dimension):
    for u in (0.0, 0.3, 1.0):
        value = dimension.decode(np.full(dimension.width, u))
        assert np.all(np.asarray(value) >= dimension.low)
        assert np.all(np.asarray(value) <= dimension.high)
        np.testing.assert_allclose(dimension.encode(value), u, atol=1e-12)


def test_parameters_that_the_kernel_lacks_are_dropped():
    space = build_space(
        {
            "kernel": ["rbf", Polynomial(), "linear"],
            "kernel__length_scale": ("log", 0.1, 10.0),
            "kernel__degree": (1, 4),
        },
        KernelPPCA(),
    )
    assert space.conditions == {"kernel__length_scale": ("kernel", (0,)), "kernel__degree": ("kernel", (1,))}
    seen = [space.decode(u) for u in np.random.default_rng(0).random((50, space.width))]
    for params in seen:
        wanted = {"rbf": {"kernel__length_scale"}, "linear": set()}.get(
            params["kernel"] if isinstance(params["kernel"], str) else ""
        )
        assert set(params) - {"kernel"} == ({"kernel__degree"} if wanted is None else wanted)
    assert len({str(p["kernel"]) for p in seen}) == 3


def test_what_does_not_apply_rests_at_the_centre():
    space = build_space({"kernel": ["rbf", "linear"], "kernel__length_scale": ("log", 0.1, 10.0)}, KernelPPCA())
    snapped = space.snap(np.array([[0.0, 1.0, 0.9], [1.0, 0.0, 0.9]]))
    np.testing.assert_array_equal(snapped, [[0, 1, 0.5], [1, 0, 0.9]])


@pytest.mark.parametrize("name", ["kernel__lenght_scale", "n_component", "kernel__degree"])
def test_a_misspelt_parameter_is_an_error(name):
    with pytest.raises(ValueError, match=name):
        build_space({name: ("log", 1.0, 2.0)}, KernelPPCA(kernel="rbf"))


def test_a_parameter_of_no_choice_is_an_error():
    with pytest.raises(ValueError, match="kernel__degree"):
        build_space({"kernel": ["rbf", "linear"], "kernel__degree": (1, 3)}, KernelPPCA())


def test_names_become_objects_where_their_parameters_are_set():
    model = with_params(KernelPPCA(), {"kernel__length_scale": 3.0, "n_components": 2})
    assert model.kernel.length_scale == 3.0
    assert model.n_components == 2
    model = with_params(KernelPPCA(kernel="linear"), {"kernel__degree": 2, "kernel": "polynomial"})
    assert isinstance(model.kernel, Polynomial)
    assert model.kernel.degree == 2


def test_a_shared_category_object_is_never_changed():
    shared = RBF(1.0)
    with_params(KernelPPCA(), {"kernel": shared, "kernel__length_scale": 9.0})
    assert shared.length_scale == 1.0


def test_priors_draw_points_near_their_mean():
    space = Space({"x": Real(0.0, 10.0, prior=(2.0, 0.5))}, {})
    drawn = np.array([space.decode(p)["x"] for p in space.from_uniform(np.random.default_rng(0).random((4000, 1)))])
    assert abs(drawn.mean() - 2.0) < 0.05
    assert abs(drawn.std() - 0.5) < 0.05
    at = space.log_prior(np.array([[0.2], [0.3], [0.9]]))
    np.testing.assert_allclose(at, [0.0, -2.0, -0.5 * (7 / 0.5) ** 2])
