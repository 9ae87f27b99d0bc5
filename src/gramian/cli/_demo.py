"""The demo: each step is run, said in one line, and written into the page."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import click

from gramian import __version__
from gramian.cli._demo_steps import STEPS as DIGITS
from gramian.cli._demo_table import table
from gramian.cli._session import Session
from gramian.reporting.blocks import Facts, Section, Text
from gramian.reporting.page import check_extras, write_page

STEPS = {"a real table": table, **DIGITS}
PAGE = "report.html"
LEAD = (
    "What the library does, on a table of penguins, handwritten digits of scikit-learn and made data. Every number and picture was "
    "computed just now."
)


def run(output: str, *, force: bool = False, as_json: bool = False, quiet: bool = False) -> Path:
    """Run all steps and write the page; the page's path is the last thing said."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{output}: this is a file. Give the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(f"{output}: the folder has files. Pass --force to write into it.")
    check_extras(pictures=True)
    session = Session(as_json=as_json, quiet=quiet)
    talks = not (as_json or quiet)
    if talks:
        click.echo(f"gramian {__version__}: the demo, about a minute")
    begun = time.perf_counter()
    sections: list[Section] = []
    facts: dict[str, dict[str, float]] = {}
    for name, step in STEPS.items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # short runs on small data may stop early; the page shows how good they are
            result = step()
        seconds = time.perf_counter() - started
        sections.append(result.section)
        facts[name] = {**result.numbers, "seconds": round(seconds, 2)}
        if talks:
            click.echo(f"  {name:<15} {result.line}  [{seconds:.1f} s]")
    total = time.perf_counter() - begun
    sections.insert(0, _summary(facts, total))
    folder.mkdir(parents=True, exist_ok=True)
    write_page(folder / PAGE, "gramian: what it does", LEAD, sections)
    session.say({**facts, "seconds": round(total, 1), "report": str(folder / PAGE)}, [f"report: {folder / PAGE}"])
    return folder / PAGE


def _summary(facts: dict[str, dict[str, float]], total: float) -> Section:
    """The numbers worth reading first."""
    items = [
        (
            f"{100 * facts['a real table']['coverage']:.0f} %",
            "of hidden cells of penguins inside intervals that promise 90 %",
        ),
        (f"{100 * facts['classifier']['accuracy']:.1f} %", "of unseen digits classified right"),
        (f"{facts['primal = dual']['largest difference']:.0e}", "largest difference between primal and dual"),
        (f"{total:.0f} s", "for everything on this page"),
    ]
    words = (
        "One Gaussian with few latent dimensions, seen from two sides. In primal it works on columns and "
        "takes rows with holes as they are; in dual "
        "it works on kernels and so on curved structure. Mixtures, classes, views and forecasts are the "
        "same model with more "
        "than one part, or with a part not seen."
    )
    return Section("In short", [Text(words), Facts(items)])
