"""Write docs/command_line.md: every sub-command run on real files, what was typed and what came out.

Run as ``GRAMIAN_DATA=... python docs/make_transcripts.py``; the tables are exported to CSV from the folder named by
GRAMIAN_DATA.
With ``--check`` nothing is written, and the exit code says whether the page is up to date.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import fill

import numpy as np

from gramian.datasets import data_file
from gramian.io.tables import write_table
from gramian.io.text_table import Dialect

PAGE = Path(__file__).parent / "command_line.md"
SHOWN_LINES, SHOWN_WIDTH = 14, 118


def texts(values: object) -> np.ndarray:
    column = np.empty(len(values), dtype=object)  # type: ignore[arg-type]
    column[:] = [str(value) for value in values]  # type: ignore[attr-defined]
    return column


def export_tables(folder: Path) -> None:
    """The real tables of the transcripts, as a colleague would send them."""
    wine = np.load(data_file("wine.npz"))
    names = [str(name) for name in wine["names"]]
    cultivar = texts([f"cultivar {label + 1}" for label in wine["y"]])
    write_table(folder / "wine.csv", [*names, "class"], [*wine["x"].T, cultivar])
    write_table(folder / "new_wine.csv", names, list(wine["x"][::9].T))

    export_tasting(folder / "tasting.csv", wine["x"], names, wine["y"])

    leaves = np.load(data_file("metabolite.npz"))
    columns = [f"sample {name}" for name in leaves["column_names"]]
    columns = [f"{name} ({i})" for i, name in enumerate(columns, start=1)]
    write_table(
        folder / "metabolites.csv",
        ["metabolite", *columns],
        [texts(leaves["row_names"]), *leaves["incomplete"].T],
        dialect=Dialect(";", ","),
        digits=6,
    )

    sun = np.load(data_file("sunspots_yearly.npz"))
    write_table(folder / "sunspots.csv", ["year", "sunspots"], [sun["year"].astype(float), sun["sunactivity"]])

    digits = np.load(data_file("mfeat.npz"))
    rows = slice(None, None, 5)
    views = {"mor": digits["mor"][rows], "zer": digits["zer"][rows, :20]}
    labels = [f"{view}{j}" for view, block in views.items() for j in range(1, block.shape[1] + 1)]
    write_table(
        folder / "numerals.csv", labels, [column for block in views.values() for column in block.T.astype(float)]
    )

    banana = np.load(data_file("ida_banana.npz"))
    first = banana["official_train"][0]
    shape = texts(np.where(banana["t"][first] > 0, "outer", "inner"))
    write_table(folder / "banana.csv", ["x", "y", "part"], [*banana["x"][first].T, shape])
    rest = banana["official_test"][0][:1000]
    truth = texts(np.where(banana["t"][rest] > 0, "outer", "inner"))
    write_table(folder / "more_banana.csv", ["x", "y", "part"], [*banana["x"][rest].T, truth])


def export_tasting(path: Path, X: np.ndarray, names: list[str], classes: np.ndarray) -> None:
    """Wines as an office writes them: a banner, units, percents, thousands, dates, remarks, holes and a total."""
    column = {name: X[:, j] for j, name in enumerate(names)}
    rng = np.random.default_rng(0)
    rows = []
    for i in range(len(X)):
        alcohol = f"{column['alcohol'][i]:.2f} %".replace(".", ",")
        proline = f"{column['proline'][i]:,.0f}".replace(",", ".")
        cells = [
            f"{1 + i % 28}/{1 + i // 28}/2024",
            alcohol,
            f"{column['hue'][i]:.2f}".replace(".", ","),
            proline,
            f"{column['flavanoids'][i]:.2f}".replace(".", ","),
            ["Barolo", "Grignolino", "Barbera"][classes[i]],
        ]
        cells = [cells[0], *("" if rng.random() < 0.08 else cell for cell in cells[1:])]
        rows.append([*cells, "tasted twice, by two of us" if i % 40 == 3 else ""])
    total = ["Total", "", "", f"{column['proline'].sum():,.0f}".replace(",", "."), "", "", ""]
    head = ["Tasting of spring 2024", "", "day;alcohol;hue;proline;flavanoids;wine;remark", ";%;;mg/l;mg/l;;"]
    lines = [*head, *(";".join(row) for row in [*rows, total])]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


STEPS: list[tuple[str, str, list[str]]] = [
    (
        "Fill holes: `impute`",
        "A table of 154 metabolites in 52 samples, as a spreadsheet in a country with decimal commas writes "
        "it. Delimiter and decimal mark "
        "are found out, the column of names is carried along, and what was observed is copied to the last character. In a table with "
        "a clock (dates, months, years at even steps) the gaps of a column are filled from the values before and after them, unless "
        "hidden cells are nearer to what the other columns say; a note says which.",
        [
            "head -3 metabolites.csv | cut -c1-110",
            "gramian impute metabolites.csv -o full.csv --std uncertainty.csv",
            "head -3 full.csv | cut -c1-110",
        ],
    ),
    (
        "Files as people have them",
        "Workbooks (`--sheet NAME`), CSV packed with gzip or zstd, banner lines (`--skip N` where they are not clear), comments, "
        "`sep=;`, percents, money, thousands, accounting negatives, a row of units, totals (left out; `--keep-totals`), dates, free text: read "
        "as they are, and one line says what was read. Categories are filled with the most probable value; `--std` gives the "
        "probabilities. Free text is never invented. What was observed is copied to the last character, and what is filled wears "
        "what its column wears.",
        [
            "head -6 tasting.csv",
            "tail -1 tasting.csv",
            "gramian impute tasting.csv --drop-totals -o tasting_full.csv --std how_sure.csv",
            "head -5 tasting_full.csv",
            "head -4 how_sure.csv | cut -c1-110",
            "gzip -k tasting.csv; gramian fit tasting.csv.gz -m tasting.model --drop-totals",
        ],
    ),
    (
        "Which imputer for my table? `compare`",
        "Cells of the table itself are hidden and filled by the mean, the median, nearest rows, scikit-learn's iterative imputer, forests and ours: error over the "
        "mean's, interval score and CPU, also where we lose.",
        ["gramian compare new_wine.csv"],
    ),
    (
        "Fit a model: `fit` and `info`",
        "A model file is data, not code: see [model_files.md](model_files.md). Columns are standardised on "
        "the way in and restored on the way out. "
        "Categories become contrasts, with a note; here the class is left out of the model.",
        ["gramian fit wine.csv -m wine.model --drop class", "gramian info wine.model"],
    ),
    (
        "Latent coordinates: `transform`",
        "",
        ["gramian transform wine.model new_wine.csv -o - | sed -n 1,4p | cut -c1-110"],
    ),
    (
        "Odd rows: `score`",
        "Log-likelihood, T² (distance along the model), SPE (distance off it), their chances, a flag, and "
        "for flagged rows the columns responsible.",
        [
            "gramian score wine.model wine.csv -o scores.csv --level 0.95",
            "grep -n ',1,' scores.csv | head -3 | cut -c1-150",
        ],
    ),
    ("New rows: `sample`", "", ["gramian sample wine.model -n 3 -o - --digits 4 | cut -c1-110"]),
    (
        "Classes: `fit --model classifier` and `predict`",
        "`fit` says how good the model is on rows that models like it have not seen (`--no-check` leaves that out): accuracy beside "
        "that of the commonest class, log-loss, and how often the smallest set of classes of probability 0.9 holds the true one. "
        "Where the truth is in the table, `predict` compares.",
        [
            "gramian fit banana.csv -m banana.model --model classifier --target part --length-scale 0.5",
            "gramian predict banana.model more_banana.csv -o parts.csv",
            "head -3 parts.csv",
        ],
    ),
    (
        "Values: `fit --model regressor` and `predict`",
        "Predictions have intervals (`--level`).",
        [
            "gramian fit wine.csv -m proline.model --model regressor --target proline --drop class",
            "gramian predict proline.model wine.csv -o proline.csv --level 0.8",
            "head -3 proline.csv",
        ],
    ),
    (
        "Clusters: `fit --model mixture` and `predict`",
        "The number of clusters is chosen on held-out rows unless `--clusters` gives it. A mixture does not use `--target`, but "
        "its clusters are compared with it: the adjusted Rand index is 1 where they are the same groups, 0 by chance.",
        [
            "gramian fit wine.csv -m clusters.model --model mixture --target class",
            "gramian predict clusters.model wine.csv -o clusters.csv",
        ],
    ),
    (
        "A missing view: `fit --model views` and `predict --view`",
        "Six morphological and twenty Zernike features of handwritten numerals. The second view is "
        "predicted from the first.",
        [
            "gramian fit numerals.csv -m views.model --model views --views mor=1-6,zer=7-26 --components 5",
            "gramian predict views.model numerals.csv -o zernike.csv --view zer --level 0.9",
            "head -2 zernike.csv | cut -c1-110",
        ],
    ),
    (
        "Forecasts: `forecast`",
        "The column of years is recognised as the clock and goes on. So are dates and times in the forms that people use (`2024-01-31`, "
        "`31.01.24`, `1/31/2024`, `Jan 2024`, `Q1/2024`, `1Q24`, `2024-W05`, `14:30`), written on as the column writes them; a model of "
        "`fit --model forecast` keeps its clock. Dates at uneven steps are no clock, which is said.",
        ["gramian forecast sunspots.csv --steps 11 --lags 24 -o next.csv --level 0.9", "head -4 next.csv"],
    ),
    (
        "Search for settings: `tune`",
        "Bayesian optimisation of the settings on held-out rows.",
        ["gramian tune banana.csv -m tuned.model --model classifier --target part --trials 12"],
    ),
    (
        "A page about a table: `report`",
        "One self-contained HTML file. Its first page answers: what is in the table, what is missing and where, how muc"
        "h structure there is, which rows are odd, and one number for how far its intervals can be trusted. Point at a "
        "mark for its name, click a heading to sort; it prints, works without scripts, on narrow screens, light and dar"
        "k. `-m MODEL` adds what a fitted model says of the table, and IN may be a model itself.",
        [
            "gramian report wine.csv -o wine.html --target class",
            "gramian report metabolites.csv -o metabolites.html --json",
        ],
    ),
    (
        "The papers: `reproduce`",
        "Figures, tables and errata of the source papers, each with the paper's number, ours and a verdict ([papers](papers.md)).",
        ["gramian reproduce --list | head -6 | cut -c1-110"],
    ),
    (
        "Pipes and machines",
        "`-` is standard input or output; what is said then goes to standard error. `--json` says it as one "
        "JSON object.",
        [
            "head -20 wine.csv | gramian transform wine.model - -o - -q | tail -1 | cut -c1-110",
            "gramian impute metabolites.csv -o full.csv --force --json | cut -c1-150",
        ],
    ),
    (
        "Completion: `completion`",
        "For bash, zsh and fish; the lines go where the shell reads them at its start.",
        ["gramian completion bash | head -2", "gramian completion --help | tail -12 | head -5"],
    ),
    (
        "When something is wrong",
        "Errors are one line with the file, the line and the column, and exit code 1 (2 for wrong usage, "
        "130 after Ctrl-C). Nothing is overwritten without "
        "`--force`, and a failed or interrupted run leaves no partial file. `--debug` shows the traceback.",
        [
            "gramian impute metabolites.csv -o full.csv",
            "sed '5s/^[^,]*,/n.a.,/' wine.csv > typo.csv; gramian fit typo.csv -m typo.model",
            "printf 'a,b\\n1,2\\n3,4,5\\n' | gramian fit - -m x.model",
            "gramian info wine.csv",
        ],
    ),
]

HEAD = """# The command line

