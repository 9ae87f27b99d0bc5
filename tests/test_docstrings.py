"""Complete numpydoc: what is public and takes arguments says its parameters, what it returns, where the formula is, and shows an example.

The examples are run with the modules that hold them (``--doctest-modules``). What a class overrides is written once, in the class that
says what every one of its kind offers.
"""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
try:
    import make_reference
finally:
    sys.path.pop(0)

SECTIONS = ("Parameters", "Returns", "Examples")
DELEGATED = ("Parameters", "Returns")
"""What BayesSearch hands to its best model: the example and the formula are that model's."""
NO_EXAMPLE = {"gramian.datasets.load_ida"}
"""Needs files that are not part of the package."""


def takes_arguments(function):
    return bool([name for name in inspect.signature(function).parameters if name not in ("self", "cls")])


def documented():
    """(name, function, texts of its docstring and of those it overrides, sections that are asked for)."""
    for module in make_reference.SECTIONS:
        for full in make_reference.public_names(module):
            made = getattr(import_module(module), full.rpartition(".")[2])
            if isinstance(made, type):
                for method, kind in make_reference.own_methods(full):
                    if kind == "automethod" and takes_arguments(getattr(made, method)):
                        texts = [
                            inspect.getdoc(vars(base)[method]) or "" for base in made.__mro__ if method in vars(base)
                        ]
                        code = getattr(inspect.unwrap(getattr(made, method)), "__code__", None)
                        delegated = code is not None and code.co_name == "call" and made.__name__ == "BayesSearch"
                        yield f"{full}.{method}", getattr(made, method), texts, DELEGATED if delegated else SECTIONS
            elif callable(made) and takes_arguments(made):
                yield full, made, [inspect.getdoc(made) or ""], SECTIONS


DOCUMENTED = list(documented())


def has(text, section):
    return re.search(rf"^{section}\n-{{{len(section)}}}$", text, flags=re.MULTILINE) is not None


def test_several_hundred_methods_and_functions_are_looked_at():
    assert len(DOCUMENTED) > 400


@pytest.mark.parametrize("section", SECTIONS)
def test_every_public_method_that_takes_arguments_has_the_section(section):
    missing = [
        name
        for name, _, texts, asked in DOCUMENTED
        if section in asked
        and not (section == "Examples" and name in NO_EXAMPLE)
        and not any(has(text, section) for text in texts)
    ]
    assert not missing


def test_every_public_method_says_where_its_formula_is():
    """By the number of a section of the theory page, from which the site makes the references, or by a section References."""
    missing = [
        name
        for name, _, texts, asked in DOCUMENTED
        if asked == SECTIONS
        and not any(has(text, "References") or re.search(r"\[\d+(, ?\d+)*\]", text) for text in texts)
    ]
    assert not missing


def test_every_parameter_is_named_and_no_other():
    wrong = []
    for name, function, texts, _ in DOCUMENTED:
        text = next((text for text in texts if has(text, "Parameters")), None)
        if text is None or "*args" in text:
            continue
        part = re.split(r"^\w[\w ]*\n-{3,}$", text.split("Parameters\n----------\n", 1)[1], flags=re.MULTILINE)[0]
        lines = [line.split(" : ")[0] for line in part.splitlines() if line and not line.startswith(" ")]
        named = {word.strip().lstrip("*") for line in lines for word in line.split(",")}
        taken = set(inspect.signature(function).parameters) - {"self", "cls"}
        if named != taken:
            wrong.append((name, sorted(named ^ taken)))
    assert not wrong
