"""The work of ``gramian reproduce``: run the claims, say each in one line, write pictures, tables and the page."""

from __future__ import annotations

import csv
import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from gramian import __version__
from gramian.cli._session import Session, jsonable
from gramian.io.atomic import atomic_path
from gramian.papers import NOT_REPRODUCED, PAPERS, Claim, Result, choose_claims
from gramian.papers import Grid as Table
from gramian.papers._claim import UNEXPECTED
from gramian.reporting.blocks import Facts, Grid, Note, Picture, Section, Text
from gramian.reporting.page import check_extras, write_page
from gramian.reporting.pictures import figure_uri

PAGE, SUMMARY = "papers.html", "papers.json"
DPI = 110
DATA_PAGE = "docs/data.md"
PAPER_NAMES = {
    "DP": "De Plaen & Suykens: A Dual Formulation for Probabilistic PCA",
    "MM": "Montemurri & Mhedhbi: probabilistic PCA, mixtures and kernels",
    "ZH": "Zhou: probabilistic kernel PCA, mixtures and classification",
    "AC": "Achten et al.: Duality in Multi-View Restricted Kernel Machines",
}
LEAD = (
    "Figures, tables and misprints of the four source papers: what is printed, what comes out here, and a verdict. Every number "
    "was computed just now, from fixed seeds."
)


