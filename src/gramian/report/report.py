"""write_report: analyse a table and write the page about it."""

from __future__ import annotations

import os
from typing import Any

from gramian.io.preprocessing import Preprocessing
from gramian.io.table import ReadOptions, Table
from gramian.report.analysis import analyse
from gramian.report.page import check_extras, write_page
from gramian.report.sections import sections_of


def write_report(
    path: str | os.PathLike[str],
    table: Table,
    prepare: Preprocessing | None = None,
    *,
    title: str = "Report",
    n_components: Any = None,
    random_state: int = 0,
    options: ReadOptions | None = None,
) -> dict[str, Any]:
    """Write one self-contained HTML page about a table: its holes, its structure, its odd rows, its clusters.

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
        Latent dimension; None is the one with the smallest BIC.
    random_state : int
    options : ReadOptions, optional
        How the table was read, for the Python that reproduces the page.

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
    >>> from gramian.report import write_report
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "table.csv")
    ...     write_table(file, ["a", "b", "c"], list(rng.normal(size=(3, 30))))
    ...     facts = write_report(os.path.join(folder, "report.html"), read_table(file))
    ...
    >>> facts["bytes"] > 10_000
    True
    """
    check_extras()
    prepare = prepare if prepare is not None else Preprocessing.fit([table])
    analysis = analyse(table, prepare, n_components=n_components, random_state=random_state)
    source = table.source.name if table.source is not None else title
    lead = f"A report on {table.n_rows} rows and {len(table.names)} columns by probabilistic PCA."
    size = write_page(path, title, lead, sections_of(analysis, source, options))
    return {
        "bytes": size,
        "rows": table.n_rows,
        "columns": len(prepare.names),
        "missing": int(analysis.holes.any(axis=1).sum()),
        "n_components": int(analysis.model.n_components_),
        "flagged": int(analysis.flags.sum()),
        "clusters": None if analysis.clusters is None else len(analysis.clusters.model.weights_),
        "coverage": None if analysis.held_out is None else analysis.held_out.coverage,
    }
