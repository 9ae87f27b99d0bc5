"""TorchMap: any torch modules as a feature map."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from gramian import MultiViewRKM
from gramian.deep import TorchMap, nets
from gramian.deep.torch_map import apply_module
from gramian.features import Identity, RandomFourier
from gramian.kernels import RBF
from gramian.testing import check_feature_map


def module(d=6, k=8):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(d, k), torch.nn.Tanh())


def test_it_keeps_the_contract_of_feature_maps(X):
    check_feature_map(TorchMap(nets.Net.of(nets.MLP((5,)), "encoder", nets.Wiring(6, 4))), X)


def test_the_map_of_a_module_is_the_module(X):
    net = module()
    features = TorchMap(net).fit_transform(X)
    with torch.no_grad():
        expected = net(torch.as_tensor(X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(features, expected, atol=1e-6)


def test_rows_are_batched_without_a_trace(X):
    net = nets.Net.of(nets.MLP((5,)), "encoder", nets.Wiring(6, 4))
    whole = TorchMap(net).fit_transform(X)
    np.testing.assert_allclose(apply_module(net, X, batch_rows=7), whole, atol=1e-13)


def test_without_a_decoder_there_is_no_inverse(X):
    assert not hasattr(TorchMap(module()), "inverse_transform")
    back = TorchMap(module(), module(8, 6)).fit(X)
    assert back.decode(back.encode(X)).shape == X.shape
    with pytest.raises(ValueError, match="8 features"):
        back.inverse_transform(X)


def test_it_stands_in_a_kernels_place(X):
    model = MultiViewRKM(2, kernel=TorchMap(module(), module(8, 6)), noise_variance="ml").fit(X)
    assert model.inverse_transform(model.transform(X)).shape == X.shape


def test_a_feature_map_is_an_encoder_too(X):
    plain = RandomFourier(RBF(2.0), 20, random_state=0)
    np.testing.assert_array_equal(TorchMap(plain).fit_transform(X), plain.fit_transform(X))
    np.testing.assert_array_equal(TorchMap(Identity()).fit_transform(X), X)


@pytest.mark.parametrize(("bad", "says"), [("mlp", "torch module"), (torch.nn.Unflatten(1, (2, 3)), "Flatten")])
def test_what_is_no_map_is_refused(X, bad, says):
    with pytest.raises((TypeError, ValueError), match=says):
        TorchMap(bad).fit(X)
