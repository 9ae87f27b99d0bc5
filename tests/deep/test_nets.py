"""Nets as data."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from gramian.deep import nets


@pytest.mark.parametrize(
    ("spec", "shape", "n_columns"),
    [
        (nets.MLP((7,)), None, 12),
        (nets.MLP(()), None, 12),
        (nets.Conv((3, 4)), (5, 7), 35),
        (nets.Conv((2,)), (3, 4, 6), 72),
        (nets.Identity(), None, 6),
    ],
)
def test_a_decoder_undoes_the_shape_of_its_encoder(spec, shape, n_columns):
    wiring = nets.Wiring(n_columns, 6, shape)
    encoder, decoder = (nets.build(spec, role, wiring, seed=0) for role in ("encoder", "decoder"))
    codes = encoder(torch.zeros(3, n_columns))
    assert codes.shape == (3, 6)
    assert decoder(codes).shape == (3, n_columns)


def test_weights_are_drawn_by_the_seed_and_leave_the_global_state():
    before = torch.random.get_rng_state()
    one, same, other = (nets.build(nets.MLP((4,)), "encoder", nets.Wiring(3, 2), seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(one[1].weight, same[1].weight)
    assert not torch.equal(one[1].weight, other[1].weight)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_net_is_its_data(again):
    net = nets.Net.of(nets.MLP((4,)), "encoder", nets.Wiring(3, 2))
    x = torch.randn(5, 3, dtype=torch.float64)
    assert torch.equal(again(net)(x), net(x))
    assert set(vars(net)) == {"spec", "role", "wiring", "arrays"}
    assert sum(p.numel() for p in net.parameters()) == 3 * 4 + 4 + 4 * 2 + 2


@pytest.mark.parametrize(
    ("net", "says"),
    [
        ("lstm", "encoder='lstm'"),
        (3, "is no net"),
        (nets.MLP((0,)), "hidden"),
        (nets.MLP("wide"), "hidden"),
        (nets.MLP((4,), "cube"), "activation='cube'"),
        (nets.Conv(()), "channels"),
    ],
)
def test_what_is_no_net_is_refused_with_words(net, says):
    with pytest.raises((ValueError, TypeError), match=says):
        nets.as_spec(net, "encoder", (4,))


@pytest.mark.parametrize("shape", [None, (3, 3), (2, 2, 2, 2)])
def test_a_picture_that_does_not_fit_its_columns_is_refused(shape):
    with pytest.raises(ValueError, match="image_shape"):
        nets.build(nets.Conv(), "encoder", nets.Wiring(12, 4, shape))


def test_scaling_is_part_of_the_net():
    wiring = nets.Wiring(3, 2)
    rows = torch.randn(4, 3)
    plain = nets.build(nets.MLP(()), "encoder", wiring, seed=0)
    shifted = nets.build(nets.MLP(()), "encoder", wiring, np.array([1.0, 2.0, 3.0]), 2.0, seed=0)
    torch.testing.assert_close(shifted(2.0 * rows + torch.tensor([1.0, 2.0, 3.0])), plain(rows))


NETS_FROM_FILES = {
    "wider layers than weights": lambda net: setattr(net, "spec", nets.MLP(hidden=(10**12,))),
    "more columns than weights": lambda net: setattr(net, "wiring", nets.Wiring(10**12, 2)),
    "many layers": lambda net: setattr(net, "spec", nets.MLP(hidden=(3,) * 1000)),
    "an unknown activation": lambda net: setattr(net, "spec", nets.MLP(hidden=(3,), activation="sin")),
    "no role": lambda net: setattr(net, "role", "judge"),
    "a weight less": lambda net: net.arrays.popitem(),
    "NaN": lambda net: next(iter(net.arrays.values())).fill(np.nan),
}


@pytest.mark.parametrize("change", NETS_FROM_FILES.values(), ids=NETS_FROM_FILES)
def test_a_net_whose_spec_and_weights_do_not_agree_is_refused_before_it_is_built(change):
    from gramian.io.conformity import problem_of

    net = nets.Net.of(nets.MLP(hidden=(3,)), "encoder", nets.Wiring(4, 2))
    assert problem_of(net) is None
    change(net)
    assert "deep.Net" in problem_of(net)
