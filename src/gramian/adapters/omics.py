"""AnnData and MuData in and out: cells by genes, one table or several measured on the same cells (``pip install 'gramian[omics]'``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from gramian._arrays import Array

KEY = "gramian"
"""Under which the answers stand in ``obsm``, ``varm`` and ``uns`` unless told otherwise."""


def read(data: Any, *, layer: str | None = None) -> Any:
    """What models take: of AnnData a data frame, cells by genes; of MuData such a frame per modality, on all cells, NaN where one was not measured.

    Parameters
    ----------
    data : AnnData or MuData
    layer : str, optional
        A layer in the place of ``X``.

    Returns
    -------
    pandas DataFrame, or dict of modality to DataFrame

    References
    ----------
    docs/from_other_packages.md: AnnData and MuData.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from types import SimpleNamespace
    >>> from gramian.adapters import omics
    >>> cells, genes = pd.Index(["c1", "c2"]), pd.Index(["g1", "g2", "g3"])
    >>> like_anndata = SimpleNamespace(X=np.arange(6.0).reshape(2, 3), obs_names=cells, var_names=genes, layers={})
    >>> omics.read(like_anndata).shape
    (2, 3)
    """
    parts = _modalities(data)
    if parts is None:
        return _frame(data, layer)
    return {name: _frame(part, layer).reindex(data.obs_names) for name, part in parts.items()}


def write(data: Any, model: Any, *, layer: str | None = None, key: str = KEY) -> Any:
    """Put into the data what a fitted model says of it: latents, loadings, and what was learned.

    Parameters
    ----------
    data : AnnData or MuData
        Changed in place.
    model : fitted PPCA, KernelPPCA or MultiViewRKM
        Fitted to what :func:`read` gives.
    layer : str, optional
        The layer that was read.
    key : str, default="gramian"
        ``obsm["X_" + key]`` are the latents of all cells, ``varm[key]`` the loadings of the genes (of each modality), where the model has them, and ``uns[key]`` how many components
        were taken, their shares of the variance, the noise, and why.

    Returns
    -------
    AnnData or MuData
        ``data``.

    References
    ----------
    docs/from_other_packages.md: AnnData and MuData.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from types import SimpleNamespace
    >>> from gramian import PPCA
    >>> from gramian.adapters import omics
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> names = {"obs_names": pd.RangeIndex(30).astype(str), "var_names": pd.Index([*"abcd"])}
    >>> like_anndata = SimpleNamespace(X=X, layers={}, obsm={}, varm={}, uns={}, **names)
    >>> model = PPCA(n_components=2).fit(omics.read(like_anndata))
    >>> omics.write(like_anndata, model).obsm["X_gramian"].shape
    (30, 2)
    """
    given = read(data, layer=layer)
    data.obsm[f"X_{key}"] = np.asarray(model.transform(given))
    loadings = getattr(model, "loadings_", None)
    parts = _modalities(data)
    if parts is None:
        if loadings is not None:
            data.varm[key] = np.asarray(loadings)
    elif isinstance(loadings, Mapping):
        for name, part in parts.items():
            part.varm[key] = np.asarray(loadings[name])
    data.uns[key] = _facts(model)
    return data


def fill(data: Any, model: Any = None, *, layer: str | None = None, into: str = "filled") -> Any:
    """Fill what is missing: NaN of AnnData into a layer; modalities that were not measured on some cells, of MuData, into ``obsm``.

    Parameters
    ----------
    data : AnnData or MuData
        Changed in place.
    model : object, optional
        Fitted to what :func:`read` gives; None: `LatentImputer` for AnnData, `MultiViewRKM` for MuData, fitted here.
    layer : str, optional
        A layer in the place of ``X``.
    into : str, default="filled"
        AnnData: ``layers[into]`` and its standard deviations, ``layers[into + "_std"]``. MuData: ``obsm[into + "_" + modality]``, on all cells, as data frames.

    Returns
    -------
    AnnData or MuData
        ``data``.

    References
    ----------
    docs/from_other_packages.md: AnnData and MuData.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from types import SimpleNamespace
    >>> from gramian.adapters import omics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 1)) @ np.ones((1, 4)) + 0.1 * rng.standard_normal((40, 4))
    >>> X[3, 2] = np.nan
    >>> names = {"obs_names": pd.RangeIndex(40).astype(str), "var_names": pd.Index([*"abcd"])}
    >>> full = omics.fill(SimpleNamespace(X=X, layers={}, **names)).layers["filled"]
    >>> bool(abs(full[3, 2] - X[3, 1]) < 0.5)
    True
    """
    from gramian import LatentImputer, MultiViewRKM

    given = read(data, layer=layer)
    if _modalities(data) is None:
        model = LatentImputer().fit(given) if model is None else model
        full, std = model.impute(given, return_std=True)
        data.layers[into], data.layers[f"{into}_std"] = np.asarray(full), np.asarray(std)
        return data
    model = MultiViewRKM().fit(given) if model is None else model
    for name, frame in given.items():
        absent = frame.isna().all(axis=1).to_numpy()
        whole = frame.copy()
        if absent.any():
            shown = {other: part.loc[absent] for other, part in given.items() if other != name}
            whole.loc[absent] = np.asarray(model.predict_view({**shown, name: None}, name))
        data.obsm[f"{into}_{name}"] = whole
    return data


def _modalities(data: Any) -> Mapping[str, Any] | None:
    """The tables of MuData by name; None of one table."""
    parts = getattr(data, "mod", None)
    if parts is None and not all(hasattr(data, name) for name in ("X", "obs_names", "var_names")):
        raise TypeError(
            f"AnnData or MuData is needed, got {type(data).__name__}. Give other tables to the models as they are."
        )
    return parts


def _frame(data: Any, layer: str | None) -> Any:
    import pandas

    if layer is not None and layer not in data.layers:
        raise ValueError(f"layer={layer!r} is not there. The layers are {', '.join(map(repr, data.layers)) or 'none'}.")
    values: Any = data.X if layer is None else data.layers[layer]
    dense: Array = values.toarray() if sparse.issparse(values) else np.asarray(values)
    return pandas.DataFrame(dense, index=data.obs_names, columns=data.var_names)


def _facts(model: Any) -> dict[str, Any]:
    """What was learned, in types that files of this kind hold."""
    facts: dict[str, Any] = {"model": type(model).__name__, "n_components": int(model.n_components_)}
    for name in ("explained_variance_ratio_", "noise_variance_"):
        value = getattr(model, name, None)
        if value is not None and not isinstance(value, Mapping):
            facts[name.strip("_")] = np.asarray(value)
    selection = getattr(model, "selection_", None)
    return facts if selection is None else {**facts, "reason": str(selection.reason)}
