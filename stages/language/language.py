"""Which language a document is in, how sure that is, and whether it is wanted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, Keep, Span, StageFault, Verdict
from stages.language import cld2, langid, lid176
from stages.language.characters import SCRIPTS
from stages.language.identify import Answer, identify, nameable
from stages.language.names import NAMES, NO_LANGUAGE, UNDETERMINED, complaint, iso_label, members
from stages.language.paragraphs import Paragraph, paragraphs, shares
from stages.language.reading import read

_SHARES = pa.list_(pa.struct([pa.field("language", pa.string()), pa.field("share", pa.float64())]))


@dataclass(frozen=True, kw_only=True)
class Language(DocumentStage):
    """Add the language of each document and its score; drop documents in other languages or of a low score.

    The script decides where only one language is written in it; else py3langid and CLD2 are weighed together. The
    score is a probability: of documents with .9, nine of ten are in that language or in another of its
    macro-language (`docs/language.md` has what was measured). A text without language (empty, digits, marks, code) is
    ``zxx``, and one that no engine knows ``und``: both go, unless `keep` names them or `min_score` is 0.
    """

    name: ClassVar[str] = "language"
    shares_load: ClassVar[bool] = True
    costly: ClassVar[bool] = True
    version: ClassVar[int] = 3
    published: ClassVar[str] = (
        "py3langid (Lui and Baldwin, ACL 2012); CLD2 (Google); fastText lid.176 (arXiv:1607.01759, CC-BY-SA-3.0) as in "
        "datatrove 0.10.1's LanguageFilter"
    )
    libraries: ClassVar[tuple[str, ...]] = ("fasttext-community", "py3langid", "pycld2", "regex")

    keep: tuple[str, ...] = ()
    """Labels of the languages to keep, such as en, de, zh; empty: all. A document stays where these together have a
    probability above min_score (with lid176: where any has), even if another language is the likeliest."""
    min_score: float = 0.65
    """Scores must be above this. Lower: dropped (score); another language: dropped (language). 0 with no `keep`: none."""
    characters: int = 0
    """Look at so many characters from the start only; 0: all, and of more than 2,560 characters pieces of that length
    in all, evenly spread (lid176: all)."""
    engine: Literal["combined", "py3langid", "cld2", "lid176"] = "combined"
    """combined, py3langid, cld2, or lid176: labels and scores of fastText's lid.176, to the document as FineWeb has them."""
    shares: bool = False
    """Add the column `language_shares`: the languages of the paragraphs, with their shares of the text."""
    keep_paragraphs: bool = False
    """Take the paragraphs out that are in no language of `keep` (each a line of the ledger); judge what is left."""

    @property
    def adds(self) -> tuple[pa.Field, ...]:
        columns = [pa.field("language", pa.large_string()), pa.field("language_score", pa.float64())]
        columns.append(pa.field("language_label", pa.large_string()))
        return (*columns, pa.field("language_shares", _SHARES)) if self.shares else tuple(columns)

    def check(self) -> None:
        if not 0 <= self.min_score < 1:
            raise StageFault("min_score", f"{self.min_score} is no probability below 1")
        if self.characters < 0:
            raise StageFault("characters", f"{self.characters}: give 0 for all, or how many")
        if self.keep_paragraphs and not self.keep:
            raise StageFault("keep_paragraphs", "needs `keep`: which languages are to stay?")
        if self.engine == "lid176" and (self.shares or self.keep_paragraphs):
            key = "shares" if self.shares else "keep_paragraphs"
            raise StageFault(key, "lid176 judges whole documents only; take another engine")
        self._check_engine()
        self._check_labels()

    def _check_engine(self) -> None:
        if self.engine == "lid176":
            try:
                lid176.path()
            except FileNotFoundError as error:
                raise StageFault("engine", str(error)) from None
        elif not cld2.available():
            problem = "pycld2 is not installed (it has no wheel for CPython 3.14 and for Linux on arm64)"
            if self.engine == "cld2":
                raise StageFault("engine", f"{problem}; install it from its source, or take another engine")
            if self.engine == "combined":
                warnings.warn(f"{problem}: languages are identified by py3langid alone", stacklevel=2)

    def _check_labels(self) -> None:
        for language in self.keep:
            if problem := complaint(language):
                raise StageFault("keep", problem)
        if not self.keep:
            return
        known = frozenset(lid176.labels()) if self.engine == "lid176" else nameable(self.engine)
        for language in self.keep:
            if language in NAMES and not members((language,)) & known:
                problem = f"engine {self.engine} does not know {language!r} ({NAMES[language]})"
                if self.engine != "lid176" and language in lid176.labels():
                    problem += "; engine lid176 does"
                raise StageFault("keep", problem)

    def resources(self) -> Mapping[str, str]:
        if self.engine == "lid176":
            return {lid176.MODEL: lid176.digest()}
        found = {"py3langid": langid.digest()} if self.engine != "cld2" else {}
        return found | {"cld2": "used" if self.engine != "py3langid" and cld2.available() else "not used"}

    def load(self) -> None:
        if self.engine == "lid176":
            lid176.model()
        self.identify("The first sentence loads models, tables and compiled code. Das zweite auch.")

    def judge(self, document: Document) -> Verdict:
        text, removed = document.text, []
        pieces: list[Paragraph] = []
        if self.shares or self.keep_paragraphs:
            pieces = paragraphs(text, self.engine)
        if self.keep_paragraphs:
            wanted = members(self.keep)
            removed = [piece for piece in pieces if piece.label not in wanted]
            if len(removed) < len(pieces):
                pieces = [piece for piece in pieces if piece.label in wanted]
                text = "".join(piece.text for piece in pieces).rstrip("\n") if removed else text
            else:
                removed = []
        answer = self.identify(text)
        drop = self._drop(answer)
        if drop is not None:
            return drop
        columns: dict[str, Any] = {"language": answer.label, "language_score": answer.score}
        columns["language_label"] = answer.iso_label
        if self.shares:
            columns["language_shares"] = [{"language": k, "share": v} for k, v in shares(pieces).items()]
        spans = [Span("language", piece.text, None, None, piece.label) for piece in removed]
        return Keep(text=text if removed else None, columns=columns, spans=spans)

    def _drop(self, answer: Answer) -> Drop | None:
        """Return why the document goes, or None."""
        if not self.keep:
            score = 0.0 if answer.label == NO_LANGUAGE else answer.score
            if score > self.min_score or not self.min_score:
                return None
            rule = "language" if answer.label == NO_LANGUAGE else "score"
            return Drop(rule, score, self.min_score, answer.label)
        wanted = members(self.keep)
        each = [p for label, p in answer.probabilities.items() if label in wanted]
        score = max(each, default=0.0) if self.engine == "lid176" else min(1.0, sum(each))
        if answer.label == UNDETERMINED and UNDETERMINED in wanted:
            return None
        if score > self.min_score:
            return None
        if answer.label in wanted or answer.label == UNDETERMINED:
            return Drop("score", score, self.min_score, answer.label)
        return Drop("language", score, self.min_score, f"{answer.label} {answer.score:.3f}")

    def identify(self, text: str) -> Answer:
        """Return the language of `text`, as the engine of this stage has it."""
        text = text[: self.characters] if self.characters else text
        if self.engine != "lid176":
            return identify(text, self.engine)
        return _by_lid176(text, bool(self.keep))


def _by_lid176(text: str, every: bool) -> Answer:
    """Return lid.176's answer, with the scores of all its labels where `every` is true."""
    label, score = lid176.predict(text)[0]
    probabilities = dict(lid176.predict(text, -1)) if every else {label: score}
    script = SCRIPTS[int(read(text).letters.argmax())]
    return Answer(label, iso_label(label, script), score, probabilities)
