"""Put the results of ``gramian reproduce`` into the page of the papers: its table, and its pictures, made small.

    gramian reproduce all -o papers && python docs/make_papers.py papers [FURTHER FOLDERS]

Where several folders have a claim, the last one that ran it counts.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGE, PICTURES = FOLDER / "papers.md", FOLDER / "pictures" / "papers"
COLOURS, WIDTH = 64, 900
BLOCK = re.compile(r"(<!-- results -->\n).*?(<!-- /results -->)", flags=re.DOTALL)


def results(folders: list[Path]) -> tuple[dict[str, dict[str, Any]], dict[str, Path]]:
    """What came out by name, and where the pictures lie."""
    claims: dict[str, dict[str, Any]] = {}
    pictures: dict[str, Path] = {}
    for folder in folders:
        for name, found in json.loads((folder / "papers.json").read_text(encoding="utf-8"))["claims"].items():
            if name not in claims or not found["verdict"].startswith("not run"):
                claims[name] = found
            if (folder / f"{name}.png").exists():
                pictures[name] = folder / f"{name}.png"
    return claims, pictures


def small(source: Path, path: Path) -> None:
    """A picture of few colours, not wider than a page."""
    from PIL import Image

    picture = Image.open(source).convert("RGB")
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
    path.parent.mkdir(exist_ok=True)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Write the block of the page and the pictures."""
    claims, pictures = results([Path(name) for name in sys.argv[1:]])
    lines = [":::{container} stacked", "| name | printed | ours | spread | verdict |", "|---|---|---|---|---|"]
    shown = {name: found for name, found in claims.items() if not name.startswith("errata-")}
    for name, found in shown.items():
        cells = (found[key].replace("|", "\\|") or "–" for key in ("printed", "ours", "spread", "verdict"))
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    lines.append(":::")
    for name in (name for name in shown if name in pictures):
        small(pictures[name], PICTURES / f"{name}.png")
        lines += ["", f"**`{name}`**. {shown[name]['words']}", "", f"![{name}](pictures/papers/{name}.png)"]
    body = "\n".join(lines) + "\n"
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda match: match[1] + body + match[2], text), encoding="utf-8")


if __name__ == "__main__":
    main()
