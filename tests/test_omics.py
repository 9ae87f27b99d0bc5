"""AnnData and MuData in and out, with the real packages where they are installed."""

import warnings

import numpy as np
import pytest

from gramian import PPCA, LatentImputer, MultiViewRKM
from gramian.adapters import omics

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
Z = RNG.standard_normal((80, 3))
GENES = Z @ RNG.standard_normal((3, 12)) + 0.3 * RNG.standard_normal((80, 12))
PROTEINS = Z @ RNG.standard_normal((3, 5)) + 0.3 * RNG.standard_normal((80, 5))
CELLS = [f"cell{i}" for i in range(80)]


class Annotated:
    """As much of AnnData as is asked for."""

    def __init__(self, X, obs_names, var_names):
        self.X, self.obs_names, self.var_names = X, pandas.Index(obs_names), pandas.Index(var_names)
        self.layers, self.obsm, self.varm, self.uns = {}, {}, {}, {}


class Modalities:
    """As much of MuData as is asked for: the cells are those of any modality."""

    def __init__(self, mod):
        self.mod, self.obsm, self.uns = mod, {}, {}
        self.obs_names = pandas.Index(list(dict.fromkeys(name for part in mod.values() for name in part.obs_names)))


def real_anndata(X, obs_names, var_names):
    made = pytest.importorskip("anndata", reason="anndata is not installed").AnnData(np.asarray(X))
    made.obs_names, made.var_names = obs_names, var_names
    return made


def real_mudata(mod):
    mudata = pytest.importorskip("mudata", reason="mudata is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of its constructor, about a later release
        return mudata.MuData(mod)


KINDS = pytest.mark.parametrize(
    ("table", "several"), [(Annotated, Modalities), (real_anndata, real_mudata)], ids=["like", "real"]
)


@KINDS
def test_latents_loadings_and_reasons_stand_in_the_data(table, several):
    data = table(GENES, CELLS, [f"g{j}" for j in range(12)])
    frame = omics.read(data)
    assert list(frame.index) == CELLS
    model = PPCA().fit(frame)
    assert omics.write(data, model) is data
    np.testing.assert_allclose(data.obsm["X_gramian"], model.transform(frame))
    np.testing.assert_allclose(data.varm["gramian"], model.loadings_)
    assert data.uns["gramian"]["n_components"] == model.n_components_
    assert data.uns["gramian"]["reason"] == model.selection_.reason


@KINDS
def test_holes_are_filled_into_a_layer(table, several):
    X = np.where(RNG.random(GENES.shape) < 0.1, np.nan, GENES)
    data = table(X, CELLS, [f"g{j}" for j in range(12)])
    data.layers["twice"] = 2 * X
    omics.fill(data, layer="twice", into="whole")
    expected, std = LatentImputer().fit(2 * X).impute(2 * X, return_std=True)
    np.testing.assert_allclose(data.layers["whole"], expected)
    np.testing.assert_allclose(data.layers["whole_std"], std)
    with pytest.raises(ValueError, match=r"layer='thrice'.*'twice'"):
        omics.read(data, layer="thrice")


@KINDS
def test_a_modality_that_some_cells_miss_is_filled_from_the_others(table, several):
    genes = table(GENES, CELLS, [f"g{j}" for j in range(12)])
    proteins = table(PROTEINS[:60], CELLS[:60], [f"p{j}" for j in range(5)])
    data = several({"rna": genes, "prot": proteins})
    views = omics.read(data)
    assert views["prot"].loc["cell70"].isna().all()
    omics.fill(data)
    filled = data.obsm["filled_prot"].loc[CELLS].to_numpy()
    np.testing.assert_allclose(filled[:60], PROTEINS[:60])
    off, plain = filled[60:] - PROTEINS[60:], PROTEINS[:60].mean(axis=0) - PROTEINS[60:]
    assert (off**2).mean() < 0.4 * (plain**2).mean()
    model = MultiViewRKM(n_components=3).fit(views)
    omics.write(data, model, key="views")
    assert data.obsm["X_views"].shape == (80, 3)


def test_sparse_counts_and_other_things():
    from scipy import sparse

    data = Annotated(sparse.csr_matrix(np.maximum(GENES, 0.0)), CELLS, [f"g{j}" for j in range(12)])
    np.testing.assert_allclose(omics.read(data), np.maximum(GENES, 0.0))
    with pytest.raises(TypeError, match="AnnData or MuData"):
        omics.read(GENES)
