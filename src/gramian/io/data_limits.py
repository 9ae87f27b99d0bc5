"""What a model file may hold: how deep, which kinds of numbers, how much beside its tensors."""

from __future__ import annotations

PLAIN_KINDS = "biuf"


def text_memory(n: int, n_bytes: int) -> int:
    """What n texts of n_bytes in UTF-8 can take in memory: an object each, four bytes per character."""
    return 72 * n + 4 * n_bytes
