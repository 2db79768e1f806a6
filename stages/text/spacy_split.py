"""spaCy's English word splitting, asked one whitespace-delimited chunk at a time.

spaCy's tokenizer looks at each run of non-space characters by itself, save for one last step: it merges
sequences of tokens that make up a known special case, such as ``:`` ``)``, and a sequence that begins in one
chunk and ends in the next cannot be merged but can keep an overlapping one from being merged. `Seams` finds
the places where that may happen; there, and only there, the whole text has to be split at once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.documents import clean_text

MOST_WORK = 25_000_000
LONGEST_CHUNK = 100_000
"""A chunk is one word where its length times its marks (what is neither letter nor digit) is above `MOST_WORK`, or
where it is longer than this and not of letters alone: spaCy strips marks one by one, each time copying the rest."""

_LOWER = "a-zß-öø-ÿāăąćčďđēĕęěğīıłńňōőœřśşšţťūůűźżžа-яё"
_WORD = f"[A-ZÀ-ÖØ-Þ{_LOWER}А-ЯЁ]+[{_LOWER}]"
_SHAPE = re.compile(
    rf"""([(\[“„"«»*–\#]?)({_WORD}(?:-{_WORD})*)((?!\)[:]|;\)|:[)\]]|\.\.|……)[)\]”“"»«,.;:!?…]{{0,2}})"""
)
_HYPHEN = re.compile("(-)")
_AT_ONCE = 10_000
_BETWEEN = "  "  # two spaces are a token of their own, over which no special case reaches


class Seams:
    """Pairs of neighbouring chunks at which splitting chunk by chunk might differ from splitting the whole text."""

    def __init__(self, tokenizer: Any):
        plain = _without_special_cases(tokenizer)
        raw = {case: [t.text for t in plain(case)] for case in tokenizer.rules if not case.isspace()}
        spans = [tokens for tokens in raw.values() if len(tokens) > 1]
        changed = [tokens for case, tokens in raw.items() if tokens != [t.text for t in tokenizer(case)]]
        holding: dict[str, set[tuple[str, ...]]] = {}
        for tokens in changed:
            for token in tokens:
                holding.setdefault(token, set()).add(tuple(tokens))
        self.pairs: dict[str, set[str]] = {}
        for span in spans:
            for merged in {merged for token in span for merged in holding.get(token, ())}:
                for left, right in _overlaps(span, merged):
                    self.pairs.setdefault(left, set()).add(right)
        self._ends = _by_character(self.pairs, -1)
        self.starts = {right for rights in self.pairs.values() for right in rights}
        self._starts = _by_character(self.starts, 0)

    def ends_at(self, chunk: str) -> bool:
        """Tell whether `chunk` can be the left side of a seam."""
        return any(chunk[-length:] in self.pairs for length in self._ends.get(chunk[-1], ()))

    def starts_at(self, chunk: str) -> bool:
        """Tell whether `chunk` can be the right side of a seam."""
        return any(chunk[:length] in self.starts for length in self._starts.get(chunk[0], ()))

    def between(self, left: str, right: str) -> bool:
        """Tell whether the chunks `left` and `right` meet in a seam."""
        ends = (left[-length:] for length in self._ends.get(left[-1], ()))
        return any(right.startswith(tuple(self.pairs[end])) for end in ends if end in self.pairs)


def _by_character(strings: Iterable[str], place: int) -> dict[str, list[int]]:
    """Return the first (0) or last (-1) character of `strings` -> the lengths of those that have it there."""
    lengths: dict[str, set[int]] = {}
    for string in strings:
        lengths.setdefault(string[place], set()).add(len(string))
    return {character: sorted(found) for character, found in lengths.items()}


def _overlaps(span: Sequence[str], merged: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (end of left chunk, start of right chunk) where `span` reaches over both and meets `merged` in one."""
    for cut in range(1, len(span)):
        for end in range(1, cut + 1):
            start = end - len(merged)
            if all(span[i] == merged[i - start] for i in range(max(0, start), end)):
                left = "".join(merged) + "".join(span[end:cut]) if start <= 0 else "".join(span[:cut])
                yield left, span[cut]
        for start in range(cut, len(span)):
            end = start + len(merged)
            if all(span[i] == merged[i - start] for i in range(start, min(len(span), end))):
                right = "".join(span[cut:start]) + "".join(merged) if end >= len(span) else "".join(span[cut:])
                yield span[cut - 1], right


def _without_special_cases(tokenizer: Any) -> Any:
    return type(tokenizer)(
        tokenizer.vocab,
        {},
        tokenizer.prefix_search,
        tokenizer.suffix_search,
        tokenizer.infix_finditer,
        tokenizer.token_match,
        tokenizer.url_match,
    )


@functools.cache
def _pipeline() -> Any:
    import spacy  # 0.6 s, and not every run needs it

    nlp: Any = spacy.blank("en")
    nlp.vocab.lex_attr_getters.clear()  # what is known of a token beside its text costs more than finding it
    return nlp


@functools.cache
def seams() -> Seams:
    """Return the seams of spaCy's English special cases."""
    return Seams(_pipeline().tokenizer)


@functools.cache
def _rules() -> frozenset[str]:
    return frozenset(_pipeline().tokenizer.rules)


def split_text(text: str) -> list[tuple[int, str]]:
    """Return the tokens of `text`, which is valid Unicode, as spaCy splits it whole: (offset, token)."""
    nlp = _pipeline()
    with nlp.memory_zone():
        return [(token.idx, token.text) for token in nlp.tokenizer(text)]


def edges(chunk: str) -> int:
    """Return 1 where `chunk` can be the left side of a seam, 2 the right side, 3 both."""
    found = seams()
    if chunk.isalpha():  # a token by itself
        return (chunk in found.pairs) + 2 * (chunk in found.starts)
    return found.ends_at(chunk) + 2 * found.starts_at(chunk)


def split_chunks(chunks: Sequence[str]) -> list[Sequence[str]]:
    """Return the words of each of `chunks`, which hold no white space, as spaCy splits each by itself."""
    rules = _rules()
    words = [_easy(chunk, rules) for chunk in chunks]
    hard = [n for n, found in enumerate(words) if not found]
    if hard:
        for n, found in zip(hard, _split_hard([chunks[n] for n in hard]), strict=True):
            words[n] = found
    return words


def _easy(chunk: str, rules: frozenset[str]) -> Sequence[str]:
    """Return the words of `chunk` where they are plain to see; empty: not so plain.

    Plain are runs of letters or digits, and words of common letters, perhaps joined by hyphens, with at most one
    mark before and two behind. The tests hold each kind against spaCy.
    """
    if chunk in rules:
        return ()
    if chunk.isalpha() or (chunk.isdecimal() and chunk.isascii()):
        return (chunk,)
    shape = _SHAPE.fullmatch(chunk)
    if shape is None:
        return (chunk,) if is_endless(chunk) else ()
    before, stem, behind = shape.groups()
    if "-" not in stem:
        if stem in rules or (behind and (stem + behind[0] in rules or before + stem + behind[0] in rules)):
            return ()
        return (before, stem, *behind) if before else (stem, *behind)
    parts = _HYPHEN.split(stem)
    if not rules.isdisjoint(parts) or (behind and parts[-1] + behind[0] in rules):
        return ()
    return (before, *parts, *behind) if before else (*parts, *behind)


def is_endless(chunk: str) -> bool:
    """Tell whether spaCy would take seconds for `chunk`, so that it counts as one word."""
    length = len(chunk)
    if length * length <= MOST_WORK:
        return False
    return length > LONGEST_CHUNK or length * (length - sum(map(str.isalnum, chunk))) > MOST_WORK


def _split_hard(chunks: list[str]) -> Iterator[Sequence[str]]:
    """Yield the words of each of `chunks`, split by spaCy many in a call."""
    for at in range(0, len(chunks), _AT_ONCE):
        yield from _split_together(chunks[at : at + _AT_ONCE])


def _split_together(chunks: list[str]) -> Iterator[Sequence[str]]:
    nlp = _pipeline()
    with nlp.memory_zone():
        tokens = [token.text for token in nlp.tokenizer(_BETWEEN.join(map(clean_text, chunks)))]
    found: list[str] = []
    for token in tokens:
        if token.isspace():
            yield found
            found = []
        else:
            found.append(token)
    yield found
