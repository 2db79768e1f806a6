"""Which language a document is in, by fastText's lid.176."""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.documents import Document, clean_text
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from stages.language.names import complaint

_MODEL = "lid.176.ftz"
_LABEL = len("__label__")


@dataclass(frozen=True, kw_only=True)
class Language(DocumentStage):
    """Add the language of each document and its score; drop documents in other languages or of a low score.

    As datatrove 0.10.1's LanguageFilter with fastText's compressed lid.176. The model is weak on text in capitals
    and on mixed pages; scores may exceed 1 by a hair.
    """

    name: ClassVar[str] = "language"
    published: ClassVar[str] = "fastText lid.176 (arXiv:1607.01759, CC-BY-SA-3.0); datatrove 0.10.1"
    preload: ClassVar[tuple[str, ...]] = ("fasttext.FastText",)

    keep: tuple[str, ...] = ()
    """Labels of the languages to keep, such as en, de, zh; empty: all. A document stays where any of these has a
    score above min_score, even if another scores more (which takes a min_score below 0.5)."""
    min_score: float = 0.65
    """Scores must be above this. Lower: dropped (score); another language: dropped (language)."""
    characters: int = 0
    """Look at so many characters from the start only; 0: all, as published."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        return pa.field("language", pa.large_string()), pa.field("language_score", pa.float64())

    def check(self) -> None:
        for language in self.keep:
            problem = complaint(language)
            if problem:
                raise StageFault("keep", problem)
        if not 0 <= self.min_score < 1:
            raise StageFault("min_score", f"{self.min_score} is no probability below 1")
        if self.characters < 0:
            raise StageFault("characters", f"{self.characters}: give 0 for all, or how many")
        _model_path()

    def resources(self) -> Mapping[str, str]:
        return {_MODEL: _digest()}

    def judge(self, document: Document) -> Verdict:
        label, score = self.identify(document.text)
        if not self.keep:
            if score > self.min_score:
                return Keep(columns={"language": label, "language_score": score})
            return Drop("score", score, self.min_score, label)
        best = score
        if label not in self.keep:
            scores = dict(_predict(self._text(document.text), -1))
            best = max(scores.get(language, 0.0) for language in self.keep)
        if best > self.min_score:
            return Keep(columns={"language": label, "language_score": score})
        if label in self.keep:
            return Drop("score", score, self.min_score, label)
        return Drop("language", best, self.min_score, f"{label} {score:.3f}")

    def identify(self, text: str) -> tuple[str, float]:
        """Return the most likely language of `text` and its score; of nothing, what the model guesses."""
        return _predict(self._text(text), 1)[0]

    def _text(self, text: str) -> str:
        return text[: self.characters] if self.characters else text


def _predict(text: str, count: int) -> list[tuple[str, float]]:
    """Return the `count` most likely languages (-1: all) with their scores, the most likely first."""
    line = text.replace("\n", " ") + "\n"  # the end of line is a word of the model
    try:
        found = _model().f.predict(line, count, 0.0, "strict")
    except (UnicodeEncodeError, TypeError):
        found = _model().f.predict(clean_text(line), count, 0.0, "strict")
    return [(label[_LABEL:], score) for score, label in found]


@functools.cache
def _model() -> Any:
    from fasttext.FastText import _FastText  # the face of the package warns on standard error

    return _FastText(str(_model_path()))


def _model_path() -> pathlib.Path:
    path = pathlib.Path(str(importlib.resources.files("stages"))) / "models" / _MODEL
    if not path.is_file():
        raise StageFault("use", f"the language model {path} is missing; install tokenmill again, which puts it there")
    return path


@functools.cache
def _digest() -> str:
    return hashlib.sha256(_model_path().read_bytes()).hexdigest()
