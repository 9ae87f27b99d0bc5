"""write_report: analyse a table and write the page about it; write_model_report: the page of a fitted model alone."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

from gramian.io.table import ReadOptions
from gramian.io.table_model import TableModel
from gramian.reporting import fitted_section, model_sections, row_sections, table_sections
from gramian.reporting.analysis import Analysis, analyse
from gramian.reporting.blocks import Code, Section
from gramian.reporting.fitted_section import of_model
from gramian.reporting.glance import glance
from gramian.reporting.page import check_extras, render, save_page
from gramian.reporting.table_sections import size_words
from gramian.tables.codes import codes_as_missing
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuse names of other formats: the page is HTML."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix in (".pdf", ".docx", ".doc", ".odt", ".png", ".md", ".ipynb", ".pptx"):
        raise ValueError(
            f"{os.fspath(path)}: the report is an HTML page. Give a name that ends in .html; a browser prints it to {suffix[1:].upper()}."
            if suffix == ".pdf"
            else f"{os.fspath(path)}: the report is an HTML page. Give a name that ends in .html."
        )


def write_report(
    path: str | os.PathLike[str],
    table: Table,
    prepare: Preprocessing | None = None,
    *,
    title: str = "Report",
    n_components: Any = None,
    random_state: int = 0,
    options: ReadOptions | None = None,
    model: TableModel | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Write one self-contained HTML page about a table: its columns, its holes, its structure, its odd rows, its clusters.

    Parameters
    ----------
    path : str or path
        File to write, ``-`` for standard output.
    table : Table
        As `gramian.io.tables.read_table` gives it.
    prepare : Preprocessing, optional
        What the columns are; found out when None.
    title : str
        Heading of the page; also the file name in the Python that reproduces it.
    n_components : int, float, "mle", "bic" or None
        Latent dimension; None is the one that held-out rows, or hidden cells, prefer.
    random_state : int
    options : ReadOptions, optional
        How the table was read, for the Python that reproduces the page.
    model : TableModel, optional
        A fitted model, as ``gramian fit`` saves it: what it says of the table is a section of its own, and a linear one is
        taken in place of one fitted to the table.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    dict
        Numbers of the report for machines.

    References
    ----------
    docs/command_line.md: the same page by `gramian report`.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> import numpy as np
    >>> from gramian.io import read_table, write_table
    >>> from gramian.reporting import write_report
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "table.csv")
    ...     write_table(file, ["a", "b", "c"], list(rng.normal(size=(3, 30))))
    ...     facts = write_report(os.path.join(folder, "report.html"), read_table(file))
    ...
    >>> facts["bytes"] > 10_000
    True
    """
    check_name(path)
    how: dict[str, Any] = {
        "n_components": n_components,
        "random_state": random_state,
        "options": options,
        "verbose": verbose,
    }
    html, facts = table_page(table, prepare, title=title, model=model, **how)
    return {"bytes": save_page(path, html), **facts}


def table_page(
    table: Table,
    prepare: Preprocessing | None = None,
    *,
    title: str = "Report",
    n_components: Any = None,
    random_state: int = 0,
    options: ReadOptions | None = None,
    model: TableModel | None = None,
    verbose: int = 0,
) -> tuple[str, dict[str, Any]]:
    """The page about a table as text, and its numbers for machines; as :func:`write_report` writes it."""
    check_extras()
    if model is not None:
        prepare = model.preprocessing
    if prepare is None:
        table, codes = codes_as_missing(table)
        prepare = replace(Preprocessing.fit([table]), codes=codes)
    analysis = analyse(
        table, prepare, n_components=n_components, random_state=random_state, fitted=model, verbose=verbose
    )
    source = table.source.name if table.source is not None else title
    lead = f"A report on {size_words(analysis)} by probabilistic PCA. Point at a mark for its name; click a heading to sort."
    return render(title, lead, sections_of(analysis, source, options)), {
        "rows": table.n_rows,
        "columns": len(prepare.names),
        "missing": int(analysis.holes.any(axis=1).sum()),
        "n_components": int(analysis.model.n_components_),
        "flagged": int(analysis.flags.sum()),
        "clusters": None if analysis.clusters is None else len(analysis.clusters.model.weights_),
        "coverage": None if analysis.held_out is None else analysis.held_out.coverage,
        "structure": analysis.strength,
    }


def write_model_report(path: str | os.PathLike[str], model: TableModel, *, title: str = "Report") -> dict[str, Any]:
    """Write the page of a fitted model: what it is, how good it is, its columns.

    Parameters
    ----------
    path : str or path
    model : TableModel
        As ``gramian.load`` gives it of a file that ``gramian fit`` wrote.
    title : str

    Returns
    -------
    dict
        Numbers of the report for machines.

    References
    ----------
    docs/command_line.md: the same page by `gramian report`.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> import numpy as np
    >>> from click.testing import CliRunner
    >>> from gramian import load
    >>> from gramian.cli import main
    >>> from gramian.io import write_table
    >>> from gramian.reporting import write_model_report
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, model, page = (os.path.join(folder, name) for name in ("a.csv", "a.safetensors", "a.html"))
    ...     write_table(table, ["a", "b", "c"], list(rng.normal(size=(3, 30))))
    ...     _ = CliRunner().invoke(main, ["fit", table, "-m", model, "--quiet"])
    ...     facts = write_model_report(page, load(model))
    ...
    >>> facts["bytes"] > 5_000
    True
    """
    check_name(path)
    html, facts = model_page(model, title=title)
    return {"bytes": save_page(path, html), **facts}


def model_page(model: TableModel, *, title: str = "Report") -> tuple[str, dict[str, Any]]:
    """The page of a fitted model as text, and its numbers for machines."""
    check_extras()
    html = render(title, f"A report on a fitted model of kind {model.kind}.", of_model(model))
    return html, {"kind": model.kind, "columns": len(model.preprocessing.names)}


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
