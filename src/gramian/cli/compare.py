"""gramian compare: which imputer fills this table best."""

from __future__ import annotations

from typing import Any

import click

from gramian.cli._options import Grouped, common_options


@click.command(cls=Grouped, short_help="Which imputer fills this table best.")
@click.argument("table", metavar="TABLE")
@click.option("-o", "--output", metavar="OUT.html", help="Also write a page with a picture.")
@click.option("--force", is_flag=True, help="Overwrite the page.")
@common_options
def compare(table: str, output: str | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Hide cells of a table, let several imputers fill them, and say how well each does: error, interval score, processor time.

    \b
    gramian compare table.csv -o which.html
    """
    from gramian.cli._session import Session, check_output, place
    from gramian.estimators.comparison import compare_imputers
    from gramian.io.tables import read_table
    from gramian.tables.codes import codes_as_missing

    check_output(output, force, table=False)
    session = Session(as_json=as_json, quiet=quiet, outputs=[output])
    whole, _ = codes_as_missing(read_table(table), how="write it as another number")
    session.note(*whole.notes)
    found = compare_imputers(dict(zip(whole.names, whole.columns)))
    rows = [{name: _plain(found[name][k]) for name in found} for k in range(len(found["imputer"]))]
    lines = [f"{'imputer':18}{'error':>8}{'interval':>10}{'wrong':>8}{'CPU s':>8}"]
    for row in rows:
        wrong = "-" if row["wrong"] is None else f"{row['wrong']:.0%}"
        numbers = [row["error"], row["interval_score"]]
        cells = "".join(
            "       -" if value is None else f"{value:{width}.3f}" for value, width in zip(numbers, (8, 10))
        )
        lines.append(f"{row['imputer']:18}{cells}{wrong:>8}{row['cpu']:>8.2f}")
    lines.append("errors of hidden numbers, in deviations of their columns; 90 % intervals; smaller is better")
    if output is not None:
        _write_page(output, table, rows)
        lines.append(f"page -> {place(output)}")
    session.say({"imputers": rows, "output": output}, lines)


def _plain(value: Any) -> Any:
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and number != number else number


def _write_page(output: str, table: str, rows: list[dict[str, Any]]) -> None:
    """One page without scripts: a bar per imputer, and the numbers."""
    from html import escape
    from pathlib import Path

    from gramian.reporting.page import save_page

    largest = max((row["error"] or 0.0) for row in rows) or 1.0
    bars = "".join(
        f"<tr><th>{escape(row['imputer'])}</th><td><svg width='240' height='14' role='img' aria-label='{_show(row['error'])}'>"
        f"<rect width='{240 * (row['error'] or 0.0) / largest:.0f}' height='14' fill='{'#1b6ca8' if row['imputer'] == 'LatentImputer' else '#9aa5b1'}'/></svg></td>"
        + "".join(f"<td>{_show(row[name])}</td>" for name in ("error", "interval_score", "wrong", "cpu"))
        + "</tr>"
        for row in rows
    )
    page = (
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>Imputers on {escape(Path(table).name)}</title>"
        "<style>body{font:16px system-ui;margin:2em;max-width:60em}table{border-collapse:collapse}th,td{padding:.3em .8em;text-align:right}"
        "th:first-child{text-align:left}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>"
        f"<h1>Which imputer for {escape(Path(table).name)}?</h1><p>A tenth of the observed cells was hidden, three times, and filled by each. Errors of numbers are in "
        "deviations of their columns; intervals are of 90 %; smaller is better; best first.</p>"
        f"<table><tr><th>imputer</th><th></th><th>error</th><th>interval score</th><th>wrong categories</th><th>CPU s</th></tr>{bars}</table></html>"
    )
    save_page(output, page)


def _show(value: Any) -> str:
    return "-" if value is None else f"{value:.3g}"