@dataclass(frozen=True)
class Outcome:
    """A claim that was run."""

    claim: Claim
    result: Result
    seconds: float

    @property
    def expected(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.claim.as_expected(self.result)

    @property
    def verdict(self) -> str:
        """For people."""
        words = self.result.verdict
        if self.result.stand_in:
            words += f" [stand-in: {self.result.stand_in}]"
        return words if self.expected else f"{words} (expected: {self.claim.expected})"


def list_claims(names: Sequence[str], *, as_json: bool = False) -> None:
    """Names, one per line, with what they show and the files they need."""
    claims = choose_claims(names)
    if as_json:
        facts = [
            {"name": c.name, "paper": c.paper, "title": c.title, "printed": c.printed, "files": c.files} for c in claims
        ]
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    width = max(len(claim.name) for claim in claims)
    for claim in claims:
        needs = f"  [{'wants' if claim.stand_in else 'needs'} {', '.join(claim.files)}]" if claim.files else ""
        click.echo(f"{claim.name:<{width}}  {claim.title}{needs}")


def run(
    names: Sequence[str],
    output: str,
    *,
    full: bool = False,
    force: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Run the claims and write everything; 0 if every claim was run and every verdict is as expected, else 1."""
    claims = choose_claims(names)
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{output}: this is a file. Give the name of a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(f"{output}: the folder has files. Pass --force to write into it.")
    check_extras()
    folder.mkdir(parents=True, exist_ok=True)
    session = Session(as_json=as_json, quiet=quiet)
    talks = not (as_json or quiet)
    outcomes, sections = [], []
    for claim in claims:
        outcome = outcome_of(claim, full)
        outcomes.append(outcome)
        sections.append(_section(outcome, folder))
        if talks:
            click.echo(f"  {claim.name:<28} {outcome.verdict}: {outcome.result.ours or outcome.result.words}")
    seconds = sum(outcome.seconds for outcome in outcomes)
    whole = len(claims) == len(PAPERS)
    write_page(
        folder / PAGE,
        "The source papers, claim by claim",
        LEAD,
        [_summary(outcomes, seconds), *sections, *_left_out(whole)],
    )
    facts = {
        "version": __version__,
        "full": full,
        "as expected": all(outcome.expected for outcome in outcomes),
        "cpu seconds": round(seconds, 1),
        "claims": {o.claim.name: _facts(o) for o in outcomes},
    }
    with atomic_path(folder / SUMMARY) as temporary:
        temporary.write_text(json.dumps(jsonable(facts), ensure_ascii=False, indent=1), encoding="utf-8")
    odd = [o.claim.name for o in outcomes if not o.expected and o.result.ran]
    missing = [o for o in outcomes if not o.result.ran]
    lines = [f"{len(outcomes) - len(odd) - len(missing)} of {len(outcomes)} verdicts as expected"]
    lines += [f"not as expected: {', '.join(odd)}"] if odd else []
    lines += [f"{o.claim.name}: {o.result.verdict}. {o.result.words}" for o in missing]
    lines += [f"{o.claim.name}: run on a stand-in, {o.result.stand_in}" for o in outcomes if o.result.stand_in]
    if any(o.claim.files and (not o.result.ran or o.result.stand_in) for o in outcomes):
        lines.append(f"the page {DATA_PAGE} says how to make the data files, and where to put them")
    session.say({**facts, "page": str(folder / PAGE)}, [*lines, f"page: {folder / PAGE}"])
    return 1 if odd or missing else 0


def outcome_of(claim: Claim, full: bool = False) -> Outcome:
    """Run a claim; an error of its own is a verdict too."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the papers' settings are often ones that the library warns about
        try:
            result = claim.reproduce(full)
        except Exception as error:
            result = Result(
                "", UNEXPECTED, f"{type(error).__name__}: {error}"
            )  # the rest goes on, and the exit code tells
    return Outcome(claim, result, time.process_time() - begun)


def _facts(outcome: Outcome) -> dict[str, Any]:
    claim, result = outcome.claim, outcome.result
    return {
        "paper": claim.paper,
        "printed": claim.printed,
        "ours": result.ours,
        "spread": result.spread,
        "verdict": result.verdict,
        "expected": claim.expected,
        "stand-in": result.stand_in,
        "words": result.words,
        "numbers": result.numbers,
        "cpu seconds": round(outcome.seconds, 2),
    }


# ---------------------------------------------------------------- the page


def _summary(outcomes: Sequence[Outcome], seconds: float) -> Section:
    rows = [(o.claim.name, o.claim.printed, o.result.ours or "–", o.verdict) for o in outcomes]
    ran = [o for o in outcomes if o.result.ran]
    items = [
        (f"{sum(o.expected for o in ran)} of {len(outcomes)}", "verdicts as expected"),
        (str(len(outcomes) - len(ran)), "not run: a file or an extra is missing"),
        (str(sum(bool(o.result.stand_in) for o in ran)), "run on a stand-in for a file that is missing"),
        (f"{seconds:.0f} s", "CPU time"),
    ]
    words = (
        "Verdicts. Holds: the paper's number or identity comes out. Holds in shape: order and size come out; the exact numbers "
        "cannot, because the paper does not give its data or settings. Misprint confirmed: the printed formula fails "
        "and the corrected one holds. Differs from print: something else comes out, and the section says what."
    )
    return Section("Verdicts", [Facts(items), Text(words), Grid(["name", "printed", "ours", "verdict"], rows)])


def _section(outcome: Outcome, folder: Path) -> Section:
    claim, result = outcome.claim, outcome.result
    section = Section(f"{claim.name}: {claim.title}")
    lines = [
        ("paper", PAPER_NAMES[claim.paper]),
        ("printed", claim.printed),
        ("ours", result.ours),
        ("spread", result.spread),
    ]
    section.add(Grid(["", ""], [(key, text) for key, text in [*lines, ("verdict", outcome.verdict)] if text]))
    if result.words:
        section.add(Text(result.words) if result.ran else Note(result.words))
    if result.stand_in:
        section.add(Note(f"Not the paper's data: {result.stand_in}. {DATA_PAGE} says how to make the file."))
    if result.grid is not None:
        _write_table(folder / f"{claim.name}.csv", result.grid)
        section.add(Grid(result.grid.header, result.grid.rows))
    if result.draw is not None:
        section.add(_picture(result, folder / f"{claim.name}.png", claim.title))
    return section


def _picture(result: Result, path: Path, title: str) -> Picture:
    assert result.draw is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = np.ravel(result.draw())[0].figure
        with atomic_path(path) as temporary:
            figure.savefig(temporary, dpi=DPI, format="png")
        return Picture(figure_uri(figure, vector=False), title, "", True)


def _write_table(path: Path, table: Table) -> None:
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.header)
        writer.writerows(table.rows)


def _left_out(whole: bool) -> list[Section]:
    if not (whole and NOT_REPRODUCED):
        return []
    return [Section("Not reproduced here", [Grid(["what", "why"], NOT_REPRODUCED)])]
