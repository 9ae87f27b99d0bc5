"""Tables of names that other packages add rows to, by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Rows(dict[str, Any]):
    """What names stand for. A name that is not there is looked for among the entry points ``gramian.<group>`` of installed packages, once it is asked for.

    >>> table = Rows("kernels", {"linear": int})
    >>> "linear" in table, "no such name" in table, list(table)
    (True, False, ['linear'])
    """

    def __init__(self, group: str, rows: Mapping[str, Any]) -> None:
        super().__init__(rows)
        self.group = f"gramian.{group}"

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and self._take("name", name))

    def __missing__(self, name: str) -> Any:
        if self._take("name", name):
            return self[name]
        raise KeyError(name)

    def named(self, attribute: str) -> bool:
        """Whether a row whose object has this name was found in another package, as model files ask: nothing else is imported."""
        return self._take("attr", attribute)

    def _take(self, key: str, wanted: str) -> bool:
        """Make a row of the entry point that has what is wanted under ``key``."""
        from importlib.metadata import (
            entry_points,  # costs a look at all installed packages: only where a name is unknown
        )

        for point in entry_points(group=self.group):
            if getattr(point, key) != wanted:
                continue
            try:
                self[point.name] = point.load()
            except Exception as error:
                owner = point.dist.name if point.dist is not None else point.value
                raise ImportError(
                    f"{wanted!r} is offered by the package {owner!r} (entry point {self.group!r}), which cannot be imported: "
                    f"{type(error).__name__}: {error}"
                ) from error
            return True
        return False
