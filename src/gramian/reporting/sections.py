"""From an analysis to the sections of the report, in the order in which they are read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from gramian.io.table import ReadOptions
from gramian.reporting import fitted_section, model_sections, row_sections, table_sections
from gramian.reporting.analysis import Analysis
from gramian.reporting.blocks import Code, Section
from gramian.reporting.glance import glance


def sections_of(analysis: Analysis, path: str, options: ReadOptions | None = None) -> list[Section]:
    """All sections."""
    found = [
        glance(analysis),
        fitted_section.of_table(analysis),
        table_sections.columns(analysis),
        table_sections.together(analysis),
        table_sections.missing(analysis),
        model_sections.model(analysis),
        model_sections.structure(analysis),
        row_sections.row_map(analysis),
        row_sections.odd_rows(analysis),
        row_sections.imputed_cells(analysis),
        row_sections.clusters(analysis),
        _python(analysis, path, options or ReadOptions()),
    ]
    return [section for section in found if section is not None]


def _python(analysis: Analysis, path: str, options: ReadOptions) -> Section:
    prepare, section = analysis.prepare, Section("The same in Python")
    roles = _call("Roles", id=tuple(prepare.ids), target=prepare.target, drop=tuple(prepare.left_out))
    changed = {f.name: getattr(options, f.name) for f in fields(options) if getattr(options, f.name) != f.default}
    reading = f", {_call('ReadOptions', **changed)}" if changed else ""
    q = analysis.model.n_components_
    lines = [
        "from gramian import LatentImputer, LatentOutlierDetector, PPCA, PPCAMixture",
        "from gramian.tables.preprocessing import Preprocessing, Roles",
        "from gramian.io.tables import ReadOptions, read_table",
        "",
        f"table = read_table({path!r}{reading})",
        f"prepare = Preprocessing.fit([table], {roles})",
        "X = prepare.matrix(table)                       # standardised features, NaN where missing",
        "",
        f"model = PPCA(n_components={q}, random_state=0).fit(X)",
        "latent = model.transform(X)",
        f"imputer = LatentImputer(PPCA({q}), standardize=False).fit(X)",
        "full, std = imputer.impute(X, return_std=True)",
        "columns = prepare.columns(full)                 # back in the units of the table",
        "odd = model.anomaly(X, level=0.99)              # .t2, .spe, .p_t2, .p_spe, .contributions",
    ]
    lines.append("flags = LatentOutlierDetector(contamination=0.01, standardize=False).fit_predict(X) < 0")
    if analysis.clusters is not None:
        lines += ['mixture = PPCAMixture(n_clusters="auto", random_state=0).fit(X)', "clusters = mixture.predict(X)"]
    return section.add(Code("\n".join(lines)))


def _call(name: str, **arguments: Any) -> str:
    """A call as Python text, without what is empty."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if value not in (None, (), frozenset()))
    return f"{name}({given})"
