"""What a notebook shows of a fitted model below its parameters: what was learned, in words and a small scree."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib import metadata
from typing import Any

import numpy as np

from gramian.policy import PAGE


@lru_cache(maxsize=1)
def site() -> str:
    """The address of the documentation that the installed package names, or nothing."""
    try:
        named = metadata.metadata("gramian").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    pairs = (one.partition(", ") for one in named)
    return next((address.rstrip("/") for label, _, address in pairs if label == "Documentation"), "")


def page_of(model: Any) -> str:
    """The address of the page of a model's class, or nothing where the package names no site."""
    return f"{site()}/reference/names/gramian.{type(model).__name__}.html" if site() else ""


def facts_as_html(model: Any) -> str:
    """What a fitted model has learned as HTML; nothing for one that is not fitted.

    >>> from sklearn.datasets import load_iris
    >>> from gramian import PPCA
    >>> facts_as_html(PPCA()), "noise variance" in facts_as_html(PPCA(2).fit(load_iris().data))
    ('', True)
    """
    inner = getattr(model, "estimator_", model)
    if not any(name.endswith("_") and not name.startswith("_") for name in vars(model)):
        return ""
    told = [(name, escape(text)) for name, text in _facts(inner)]
    reason = model.explain() if hasattr(model, "explain") else getattr(getattr(model, "selection_", None), "reason", "")
    told += [("why", escape(reason))] if reason else []
    page = page_of(model)
    name = type(model).__name__
    told.append(("more", f'<a href="{escape(page)}">{name}</a>' if page else f"<code>help(gramian.{name})</code>"))
    rows = "".join(
        f"<tr><th style='text-align:left'>{n}</th><td style='text-align:left'>{t}</td></tr>" for n, t in told
    )
    return f"<div class='gramian-learned'><table>{rows}</table>{_scree(inner)}</div>"


def _facts(model: Any) -> list[tuple[str, str]]:
    """Latent dimensions, noise and holes, of those that a model has."""
    facts = []
    if (q := getattr(model, "n_components_", None)) is not None:
        facts.append(("latent dimensions", _number(q)))
    noise = getattr(model, "noise_variances_", getattr(model, "noise_variance_", None))
    if noise is not None:
        facts.append(("noise variance", _number(noise)))
    seen, rows = vars(model).get("_column_weights"), getattr(model, "n_samples_", 0)
    if seen is not None and rows:
        holes = 1 - float(np.sum(seen)) / (float(rows) * len(seen))
        facts.append(("missing cells", f"{100 * holes:.2g} %" if holes > 0 else "none"))
    return facts


def _number(value: Any) -> str:
    values = np.ravel(np.asarray(value, dtype=float))
    shown = [f"{one:.4g}" for one in values[: PAGE.rows]]
    return ", ".join(shown) + (f" and {len(values) - len(shown)} more" if len(values) > len(shown) else "")


def _scree(model: Any) -> str:
    """A bar for the share of variance of each component."""
    shares = getattr(model, "explained_variance_ratio_", None)
    if not isinstance(shares, np.ndarray) or shares.ndim != 1 or not len(shares) or not np.isfinite(shares).all():
        return ""
    shares = shares[: PAGE.cells]
    width, height = 12, 60
    tops = height * shares / max(float(shares.max()), np.finfo(float).tiny)
    bars = "".join(
        f"<rect x='{width * i}' y='{height - top:.1f}' width='{width - 2}' height='{top:.1f}'><title>{i + 1}: {100 * share:.3g} % of the variance</title></rect>"
        for i, (share, top) in enumerate(zip(shares, tops))
    )
    label = f"share of variance of {len(shares)} components"
    return f"<svg role='img' aria-label='{label}' width='{width * len(shares)}' height='{height}' fill='#0072B2'>{bars}</svg>"
