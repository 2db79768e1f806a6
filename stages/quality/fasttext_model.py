"""fastText models (Joulin et al. 2017, arXiv:1607.01759) as a quality score: which labels one has, and what it says of a text."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import regex

from pipeline.documents import clean_text
from pipeline.errors import InputError
from pipeline.stage import StageFault
from pipeline.storage import local_copy

Form = Literal["auto", "dclm", "datatrove", "folded"]
"""How a text becomes the one line that a model reads; see `line_of`."""

PREFIX = "__label__"
FOLDED = "tokenmill:folded"
"""A word that a model trained on folded texts knows, and that no folded text holds: so the model file says it itself."""

_MAGIC, _NEWEST = 793712314, 12
_ARGUMENTS = "<" + "i" * 12 + "d"
_TOKENS = regex.compile(r"[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\s\p{Cc}]")


def folded(text: str) -> str:
    """Return `text` in lower case, each mark a word of its own, words apart by one space.

    >>> folded("Don't  panic!")
    "don ' t panic !"
    """
    return " ".join(_TOKENS.findall(text.lower()))


LINES: Mapping[str, Callable[[str], str]] = {
    "dclm": lambda text: " ".join(text.strip().splitlines()),
    "datatrove": lambda text: text.strip().replace("\n", ""),
    "folded": folded,
}
"""By form: DCLM (arXiv:2406.11794) joins lines by a space; datatrove 0.10.1 glues them; ours folds."""


def line_of(text: str, form: str) -> str:
    """Return the line that a model is given of `text`, without its end.

    As in all that uses fastText, the word ``</s>`` in a text ends what the model looks at.
    """
    return LINES[form](text).replace("\n", " ")


@dataclass(frozen=True)
class Scorer:
    """What a quality score is made of: a model, and its label or what each of its labels is worth.

    Attributes:
        model: path of the model.
        label: whose probability is the score.
        values: by label what it is worth; the score is then the expected value (as FineWeb-Edu's 0 to 5).
    """

    model: str
    label: str
    values: tuple[tuple[str, float], ...] = ()
    form: Form = "auto"

    def score(self, text: str) -> float:
        """Return the score of `text`; 0 for one in which the model knows no word."""
        model = load(self.model)
        line = line_of(text, self._form) + "\n"  # the end of line is a word of the model
        try:
            found = model.f.predict(line, -1, 0.0, "strict")
        except (UnicodeEncodeError, TypeError):
            found = model.f.predict(clean_text(line), -1, 0.0, "strict")
        said = {label.removeprefix(PREFIX): float(probability) for probability, label in _pairs(found)}
        if not self.values:
            return said.get(self.label, 0.0)
        return sum(value * said.get(label, 0.0) for label, value in self.values)

    @property
    def _form(self) -> str:
        return form_of(self.model) if self.form == "auto" else self.form

    def check(self) -> None:
        """Raise StageFault where the model cannot be read or lacks a label."""
        try:
            known = labels_of(self.model)
        except (InputError, OSError, ValueError) as error:
            raise StageFault("model", str(error)) from error
        wanted = [label for label, _ in self.values] or [self.label]
        key = "values" if self.values else "label"
        for label in wanted:
            if label not in known:
                raise StageFault(key, f"the model has no label {label!r}; it has {', '.join(sorted(known)[:12])}")


def scorer_of(model: tuple[str, ...], label: str, values: Mapping[str, float], form: Form) -> Scorer:
    """Return the scorer of a stage's parameters. Raises StageFault where they do not name just one model."""
    if len(model) != 1:
        raise StageFault("model", f"names {len(model)} files; one fastText model is wanted")
    return Scorer(model[0], label.removeprefix(PREFIX), tuple(sorted(values.items())), form)


def _pairs(found: Any) -> list[tuple[float, str]]:
    """Return (probability, label) pairs, whichever way round the installed fastText gives them."""
    return [(a, b) if isinstance(b, str) else (b, a) for a, b in found]


@functools.lru_cache(maxsize=16)
def _here(path: str) -> str:
    """Return where the model in file `path` lies on this machine; one in a bucket is fetched, once in a process."""
    return str(local_copy(path))


def load(path: str) -> Any:
    """Return the model in file `path`, loaded once in a process as long as the file is the same."""
    return _load(_here(path), *_state(path))


@functools.lru_cache(maxsize=4)
def _load(path: str, size: int, changed: int) -> Any:
    from fasttext.FastText import _FastText  # the face of the package warns on standard error

    return _FastText(path)


def form_of(path: str) -> str:
    """Return the form of text that the model in `path` was trained on: ours say it, of others DCLM's is taken."""
    return _form_of(_here(path), *_state(path))


@functools.lru_cache(maxsize=4)
def _form_of(path: str, size: int, changed: int) -> str:
    return "folded" if load(path).get_word_id(FOLDED) >= 0 else "dclm"


def digest(path: str) -> str:
    """Return the SHA-256 of the model's file."""
    return _digest(_here(path), *_state(path))


@functools.lru_cache(maxsize=16)
def _digest(path: str, size: int, changed: int) -> str:
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            sha.update(block)
    return sha.hexdigest()


def labels_of(path: str) -> set[str]:
    """Return the labels, without prefix, of the model in `path`, from its dictionary alone.

    Raises:
        ValueError: it is no fastText classifier.
    """
    return set(_labels_of(_here(path), *_state(path)))


@functools.lru_cache(maxsize=16)
def _labels_of(path: str, size: int, changed: int) -> frozenset[str]:
    name = pathlib.PurePath(path).name
    with open(path, "rb") as file:
        head = file.read(8 + struct.calcsize(_ARGUMENTS) + 28)
        if len(head) < 8 or struct.unpack_from("<ii", head)[0] != _MAGIC:
            raise ValueError(f"{name} is no fastText model; give a .bin or .ftz file as fastText saves it")
        if struct.unpack_from("<ii", head)[1] > _NEWEST:
            raise ValueError(f"{name} is a fastText model of a newer version than {_NEWEST}")
        entries = struct.unpack_from("<i", head, 8 + struct.calcsize(_ARGUMENTS))[0] if len(head) > 90 else -1
        rest = file.read()
    found, at = set(), 0
    for _ in range(entries):
        end = rest.find(b"\0", at)
        if end < 0 or end + 10 > len(rest):
            entries = -1
            break
        if rest[end + 9] == 1:
            found.add(rest[at:end].decode("utf-8", "replace").removeprefix(PREFIX))
        at = end + 10
    if entries < 0:
        raise ValueError(f"{name} is cut off: its dictionary ends before its last word; copy the model again")
    if not found:
        raise ValueError(f"{name} has word vectors and no labels; a classifier is wanted (fasttext supervised)")
    return frozenset(found)


def _state(path: str) -> tuple[int, int]:
    stat = os.stat(_here(path))
    return stat.st_size, stat.st_mtime_ns