`pip install gramian` brings the command `gramian`; `pip install "gramian[all]"` also what `report`, workbooks and
Parquet files need. This page is made by `docs/make_transcripts.py`, which runs every line below on real files.

Tables are CSV and TSV (packed with gzip or zstd too), Excel and .ods (read only), Parquet, NPY or NPZ, recognised by
content; outputs by their suffix. Delimiter, decimal comma, header, banner lines and encoding marks are found out;
`--delimiter`, `--decimal`, `--header/--no-header`, `--skip`, `--encoding` say otherwise, `--sheet` names a sheet (else
the first that holds a table is read). Empty cells, `NA`, `NaN`, `null`, `?` and the like are missing; so is `none` among
numbers, while among words it is one of them; `--missing TOKEN` adds to them. Codes such as -999, far
from all other numbers of a table, are missing too, which is said (`--keep -999` keeps them). Columns are
named by name or position: `--drop age,3,7-9`. `--id` names columns that are carried along, not
modelled; text with many different values is treated so by itself. Large files pass by in pieces: `transform`, `score`,
`predict` and `impute -m` always; `impute`, and `fit` of ppca, mixture, kernel, kernel-mixture, regressor and views, when the file
is large for the memory that may be used (`--memory 4GB`; by default half of what the process may use) or, for `fit`,
with `--stream`, holes too. Plain large files are parsed by pyarrow where it is installed.

