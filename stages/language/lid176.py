"""Engine lid176: fastText's compressed model lid.176, on the text as it is, as datatrove's LanguageFilter has it."""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import pathlib
from typing import Any

from pipeline.documents import clean_text

MODEL = "lid.176.ftz"
_LABEL = len("__label__")


def predict(text: str, count: int = 1) -> list[tuple[str, float]]:
    """Return the `count` most likely languages (-1: all) with their scores, the most likely first.

    As published, an end-of-sentence token ``</s>`` in the text ends what the model looks at.
    """
    line = text.replace("\n", " ") + "\n"  # the end of line is a word of the model
    try:
        found = model().f.predict(line, count, 0.0, "strict")
    except (UnicodeEncodeError, TypeError):
        found = model().f.predict(clean_text(line), count, 0.0, "strict")
    return [(label[_LABEL:], score) for score, label in found]


@functools.cache
def model() -> Any:
    """Return the model, loaded once."""
    from fasttext.FastText import _FastText  # the face of the package warns on standard error

    return _FastText(str(path()))


def path() -> pathlib.Path:
    """Return where the installation has put the model."""
    found = pathlib.Path(str(importlib.resources.files("stages"))) / "models" / MODEL
    if not found.is_file():
        raise FileNotFoundError(f"the language model {found} is missing; install tokenmill again, which puts it there")
    return found


@functools.cache
def digest() -> str:
    """Return the SHA-256 of the model's file."""
    return hashlib.sha256(path().read_bytes()).hexdigest()


def labels() -> list[str]:
    """Return the labels that the model tells apart."""
    return [label[_LABEL:] for label in model().get_labels()]
