"""Pages of prose out of a grammar: sentences with slots, each sentence at most once a page.

A grammar file has four parts. ``[page]`` lists what is chosen once per page, and the title; ``[words]`` what is
chosen anew each time; ``[open]``, ``[body]`` and ``[close]`` hold one sentence a line. In a sentence ``<name>`` is
a word of a list, ``(a|b|c)`` a choice written in place, ``<#3-9>`` a number. Lines that start with # are comments.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

_SLOT = re.compile(r"<#(\d+)-(\d+)>|<([a-z]+)>|\(([^()]*\|[^()]*)\)")
_VOWEL = re.compile(r"\b([Aa]) (?=[aeio])")


class Dice:
    """Choices that depend on the seed alone, on any version of Python."""

    def __init__(self, seed: str):
        self._seed = seed.encode()
        self._count = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 to ``limit - 1``."""
        self._count += 1
        data = hashlib.blake2b(self._seed + b"\0%d" % self._count, digest_size=8).digest()
        return int.from_bytes(data, "little") % limit

    def pick(self, items: Sequence[T]) -> T:
        """Return one of `items`."""
        return items[self.below(len(items))]

    def order(self, items: Sequence[T]) -> list[T]:
        """Return `items` shuffled."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]


@dataclass
class Grammar:
    """A grammar as read: lists by name, sentences by part."""

    title: str = ""
    page: dict[str, list[str]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    close: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Article:
    """A title and paragraphs, in the language `language`, called `name`."""

    name: str
    language: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def text(self) -> str:
        """The paragraphs, one a line."""
        return "\n".join(self.paragraphs)


def read_article(path: pathlib.Path) -> Article:
    """Return the article in `path`: the title in its first line, then paragraphs parted by empty lines."""
    title, _, rest = path.read_text("utf-8").partition("\n")
    paragraphs = tuple(" ".join(p.split()) for p in rest.split("\n\n") if p.strip())
    return Article(path.stem, path.parent.name, title.strip(), paragraphs)


def read_grammar(path: pathlib.Path) -> Grammar:
    """Return the grammar in `path`."""
    grammar = Grammar()
    part = ""
    for line in path.read_text("utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            part = line.strip("[]")
        elif line.startswith("title ="):
            grammar.title = line.partition("=")[2].strip()
        elif part in ("page", "words"):
            name, _, values = line.partition(":")
            getattr(grammar, part)[name] = [value.strip() for value in values.split("|")]
        else:
            getattr(grammar, part).append(line)
    return grammar


def compose(grammar: Grammar, language: str, name: str, sentences: int) -> Article:
    """Return the page called `name`, with `sentences` body sentences in paragraphs of three to six."""
    dice = Dice(name)
    fixed = {key: dice.pick(values) for key, values in grammar.page.items()}
    spent: dict[str, list[str]] = {}

    def word(key: str) -> str:
        if key in fixed:
            return fixed[key]
        if not spent.get(key):  # every word of a list before any comes again
            spent[key] = dice.order(grammar.words[key])
        return spent[key].pop()

    def fill(template: str) -> str:
        def slot(match: re.Match[str]) -> str:
            low, high, key, choices = match.groups()
            if key:
                return word(key)
            if choices:
                return dice.pick(choices.split("|"))
            return str(int(low) + dice.below(int(high) - int(low) + 1))

        text = _SLOT.sub(slot, template)
        if language == "en":
            text = _VOWEL.sub(r"\1n ", text)
        return text[0].upper() + text[1:]

    body = [fill(s) for s in dice.order(grammar.body)[:sentences]]
    whole = [fill(dice.pick(grammar.open)), *body, fill(dice.pick(grammar.close))]
    paragraphs = []
    gap = "" if language == "ja" else " "
    while whole:
        size = 3 + dice.below(4)
        if len(whole) - size < 2:
            size = len(whole)
        paragraphs.append(gap.join(whole[:size]))
        whole = whole[size:]
    return Article(name, language, fill(grammar.title), tuple(paragraphs))