Tables from strangers: a file that unpacks to more than 200 times its size (beyond 64 MB), a sheet of more than 50
million cells and a header that claims more than the file holds are refused before memory is spent on them. A result
that others open in a spreadsheet should be written with `--escape-formulas`: cells and headers that begin with `=`,
`+`, `-`, `@`, a tab or a carriage return and are no numbers get an apostrophe before them.

The same in Python: `gramian.io.read_table` reads all of these files, and `gramian.io.TablePreprocessor` is the command's
way from numbers, categories, dates and texts to what a model sees, as a scikit-learn transformer for data frames. A
column of K categories becomes K - 1 contrasts, in which all categories are equally far apart.

<!-- mixed tables -->
<!-- /mixed tables -->

```python
import numpy as np
from gramian import LatentImputer
from gramian.io import TablePreprocessor

rng = np.random.default_rng(0)
size = rng.normal(size=100)
frame = {"size": size, "mass": 2 * size + 0.3 * rng.normal(size=100), "kind": np.where(size > 0, "large", "small")}
frame["mass"][::7] = np.nan                          # a data frame of pandas or polars does as well

prepare = TablePreprocessor().fit(frame)
imputer = LatentImputer().fit(prepare.transform(frame))
full, std = imputer.impute(prepare.transform(frame), return_std=True)
filled = prepare.inverse_transform(full, like=frame) # numbers in their units, the most probable categories
chances = prepare.probabilities(full)                # of each category
```
"""


def shown(text: str) -> list[str]:
    lines = [
        line if len(line) <= SHOWN_WIDTH else line[: SHOWN_WIDTH - 1] + "…" for line in text.rstrip("\n").splitlines()
    ]
    return lines if len(lines) <= SHOWN_LINES else [*lines[: SHOWN_LINES - 1], "..."]


def transcript(commands: list[str], folder: Path) -> str:
    """What was typed and what came out, as one block."""
    block = ["```console"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONHASHSEED": "0",
    }
    for command in commands:
        ran = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            executable="/bin/bash",
        )
        block += [f"$ {command}", *shown(ran.stderr), *shown(ran.stdout)]
    return "\n".join([*block, "```"])


def page() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export_tables(folder)
        parts = [HEAD, "```console\n$ gramian\n" + "\n".join(_help(folder)) + "\n```\n"]
        for heading, words, commands in STEPS:
            print(heading, file=sys.stderr)
            parts.append(
                "\n".join(
                    filter(
                        None,
                        [
                            f"## {heading}\n",
                            f"{fill(words, 118, break_long_words=False, break_on_hyphens=False)}\n" if words else "",
                            transcript(commands, folder),
                        ],
                    )
                )
                + "\n"
            )
    return with_measured("\n".join(parts))


def with_measured(made: str) -> str:
    """The page with the figures that experiments wrote into the one that stands."""
    for block in re.findall(r"<!-- (?!/)(.*?) -->", made):
        found = re.search(rf"<!-- {block} -->\n.*?<!-- /{block} -->", PAGE.read_text(), re.DOTALL)
        if found:
            made = made.replace(f"<!-- {block} -->\n<!-- /{block} -->", found[0])
    return made


def _help(folder: Path) -> list[str]:
    command = [str(Path(sys.executable).parent / "gramian")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.rstrip().splitlines()


def _steady(text: str) -> str:
    """Without last digits, which differ between machines."""
    return re.sub(r"-?\d+\.\d+(e[+-]\d+)?", "#", text)


if __name__ == "__main__":
    made = page()
    if "--check" in sys.argv:
        sys.exit(
            0
            if _steady(made) == _steady(PAGE.read_text())
            else "docs/command_line.md is not up to date: run this script."
        )
    PAGE.write_text(made)
