"""Models small enough to draw at once."""

from io import BytesIO

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from gramian import PPCA, KernelPPCA, LatentOutlierDetector, MultiViewRKM, PPCAMixture, datasets, kernels

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")


@pytest.fixture(scope="session")
def iris():
    return load_iris().data


@pytest.fixture(scope="session")
def holed(iris):
    return datasets.make_missing(iris, 0.15, random_state=0)


@pytest.fixture(scope="session")
def ppca(iris):
    return PPCA(n_components=2).fit(iris)


@pytest.fixture(scope="session")
def ppca_holed(holed):
    return PPCA(n_components=2).fit(holed)


@pytest.fixture(scope="session")
def digits():
    return load_digits().data[:200]


@pytest.fixture(scope="session")
def ppca_digits(digits):
    return PPCA(n_components=6).fit(digits)


@pytest.fixture(scope="session")
def shapes():
    return datasets.make_c_shapes(60, random_state=0)[0]


@pytest.fixture(scope="session")
def kernel_model(shapes):
    return KernelPPCA(n_components=3, kernel=kernels.RBF(4.0), random_state=0).fit(shapes)


@pytest.fixture(scope="session")
def mixture(shapes):
    return PPCAMixture(n_clusters=2, n_components=1, random_state=0).fit(shapes)


@pytest.fixture(scope="session")
def detector(shapes):
    return LatentOutlierDetector(KernelPPCA(n_components=3, kernel=kernels.RBF(4.0)), contamination=0.1).fit(shapes)


@pytest.fixture(scope="session")
def views():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((120, 2))
    left = z @ rng.standard_normal((2, 5)) + 0.2 * rng.standard_normal((120, 5))
    right = z @ rng.standard_normal((2, 3)) + 0.2 * rng.standard_normal((120, 3))
    return {"left": left, "right": right}


@pytest.fixture(scope="session")
def several(views):
    return MultiViewRKM(2, noise_variance="per-view").fit(views)


@pytest.fixture
def figure():
    return matplotlib.figure.Figure(layout="constrained")


@pytest.fixture
def ax(figure):
    return figure.subplots()


@pytest.fixture
def render():
    """Draw a figure to the last glyph; its bytes. (The canvas of a figure outside pyplot draws nothing by itself.)"""

    def rendered(figure):
        buffer = BytesIO()
        figure.savefig(buffer, dpi=40)
        return buffer.getvalue()

    return rendered
