"""Every pre-image of a fitted kernel model is saved and comes back, for kernels that need it and for those that do not."""

import numpy as np
import pytest

from gramian import KernelPPCA, load, save

X = np.random.default_rng(0).standard_normal((40, 3))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
@pytest.mark.parametrize("preimage", ["fixed_point", "gradient", "mds", "ridge", "smoother", "transport", "auto"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loaded_model_decodes_as_the_saved_one(preimage, kernel, tmp_path):
    if (preimage, kernel) in (("fixed_point", "polynomial"), ("mds", "polynomial")):
        pytest.skip("this method inverts stationary kernels only")
    model = KernelPPCA(2, kernel=kernel, preimage=preimage, random_state=0).fit(X)
    latents = model.transform(X[:3])
    expected = model.inverse_transform(latents)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").inverse_transform(latents), expected)
