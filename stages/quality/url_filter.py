"""Documents whose address is on a list, or made of words that are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Drop, StageFault, Verdict
from stages.quality import lists

_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, kw_only=True)
class UrlFilter(DocumentStage):
    """Drop documents by their address: domains, addresses, words and pieces of text that are on lists of yours.

    The order of datatrove 0.10.1: domain, address, word, soft words, substring. A listed domain covers all below it. Hosts
    are compared in canonical form: lower case, punycode, without port, user, trailing dot and ``www.``. Lists are
    files of one entry a line, plain or gzip, or files that a package brings along (``package://name/file.txt``); `#`
    begins a remark. A document without an address stays.
    """

    name: ClassVar[str] = "url_filter"
    published: ClassVar[str] = "FineWeb, arXiv:2406.17557; RefinedWeb, arXiv:2306.01116; datatrove 0.10.1"
    path_fields: ClassVar[tuple[str, ...]] = (
        "domain_lists",
        "url_lists",
        "word_lists",
        "soft_word_lists",
        "substring_lists",
    )
    needs: ClassVar[tuple[str, ...]] = ("url",)
    only_drops: ClassVar[bool] = True

    domains: tuple[str, ...] = ()
    """Hosts whose documents, and those of all hosts below them, are dropped (domain)."""
    domain_lists: tuple[str, ...] = ()
    """Lists of such hosts."""
    urls: tuple[str, ...] = ()
    """Addresses that are dropped (url); scheme, ``www.``, fragment and a closing slash make no difference."""
    url_lists: tuple[str, ...] = ()
    """Lists of such addresses."""
    words: tuple[str, ...] = ()
    """Words of which one in the address is enough: dropped (word). Words are runs of letters and digits in lower case."""
    word_lists: tuple[str, ...] = ()
    """Lists of such words."""
    soft_words: tuple[str, ...] = ()
    """Words of which `soft_word_threshold` in the address are enough: dropped (soft_words)."""
    soft_word_lists: tuple[str, ...] = ()
    """Lists of such words."""
    soft_word_threshold: int = 2
    """So many soft words, counted as often as they occur, drop a document."""
    substrings: tuple[str, ...] = ()
    """Pieces of text of which one anywhere in the address is enough: dropped (substring)."""
    substring_lists: tuple[str, ...] = ()
    """Lists of such pieces."""

    def check(self) -> None:
        for key in self.path_fields:
            lists.checked(key, getattr(self, key))
        kinds = ("domains", "urls", "words", "soft_words", "substrings")
        if not any(getattr(self, kind) or getattr(self, f"{kind[:-1]}_lists") for kind in kinds):
            raise StageFault(
                "domains", "nothing is listed: give domains, urls, words, soft_words or substrings, or lists"
            )
        for host in self.domains:
            if not canonical_host(host):
                raise StageFault("domains", f"{host!r} is no host, such as example.org")
        if self.soft_word_threshold < 1:
            raise StageFault("soft_word_threshold", f"{self.soft_word_threshold}: give at least 1")

    def resources(self) -> Mapping[str, str]:
        return {k: v for key in self.path_fields for k, v in lists.digests(getattr(self, key), key).items()}

    def load(self) -> None:
        _rules(self)

    def judge(self, document: Document) -> Verdict:
        url = document.get("url")
        if not isinstance(url, str) or not url:
            return None
        rules = _rules(self)
        host, whole = canonical(url)
        labels = host.split(".")
        if rules.domains:
            for n in range(len(labels)):
                if (name := ".".join(labels[n:])) in rules.domains:
                    return Drop("domain", detail=name)
        if whole in rules.urls:
            return Drop("url", detail=whole)
        lower = unquote(whole).lower()
        words = _WORDS.findall(lower)
        if hard := next((word for word in words if word in rules.words), None):
            return Drop("word", detail=hard)
        soft = [word for word in words if word in rules.soft_words]
        if len(soft) >= self.soft_word_threshold:
            return Drop("soft_words", len(soft), self.soft_word_threshold, " ".join(soft)[:200])
        if rules.substrings and (found := rules.substrings.search(lower)):
            return Drop("substring", detail=found.group())
        return None


@dataclass(frozen=True)
class _Rules:
    """What a stage looks for."""

    domains: frozenset[str]
    urls: frozenset[str]
    words: frozenset[str]
    soft_words: frozenset[str]
    substrings: re.Pattern[str] | None


@lru_cache(maxsize=8)
def _rules(stage: UrlFilter) -> _Rules:
    def whole(given: tuple[str, ...], paths: tuple[str, ...]) -> list[str]:
        return [*given, *(entry for path in paths for entry in lists.entries(path))]

    pieces = sorted({piece.lower() for piece in whole(stage.substrings, stage.substring_lists)}, key=len, reverse=True)
    return _Rules(
        frozenset(filter(None, map(canonical_host, whole(stage.domains, stage.domain_lists)))),
        frozenset(canonical(url)[1] for url in whole(stage.urls, stage.url_lists)),
        frozenset(map(str.lower, whole(stage.words, stage.word_lists))),
        frozenset(map(str.lower, whole(stage.soft_words, stage.soft_word_lists))),
        re.compile("|".join(map(re.escape, pieces))) if pieces else None,
    )


def canonical_host(host: str) -> str:
    """Return `host` in lower case and punycode, without port, user, trailing dot and ``www.``; empty: it is none.

    >>> canonical_host("WWW.Bücher.example:80")
    'xn--bcher-kva.example'
    """
    return canonical(host)[0]


def canonical(url: str) -> tuple[str, str]:
    """Return (host, address) in canonical form: no scheme, no fragment, no closing slash; path and query as they are."""
    try:
        parts = urlsplit(url.strip() if "//" in url else f"//{url.strip()}")
        host = (parts.hostname or "").rstrip(".")
    except ValueError:  # such as a bracket that is not closed
        return "", url
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            host = host.lower()
    host = host.removeprefix("www.")
    query = f"?{parts.query}" if parts.query else ""
    return host, f"{host}{parts.path}{query}".rstrip("/")
