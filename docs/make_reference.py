"""The lists of the reference, made from the public names: a section per module, a page per name."""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SECTIONS = {
    "gramian": "Estimators, search, model files",
    "gramian.kernels": "Kernels",
    "gramian.features": "Feature maps",
    "gramian.solvers": "Solvers",
    "gramian.preimage": "Pre-images",
    "gramian.datasets": "Data",
    "gramian.plotting": "Pictures",
    "gramian.evidence": "Choices",
    "gramian.io": "Tables from files",
    "gramian.reporting": "Reports",
    "gramian.papers": "The source papers",
    "gramian.deep": "Trained maps",
    "gramian.deep.nets": "Nets of trained maps",
    "gramian.testing": "Contracts for plug-ins",
}
if find_spec("torch") is None:
    SECTIONS = {module: title for module, title in SECTIONS.items() if not module.startswith("gramian.deep")}

ONLY = {
    "gramian.io": ("TableModel", "read_table", "write_table"),
    "gramian.deep.nets": ("MLP", "Conv"),
}
"""Of these modules only what the guides use: the rest are parts of the command line and of the training."""


def public_names(module: str) -> list[str]:
    """The full names of what a module offers, modules and numbers of versions aside."""
    home = import_module(module)
    return [
        f"{module}.{name}"
        for name in ONLY.get(module, home.__all__)
        if not name.startswith("__") and not inspect.ismodule(getattr(home, name))
    ]


def own_methods(fullname: str) -> list[tuple[str, str]]:
    """The public methods and properties of a class that this library defines, each with its directive.

    What scikit-learn adds to every estimator is left to its pages.
    """
    module, _, name = fullname.rpartition(".")
    made: Any = getattr(import_module(module), name)
    found = {
        method: value
        for base in reversed(made.__mro__)
        if base.__module__.startswith("gramian.")
        for method, value in vars(base).items()
        if not method.startswith("_") and not is_request(method) and inspect.getdoc(getattr(made, method))
    }
    kinds = {method: directive(made, method, value) for method, value in found.items()}
    return sorted((method, kind) for method, kind in kinds.items() if kind)


def directive(made: type, method: str, value: Any) -> str | None:
    """How autodoc is told of a method, a property; None for plain values."""
    if isinstance(value, property):
        return "autoproperty"
    return "automethod" if callable(getattr(made, method)) and not isinstance(value, type) else None


def is_request(method: str) -> bool:
    """Whether scikit-learn made the method to route metadata."""
    return method.startswith("set_") and method.endswith("_request")


def write_pages(folder: Path) -> None:
    """Write the list of lists and a list per module; files whose text stays the same are not touched."""
    folder.mkdir(exist_ok=True)
    lines = ["Reference", "=========", "", "A page per public name.", "", ".. toctree::", "   :maxdepth: 1", ""]
    for module, title in SECTIONS.items():
        page = module.replace("gramian.", "").replace(".", "_") if module != "gramian" else "estimators"
        lines.append(f"   {title} <{page}>")
        write(folder / f"{page}.rst", section(module, title))
    write(folder / "index.rst", "\n".join(lines) + "\n")


def section(module: str, title: str) -> str:
    """The list of one module."""
    doc = (inspect.getdoc(import_module(module)) or "").splitlines()[0].replace("*", r"\*")
    rows = "\n".join(f"   ~{name}" for name in public_names(module))
    return (
        f"{title}\n{'=' * len(title)}\n\n``{module}``: {doc}\n\n"
        f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{rows}\n"
    )


def write(path: Path, text: str) -> None:
    """Write a file unless it says the same already."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
