"""Numbers that `benchmarks/language_fit.py` derived: what an engine's answer is worth."""

from __future__ import annotations

import numpy as np

CONSTANTS = {
    "combined": (
        *(3.468, 0.873, 5.953, -0.058, 2.381, 0.474, 0.572, 5.726, 2.813, 0.819),
        *(2.535, 0.085, -0.619, 0.29, 2.431, 4.0),
    ),
    "py3langid": (2.318, 0.62, 30.0, *[0.0] * 11, 7.097, 0.0),
    "cld2": (1.0, 0.5, 7.075, *[0.0] * 4, 4.896, 2.473, 1.161, 5.265, *[0.0] * 3, 1.919, 5.265),
}
"""By engine, for `pooling.pool`, in this order:

heat, power: log posteriors of py3langid are multiplied by heat / bytes ** power;
absent, absent_slope: log probability (negative) of a language that py3langid does not know;
named, named_surely, named_slope: bonus of a language that both know and CLD2 names; more where CLD2 is sure;
alone, alone_surely, alone_slope: the same where py3langid does not know it;
share_weight: weight of the log share of the text that CLD2 gives a language that both know;
silent, silent_surely, silent_slope: bonus of a language that CLD2 does not know, where it names others;
script_weight: weight of the log share of the scripts that a language is written in;
alone_share_weight: as share_weight, where py3langid does not know the language: a text in a language that CLD2 does not
know is divided among its relatives there.

A slope is per log of the text's length in bytes over 100.
"""

CERTAIN = 0.995
"""Score of the language of a script that only one language is written in."""
CERTAIN_SHARE = 0.9
"""Least share of such a script."""
LEAST_SCORE = 0.15
"""A language less probable is not named: the text is undetermined."""
CODE = 0.4
"""A text with more than this share of its letters in code holds no language."""


def constants(engine: str) -> np.ndarray:
    """Return the numbers of `engine`, float64, shape (16,)."""
    return np.array(CONSTANTS[engine])
