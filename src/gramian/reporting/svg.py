"""Pictures as SVG inside the page: colours from the page's style, one font size, a name on every mark.

Letters have the size of all others; on narrow screens a picture shrinks by at most a quarter, beyond that it is scrolled. What is said of a mark is its ``<title>``, which browsers
show on hover without any script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from gramian.reporting.blocks import cell_text

LETTER = 7.8
"""Width of a letter, in pixels of the page."""
LINE = 14.0


@dataclass
class Canvas:
    """Marks gathered on an area of ``width`` x ``height`` pixels.

    Examples
    --------
    >>> canvas = Canvas(100, 50)
    >>> canvas.circle(10, 20, 3, "c0", "a < b")
    >>> canvas.markup("Example").count("a &lt; b")
    1
    """

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def add(self, tag: str, style: str, title: str = "", text: str | None = None, **places: object) -> None:
        """One mark; names and texts are escaped."""
        given = "".join(f' {key.replace("_", "-")}="{_short(value)}"' for key, value in places.items())
        inside = (f"<title>{escape(title)}</title>" if title else "") + (escape(text) if text is not None else "")
        self.parts.append(f'<{tag} class="{style}"{given}' + (f">{inside}</{tag}>" if inside else "/>"))

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "axis", title: str = "") -> None:
        """A straight line."""
        self.add("line", style, title, x1=x1, y1=y1, x2=x2, y2=y2)

    def rect(self, x: float, y: float, width: float, height: float, style: str, title: str = "", **more: str) -> None:
        """A filled box."""
        self.add("rect", style, title, None, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), **more)

    def circle(self, x: float, y: float, radius: float, style: str, title: str = "") -> None:
        """A dot."""
        self.add("circle", style, title, cx=x, cy=y, r=radius)

    def path(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """A line through points."""
        steps = "".join(f"{'M' if i == 0 else 'L'}{_short(x)} {_short(y)}" for i, (x, y) in enumerate(points))
        self.add("path", style, d=steps)

    def write(self, x: float, y: float, text: str, anchor: str = "start", style: str = "t", turn: float = 0) -> None:
        """A text; ``turn`` in degrees."""
        more = {"transform": f"rotate({turn:g} {_short(x)} {_short(y)})"} if turn else {}
        self.add("text", style, "", text, x=x, y=y, text_anchor=anchor, **more)

    def markup(self, name: str) -> str:
        """The picture; ``name`` is what a screen reader says of it."""
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        # How far a picture shrinks on a narrow screen.
        least = f'style="min-width:{0.72 * self.width:.0f}px"'
        return f'<svg role="img" aria-label="{escape(name, quote=True)}" {size} {least}>{"".join(self.parts)}</svg>'


def _short(value: object) -> str:
    return (
        f"{value:.1f}".removesuffix(".0") if isinstance(value, float | np.floating) else escape(str(value), quote=True)
    )


@dataclass(frozen=True)
class Scale:
    """From values to pixels along an axis."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two values.

    Examples
    --------
    >>> ticks(0.13, 0.97)
    [0.2, 0.4, 0.6, 0.8]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = float(next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999))
    first = np.ceil(low / step - 1e-9)
    return [float(round(k * step, 12)) + 0.0 for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """A number for an axis or a mark."""
    return cell_text(value).replace("-", "−")


class Frame:
    """A canvas with a horizontal and a vertical axis."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        size: tuple[float, float] = (340, 260),
        labels: tuple[str, str] = ("", ""),
        whole: bool = False,
        top: float = 8,
        right: float = 10,
    ) -> None:
        width, height = size
        self.canvas = Canvas(width, height)
        self.right, self.top, self.bottom = width - right, top, height - 38
        self.y = Scale(*_wider(y), self.bottom, self.top)
        upwards = ticks(self.y.low, self.y.high, 5)
        self.left = 24 + LETTER * max(
            3, *(len(number(value)) for value in upwards)
        )  # the name of the axis, then its numbers
        self.x = Scale(*_wider(x), self.left, self.right)
        across = ticks(self.x.low, self.x.high, max(2, int(width // 80)))
        for value in across:
            if not whole or value == round(value):
                self.canvas.line(self.x(value), self.bottom, self.x(value), self.bottom + 3)
                self.canvas.write(self.x(value), self.bottom + 16, number(value), "middle")
        for value in upwards:
            self.canvas.line(self.left, self.y(value), self.right, self.y(value), "grid")
            self.canvas.write(self.left - 5, self.y(value) + 4, number(value), "end")
        self.canvas.line(self.left, self.bottom, self.right, self.bottom)
        self.canvas.write((self.left + self.right) / 2, self.bottom + 33, labels[0], "middle", "t soft")
        if labels[1]:
            self.canvas.write(11, (self.top + self.bottom) / 2, labels[1], "middle", "t soft", -90)


def _wider(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def cut(name: str, width: float) -> str:
    """A name that fits into so many pixels."""
    count = max(3, int(width / LETTER))
    text = "".join(c if c.isprintable() else " " for c in name)
    return text if len(text) <= count else f"{text[: count - 1]}…"
