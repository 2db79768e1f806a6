"""Documents that hold words of a list of yours, by language."""

from __future__ import annotations

import hashlib
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import pyarrow as pa

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, StageFault, Verdict
from stages.language.names import complaint
from stages.quality import lists
from stages.quality.rule_stage import Mode

_WORD = re.compile(r"\w+")
_WITHOUT_SPACES = frozenset({"ja", "th", "zh", "yue", "wuu", "lo", "km", "my"})
"""Languages in which an entry counts wherever it stands, as no space tells where a word begins (C4 has ja, th, zh)."""

_LABELS = {"fil": "tl"}
"""Codes that lists have, for the labels that documents have."""


@dataclass(frozen=True, kw_only=True)
class BadWords(DocumentStage):
    """Drop documents that hold words or phrases of your lists.

    As C4's filter of bad words (JMLR 21(140)): in lower case, as whole words, and anywhere in languages written without
    spaces. Lists are files named for their language (``en.txt``, ``de.txt.gz``), an entry a line; a document of a
    language without a list stays. Which of the documents that break the rule stay nevertheless (`keep_fraction`) depends
    on their text alone.
    """

    name: ClassVar[str] = "bad_words"
    published: ClassVar[str] = "C4, JMLR 21(140), arXiv:1910.10683; datatrove 0.10.1"
    path_fields: ClassVar[tuple[str, ...]] = ("lists",)

    lists: tuple[str, ...] = ()
    """Lists, each named for its language: ``bad/en.txt``; also ``package://name/en.txt``."""
    words: tuple[str, ...] = ()
    """Words and phrases for every language, beside those of the lists."""
    default_language: str = "en"
    """The language of documents whose column `language` says nothing."""
    most: int = 0
    """More occurrences than this: dropped (bad_words)."""
    keep_fraction: float = 0.0
    """Share of the documents that break the rule which stay all the same."""
    mode: Mode = "drop"
    """drop: documents that break the rule leave. annotate: none does, occurrences are measured alone."""

    @property
    def measures(self) -> tuple[pa.Field, ...]:
        return (pa.field(f"{self.name}.occurrences", pa.float64()),)

    def check(self) -> None:
        lists.checked("lists", self.lists)
        if not self.lists and not self.words:
            raise StageFault(
                "lists", "nothing is listed: give files named for their language, such as en.txt, or words"
            )
        for path in self.lists:
            if problem := complaint(language_of(path)):
                raise StageFault("lists", f"{path} is named for no language: {problem}")
        if not 0 <= self.keep_fraction <= 1:
            raise StageFault("keep_fraction", f"{self.keep_fraction} is no share from 0 to 1")
        if self.most < 0:
            raise StageFault("most", f"{self.most}: give 0 or more")

    def resources(self) -> Mapping[str, str]:
        names = {f"language {n}": language_of(path) for n, path in enumerate(self.lists)}
        return {**lists.digests(self.lists, "list"), **names}

    def load(self) -> None:
        _entries(self, self.default_language)

    def judge(self, document: Document) -> Verdict:
        language = document.get("language") or self.default_language
        wanted = _entries(self, language)
        found = occurrences(document.text.lower(), wanted, language in _WITHOUT_SPACES) if wanted else []
        if self.mode == "annotate" or len(found) <= self.most or self._stays(document.text):
            return Keep(signals=(float(len(found)),))
        return Drop("bad_words", len(found), self.most, " ".join(dict.fromkeys(found))[:200], (float(len(found)),))

    def _stays(self, text: str) -> bool:
        if not self.keep_fraction:
            return False
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.keep_fraction * 2**64


def language_of(path: str) -> str:
    """Return the language that a list is for: its name up to the first dot or hyphen (``fr-CA-u-sd-caqc`` is French)."""
    language = pathlib.PurePosixPath(path).name.split(".")[0].split("-")[0]
    return _LABELS.get(language, language)


@lru_cache(maxsize=256)
def _entries(stage: BadWords, language: str) -> dict[str, tuple[str, ...]]:
    """Return first word -> the entries for `language` that begin with it."""
    found = [*stage.words, *(e for path in stage.lists if language_of(path) == language for e in lists.entries(path))]
    by_first: dict[str, list[str]] = {}
    for entry in dict.fromkeys(" ".join(entry.lower().split()) for entry in found):
        first = _WORD.search(entry)
        by_first.setdefault(first.group() if first else "", []).append(entry)
    return {first: tuple(entries) for first, entries in by_first.items()}


def occurrences(text: str, entries: Mapping[str, tuple[str, ...]], anywhere: bool) -> list[str]:
    """Return each occurrence of an entry in `text`, which is in lower case: as whole words, or `anywhere`."""
    if anywhere:
        return [entry for group in entries.values() for entry in group for _ in range(text.count(entry))]
    present = entries.keys() & set(_WORD.findall(text)) | (entries.keys() & {""})
    candidates = [entry for first in present for entry in entries[first]]
    if not candidates:
        return []
    pieces = (r"\s+".join(map(re.escape, entry.split())) for entry in sorted(candidates, key=len, reverse=True))
    return [" ".join(found.split()) for found in re.findall(rf"(?<!\w)(?:{'|'.join(pieces)})(?!\w)", text)]
