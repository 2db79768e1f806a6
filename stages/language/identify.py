"""Which language a text is in: by what it is made of, by its script, then by engines."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from stages.language import calibration, cld2, langid
from stages.language.characters import SCRIPTS
from stages.language.names import MACRO, NAMES, NO_LANGUAGE, UNDETERMINED, WRITTEN_IN, iso_label
from stages.language.pooling import pool
from stages.language.reading import Reading, read

_LABELS = tuple(NAMES)
_PLACE = {label: number for number, label in enumerate(_LABELS)}
MACRO_OF = np.array([_PLACE[MACRO.get(label, label)] for label in _LABELS])
_NOTHING_FOUND = cld2.Found(np.full(3, -1, np.int64), np.zeros(3, np.int64), False)
_NEARLY_ALL = 80  # percent
_NO_SCORES = np.empty(0, np.float32), 1
_ONLY = {script: labels[0] for script, labels in WRITTEN_IN.items() if len(labels) == 1}


class Engines(NamedTuple):
    """Engines and what they know.

    Attributes:
        first, second: whether py3langid and CLD2 are used.
        label_of: int64, shape (languages of py3langid,): their labels' places; -1: none.
        known: bool, shape (labels,): what CLD2 tells apart.
        written_in: bool, shape (scripts, labels): which labels that can be named are written in which script.
        constants: float64, shape (16,): see `calibration`.
    """

    first: bool
    second: bool
    label_of: np.ndarray
    known: np.ndarray
    written_in: np.ndarray
    constants: np.ndarray


class Answer(NamedTuple):
    """The language of a text.

    Attributes:
        label: a key of `names.NAMES`, or ``zxx`` for a text without language, or ``und``.
        iso_label: ISO 639-3 and script, as in ``eng_Latn``.
        score: probability that the text is in this language or another of its macro-language; 1 for ``zxx``, 0 for
            ``und``.
        probabilities: of each label that has one above a thousandth.
    """

    label: str
    iso_label: str
    score: float
    probabilities: dict[str, float]


def identify(text: str, engine: str = "combined") -> Answer:
    """Return the language of `text`.

    Args:
        engine: ``combined``, ``py3langid`` or ``cld2``.
    """
    reading = read(text)
    letters = int(reading.letters.sum())
    if not letters or reading.code > calibration.CODE:
        return Answer(NO_LANGUAGE, NO_LANGUAGE, 1.0, {NO_LANGUAGE: 1.0})
    script = int(reading.letters.argmax())
    only = _ONLY.get(SCRIPTS[script])
    if only is not None and reading.letters[script] >= calibration.CERTAIN_SHARE * letters:
        score = calibration.CERTAIN
        return Answer(only, iso_label(only, SCRIPTS[script]), score, {only: score})
    if script == 0:
        return Answer(UNDETERMINED, UNDETERMINED, 0.0, {})
    return _by_engines(reading, engine)


def _by_engines(reading: Reading, engine: str) -> Answer:
    known_to = engines(engine)
    weighed = (*evidence(reading, known_to), MACRO_OF, known_to.constants)
    best, score, p = pool(*weighed)
    likely = np.flatnonzero(p > 1e-3)
    probabilities = {_LABELS[n]: value for n, value in zip(likely.tolist(), p[likely].tolist(), strict=True)}
    if score < calibration.LEAST_SCORE:
        return Answer(UNDETERMINED, UNDETERMINED, 0.0, probabilities)
    label = _LABELS[best]
    script = _script_of(best, reading.letters, known_to.written_in)
    return Answer(label, iso_label(label, script), float(score), probabilities)


def evidence(reading: Reading, known_to: Engines) -> tuple[Any, ...]:
    """Return what `pool` weighs, up to the scripts: what the engines say of a text and what they know."""
    text = reading.text.encode()
    found = cld2.find(text) if known_to.second else _NOTHING_FOUND
    scores, looked_at = _NO_SCORES
    if known_to.first:
        scores, looked_at = langid.scores(text, 1)
        if len(text) > looked_at and not _agree(scores, known_to.label_of, found):
            scores, looked_at = langid.scores(text)
    return (
        *(scores, looked_at, known_to.label_of, *found, known_to.known),
        *(len(text), reading.letters, known_to.written_in),
    )


def _agree(scores: np.ndarray, label_of: np.ndarray, found: cld2.Found) -> bool:
    """Tell whether both engines name the same language of nearly all of a text, so that no more need be looked at."""
    return found.reliable and found.percents[0] >= _NEARLY_ALL and label_of[scores.argmax()] == found.labels[0]


def _script_of(label: int, letters: np.ndarray, written_in: np.ndarray) -> str:
    """Return the script of most letters among those that the language is written in, or of most letters at all."""
    own = np.where(written_in[:, label], letters, 0)
    return SCRIPTS[int((own if own.any() else letters).argmax())]


@functools.cache
def engines(engine: str) -> Engines:
    """Return what `engine` works with here: ``combined`` does without CLD2 where that is not installed."""
    first = engine in ("combined", "py3langid")
    second = engine == "cld2" or (engine == "combined" and cld2.available())
    known = cld2.known() if second else np.zeros(len(_LABELS), bool)
    label_of = langid.label_numbers() if first else np.empty(0, np.int64)
    nameable = known.copy()
    nameable[label_of[label_of >= 0]] = True
    written_in = np.zeros((len(SCRIPTS), len(_LABELS)), bool)
    for script, labels in WRITTEN_IN.items():
        for place in map(_PLACE.get, labels):
            written_in[SCRIPTS.index(script), place] = nameable[place] or script in _ONLY
    constants = calibration.constants(engine if second or engine != "combined" else "py3langid")
    return Engines(first, second, label_of, known, written_in, constants)


def nameable(engine: str) -> frozenset[str]:
    """Return the labels that `engine` can answer."""
    places = np.flatnonzero(engines(engine).written_in.any(0))
    return frozenset(_LABELS[place] for place in places)
