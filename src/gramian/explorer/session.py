"""A session: one table, the models of it, what was done and can be undone. Verbs read it, jobs write it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian._arrays import Array
from gramian.explorer.jobs import Job, Jobs
from gramian.explorer.packing import plains
from gramian.policy import DEFAULTS

if TYPE_CHECKING:
    from gramian.explorer.data import Data  # reads tables: half of a second that the page need not wait for

PANELS = ("map", "table", "odd", "evidence", "samples", "views", "series", "clusters", "columns")


@dataclass(frozen=True)
class Limits:
    """What a session takes; a page is for looking, the command line is for the rest."""

    upload_bytes: int = 256 << 20
    upload_seconds: float = 600.0
    cells: int = 50_000_000
    call_bytes: int = 8 << 20
    sessions: int = 8
    head_bytes: int = 16 << 10
    chunk_seconds: float = 30.0  # an upload that sends nothing for so long is ended
    clustered_rows: int = 30  # from here on clusters are looked for, up to so many features
    clustered_features: int = 200
    ellipses: int = 5000  # drawn on the map: more are a blot


class NotYet(Exception):  # noqa: N818  (not an error: it comes)
    """What was asked for is still being fitted."""


@dataclass(frozen=True)
class Clusters:
    """A mixture, the cluster of every row, and why so many; ``order`` sorts by size."""

    model: Any
    labels: Array
    selection: Any


@dataclass(frozen=True)
class Fitted:
    """Models of the table, and what they say of its rows. Replaced as a whole, so that a verb sees one state.

    ``linear`` fills cells and knows odd rows; ``model`` makes the map and draws samples (it may be ``linear``).
    """

    kind: str
    linear: Any
    model: Any
    filler: Any
    latents: Array
    full: Array
    std: Array
    odd: Any
    words: str
    selection: Any = None
    clusters: Clusters | None = None
    options: dict[str, Any] = field(default_factory=dict)
    detector: Any = None  # says which rows are odd, once it has held some out
    oddness: Array = field(default_factory=lambda: np.empty(0))

    def oddness_of(self, found: Any, X: Array) -> Array:
        """How odd rows are: minus their score by models that have not seen them; before those are there, minus the log of their chance."""
        if self.detector is not None:
            return -np.asarray(self.detector.score_samples(X))
        return -np.log(np.maximum(np.minimum(found.p_t2, found.p_spe), np.finfo(float).tiny))

    def limit(self, level: float) -> float:
        """From where on a row is odd."""
        return -self.detector.limit(level) if self.detector is not None else -float(np.log1p(-level))

    @cached_property
    def tree(self) -> Any:
        """Rows by their place on the map."""
        from scipy.spatial import cKDTree

        return cKDTree(self.latents)

    @property
    def q(self) -> int:
        """Latent dimensions of the map."""
        return int(self.latents.shape[1])


class Session:
    """One table and its models.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.explorer import session_of
    >>> X = np.random.default_rng(0).normal(size=(40, 3)) @ np.ones((3, 5))
    >>> session = session_of(None, X + np.random.default_rng(1).normal(size=(40, 5)))
    >>> session.jobs.wait(60)
    True
    >>> session.panels
    ['map', 'table', 'odd', 'evidence', 'samples', 'clusters', 'columns']
    """

    def __init__(self, title: str, limits: Limits | None = None) -> None:
        self.title, self.limits = title, limits or Limits()
        self.data: Data | None = None
        self.fitted: Fitted | None = None
        self.given: Any = None  # a model that came with the table
        self.error: str | None = None
        self.note: str | None = None
        self.views: Any = None
        self.series: dict[str, Any] = {}
        self.version = 0  # anything new to tell, progress too
        self.revision = 0  # something new to draw
        self.options: dict[str, Any] = {}  # what the user chose: q, kernel, clusters
        self.edited: dict[int, set[int]] = {}
        self.fitted_edits: set[tuple[int, int]] = set()  # edited cells that the models have seen
        self.replaced: list[tuple[str, Any, Any]] = []  # column, value, what it was replaced by
        self.stale = False  # the table is another than the models have seen
        self.lock = threading.RLock()
        self.jobs = Jobs(self.changed, self._failed)
        self._undo: list[tuple[str, Callable[[], None]]] = []

    @property
    def edited_cells(self) -> set[tuple[int, int]]:
        """Row and column of every cell that was edited."""
        return {(row, j) for row, columns in self.edited.items() for j in columns}

    def changed(self, *, drawn: bool = False) -> None:
        """Something is new, and is to be ``drawn``: pages ask again."""
        self.version += 1
        self.revision += drawn

    def need_data(self) -> Data:
        """The table, or :class:`NotYet`."""
        if self.data is None:
            raise NotYet("The table is being read.")
        return self.data

    def need(self) -> tuple[Data, Fitted]:
        """The table and its models, or :class:`NotYet`."""
        data = self.need_data()
        if self.fitted is None:
            raise NotYet("The model is being fitted.")
        return data, self.fitted

    @property
    def state(self) -> str:
        """``loading``, ``ready`` or ``failed``."""
        if self.error is not None and self.fitted is None:
            return "failed"
        ready = self.fitted is not None or (self.data is not None and self.data.X.shape[1] < 2)
        return "ready" if ready else "loading"

    @property
    def panels(self) -> list[str]:
        """The panels that the data allow."""
        if self.data is None:
            return []
        n, d = self.data.X.shape
        allowed = {"table", "columns"}
        if d > 1:
            allowed |= {"map", "evidence", "samples"}
            if self.fitted is None or self.fitted.odd is not None:
                allowed.add("odd")
            if n >= self.limits.clustered_rows and d <= self.limits.clustered_features:
                allowed.add("clusters")
        if self.data.views:
            allowed.add("views")
        if self.data.series:
            allowed.add("series")
        return [name for name in PANELS if name in allowed]

    def publish(self, fitted: Fitted) -> None:
        """The models that panels look at from now on."""
        with self.lock:
            self.fitted = fitted
            self.error = None
        self.changed(drawn=True)

    def amend(self, **parts: Any) -> None:
        """The same models with more known about them."""
        with self.lock:
            assert self.fitted is not None
            self.publish(replace(self.fitted, **parts))

    def remember(self, what: str, back: Callable[[], None]) -> None:
        """What was done, and how to take it back."""
        self._undo.append((what, back))

    def keeper(self) -> Callable[[], None]:
        """A way back to the models and choices of now."""
        fitted, options = self.fitted, self.options

        def back() -> None:
            self.options = options
            self.jobs.cancel()
            if fitted is not None:
                self.publish(fitted)

        return back

    def undo(self) -> str | None:
        """Take the last thing back; its name."""
        with self.lock:
            if not self._undo:
                return None
            what, back = self._undo.pop()
            back()
        self.changed(drawn=True)
        return what

    @property
    def last_done(self) -> str | None:
        """What undo would take back."""
        return self._undo[-1][0] if self._undo else None

    def close(self) -> None:
        """End the work in the background."""
        self.jobs.close()

    def _failed(self, job: Job, error: BaseException) -> None:
        text = " ".join(str(error).split()) or type(error).__name__
        if self.fitted is None and job.key in ("read", "fit"):
            self.error = text
        else:
            self.note = f"{job.title}: {text}"


def cells_of(data: Data, X: Array, std: Array | None = None, *, possible: bool = False) -> list[list[Any]]:
    """Rows of features as cells for people: ``[value, low, high]`` of numbers (90 % interval), ``[text, chance]`` of categories.

    ``possible``: values and ends of intervals that the columns may hold, as `LatentImputer` fills them.
    """
    from scipy.special import ndtri

    prepare = data.prepare
    numbers = [j for j, values in enumerate(prepare.categories) if not values]
    place = data.first_feature[numbers]
    middle = prepare.restore(X)[:, place]
    reach = ndtri((1 + DEFAULTS.cover) / 2)
    half = reach * (std * prepare.scale)[:, place] if std is not None else 0.0
    ends = np.stack([middle, middle - half, middle + half])
    told = plains(np.moveaxis(data.bounds.held(slice(None), ends) if possible else ends, 0, 2).ravel())
    triples = zip(*[iter(told)] * 3)
    out: list[list[Any]] = [[None] * len(prepare.names) for _ in range(len(X))]
    for row in out:
        for j in numbers:
            row[j] = list(next(triples))
    if len(numbers) < len(prepare.names):
        for name, chances in prepare.probabilities(X).items():
            j = prepare.names.index(name)
            best, texts = plains(chances.max(axis=1)), [prepare.categories[j][k] for k in chances.argmax(axis=1)]
            for row, text, chance in zip(out, texts, best):
                row[j] = [shown_cell(text), chance]
    return out


def shown_cell(value: Any, width: int = 200) -> str:
    """A cell as text, cut when long."""
    if value is None or value != value:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= width else text[: width - 1] + "…"
