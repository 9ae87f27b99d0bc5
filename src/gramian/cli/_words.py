"""Warnings and errors of the library in the words of the command: its options, and no advice that it cannot take."""

from __future__ import annotations

import re

_OPTIONS = {
    "n_components": "--components",
    "noise_variance": "--noise",
    "n_clusters": "--clusters",
    "n_landmarks": "--landmarks",
    "length_scale": "--length-scale",
    "lags": "--lags",
    "season": "--season",
    "random_state": "--seed",
}
_PHRASES: tuple[tuple[str, str], ...] = (
    # advice without an option in the command
    (r" in max_iter=(\d+) (steps|rounds)", r" in \1 \2"),
    (r" after max_iter=(\d+) (steps|restarts)", r" after \1 \2"),
    (r",? before tol=\S+ (and the bound of the eigenvalues were|was) reached", ", before it settled"),
    (r",? (before its objective settled to|above) tol=[\d.e+-]+\d", ", before it settled"),
    (r"Raise max_iter, or tol=[\d.e+-]+\d\.", "Fewer components (--components) settle sooner."),
    (r"Raise max_iter, lower n_components=(\d+), or use solver='eigh'\.", r"Try fewer than --components \1."),
    (r"Raise max_iter( or tol)?\.", "Fewer components (--components) settle sooner."),
    (r"Lower noise_variance or n_components\.", "Lower --noise or --components."),
    (r" \(use residual\)", ""),
    (r"Use residual\(X\), or another noise_variance\.", "Use another --noise."),
    (r"noise_floor_=", ""),
    (r"Use noise_variance='ml' or 'per-view', or at most n_components=(\d+)\.", r"Use at most --components \1."),
    (r"Use noise_variance='per-view', fewer components, or strategy='direct'\.", "Use fewer --components."),
    (r" Take the mean off the columns first, for example with sklearn\S+", " Leave --no-standardize out."),
    (r"Name them in views, or leave them out of X\.", "Name them in --views, or leave them out (--drop)."),
    (r"Within gramian, LatentImputer fills the holes: make_pipeline\S+ \S+", "A model of gramian fit takes holes."),
    (
        r"Fill (it|them|these entries)( first, e\.g\. with)? ?\(?gramian\.LatentImputer\)?\.?",
        "A model of gramian fit takes holes.",
    ),
    (r"\b(rows?|row\(s\)|columns|entries) of X\b", r"\1 of the table"),
    (r"\bX has missing\b", "the table has missing"),
)


def in_own_words(text: str) -> str:
    """What the library says, with parameters as options of the command.

    Examples
    --------
    >>> in_own_words("n_components=9 exceeds the numerical rank 4 of the data; 4 components are kept.")
    '--components 9 exceeds the numerical rank 4 of the data; 4 components are kept.'
    >>> in_own_words("PX-EM did not converge in max_iter=500 steps. Raise max_iter, or tol=1e-05.")
    'PX-EM did not converge in 500 steps. Fewer components (--components) settle sooner.'
    """
    text = " ".join(text.split())
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    for name, option in _OPTIONS.items():
        text = re.sub(rf"(?<![\w-]){name}=(?='?[\w.])", f"{option} ", text)
        if "_" in name:
            text = re.sub(rf"(?<![\w.-]){name}(?![\w(])", option, text)
    return text
