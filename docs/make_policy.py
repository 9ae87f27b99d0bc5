"""Write docs/policy.md from gramian.policy: run as ``python docs/make_policy.py``."""

from __future__ import annotations

from pathlib import Path

from gramian.policy import POLICIES, rows_of_page

PAGE = Path(__file__).parent / "policy.md"


def shown(value: object) -> str:
    """A number, or several."""
    return ", ".join(map(shown, value)) if isinstance(value, tuple) else f"{value:,}"


def page() -> str:
    """The page as text."""
    lines = [
        "# Policy: the numbers that decide",
        "",
        "Every number here decides something for a user and is no parameter. It has a unit and a reason; where it was tuned on data, the script that",
        "says how far the outcome of its job moves when it is halved or doubled. The page is generated from `gramian/policy.py`.",
    ]
    for record in POLICIES:
        name = type(record).__name__
        lines += [
            "",
            f"## {name}",
            "",
            (record.__doc__ or "").strip(),
            "",
            "| number | value | unit | why | set by |",
            "|---|---|---|---|---|",
        ]
        for owner, field, value, unit, why, set_by in rows_of_page():
            if owner == name:
                lines.append(
                    f"| `{field}` | {shown(value)} | {unit} | {why} | {f'`{set_by}`' if set_by else 'not tuned'} |"
                )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
