from __future__ import annotations

from typing import Any


def fast_evaluation(plan: Any) -> Any:
    return None
