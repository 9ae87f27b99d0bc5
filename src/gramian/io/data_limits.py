"""What a model file may hold: how deep, which kinds of numbers, how much beside its tensors."""

from __future__ import annotations

MAX_DEPTH = 64
PLAIN_KINDS = "biuf"
MAX_COPIED = 64 << 20
"""Bytes that the values of a model may take beside its tensors: texts, copied indices, objects."""
OBJECT_MEMORY = 1_000


def text_memory(n: int, n_bytes: int) -> int:
    """What n texts of n_bytes in UTF-8 can take in memory: an object each, four bytes per character."""
    return 72 * n + 4 * n_bytes
