"""Docstrings are read in terminals first: what they write plainly (``classes_``, ``|x|``, ``[2]``) is made ready for the site."""

from __future__ import annotations

import re
from typing import Any

LITERAL = re.compile(r"(``.*?``|:\w+:`[^`]*`|`[^`]*`_?)")
TRAILING = re.compile(r"(?<=\w)_(?!\w)")  # classes_ would be a link to "classes"
BARS = re.compile(r"(?<!\\)\|")  # |x| would be a substitution
CITED = re.compile(r"(?<![\w\])\"'])\[(\d+(?:, ?\d+)*)\](?!\()")  # [2, 5]: sections of the theory page


def escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite, in place, the prose of a docstring; literals, examples with their output, and directives stay as they are."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not line.lstrip().startswith(".. "):
            lines[place] = plain(line)


def refer(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add, in place, the section References of a docstring that cites sections of the theory page and has none."""
    if what not in ("method", "function") or any(line.strip() == "References" for line in lines):
        return
    end = next((place for place, line in enumerate(lines) if line.lstrip().startswith(">>>")), len(lines))
    cited = [number for found in CITED.findall("\n".join(lines[:end])) for number in re.findall(r"[0-9]+", found)]
    place = next((place for place, line in enumerate(lines) if line.strip() == "Examples"), len(lines))
    if cited:
        titles = [f"[{number}] docs/theory.md, section {number}" for number in dict.fromkeys(cited)]
        lines[place:place] = ["", "References", "----------", "; ".join(titles) + ".", ""]


def plain(line: str) -> str:
    """One line of prose."""
    return "".join(part if LITERAL.fullmatch(part) else prose(part) for part in LITERAL.split(line))


def prose(text: str) -> str:
    """Text without literals: marks escaped, sections of the theory page linked."""
    text = BARS.sub(r"\|", TRAILING.sub(r"\_", text))
    text = text.replace("docs/theory.md", ":doc:`docs/theory.md </theory>`")
    return CITED.sub(lambda found: f"[{re.sub(r'[0-9]+', section_link, found[1])}]", text)


def section_link(number: re.Match[str]) -> str:
    """A link to a section of the theory page."""
    return f":ref:`{number[0]} <theory-{int(number[0])}>`"


def label_sections(app: Any, doctree: Any) -> None:
    """Give the numbered sections of the theory page the labels that `section_link` points to."""
    if app.env.docname != "theory":
        return
    from docutils import nodes

    domain = app.env.get_domain("std")
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title).astext()
        if number := re.match(r"(\d+)\. ", title):
            label = f"theory-{number[1]}"
            domain.labels[label] = ("theory", section["ids"][0], title)
            domain.anonlabels[label] = ("theory", section["ids"][0])
