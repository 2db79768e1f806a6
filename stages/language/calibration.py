"""Numbers that `benchmarks/language_fit.py` derived: what an engine's answer is worth."""

from __future__ import annotations

import numpy as np

CONSTANTS = {
    "combined": (
        2.79,
        0.822,
        5.988,
        0.171,
        1.863,
        1.283,
        0.659,
        5.959,
        2.644,
        0.856,
        3.956,
        -0.621,
        -1.074,
        0.783,
        2.208,
    ),
    "py3langid": (2.79, 0.822, 30.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.208),
    "cld2": (1.0, 0.5, 6.0, 0.0, 0.0, 0.0, 0.0, 5.959, 2.644, 0.856, 3.956, 0.0, 0.0, 0.0, 2.208),
}
"""By engine, for `pooling.pool`, in this order:

heat, power: log posteriors of py3langid are multiplied by heat / bytes ** power;
absent, absent_slope: log probability (negative) of a language that py3langid does not know;
named, named_surely, named_slope: bonus of a language that both know and CLD2 names; more where CLD2 is sure;
alone, alone_surely, alone_slope: the same where py3langid does not know it;
share_weight: weight of the log share of the text that CLD2 gives a language;
silent, silent_surely, silent_slope: bonus of a language that CLD2 does not know, where it names others;
script_weight: weight of the log share of the scripts that a language is written in.

A slope is per log of the text's length in bytes over 100.
"""

CERTAIN = 0.995
"""Score of the language of a script that only one language is written in."""
CERTAIN_SHARE = 0.9
"""Least share of such a script."""
LEAST_SCORE = 0.1
"""A language less probable is not named: the text is undetermined."""
CODE = 0.3
"""A text with more than this share of its letters in code holds no language."""


def constants(engine: str) -> np.ndarray:
    """Return the numbers of `engine`, float64, shape (15,)."""
    return np.array(CONSTANTS[engine])
