"""spaCy's English word splitting, asked one whitespace-delimited chunk at a time.

spaCy's tokenizer looks at each run of non-space characters by itself, save for one last step: it merges
sequences of tokens that make up a known special case, such as ``:`` ``)``, and a sequence that begins in one
chunk and ends in the next cannot be merged but can keep an overlapping one from being merged. `Seams` finds
the places where that may happen; there, and only there, the whole text has to be split at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stages.text.spacy_table import Tables, make_tables

MOST_WORK = 25_000_000
LONGEST_CHUNK = 100_000
"""A chunk is one word where its length times its marks (what is neither letter nor digit) is above `MOST_WORK`, or
where it is longer than this and not of letters alone: spaCy strips marks one by one, each time copying the rest."""

_AT_ONCE = 10_000
_REACH = 40  # code points, more than the longest special case
_MOST_REMEMBERED = 300_000
_LONGEST_REMEMBERED = 200
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
        self._ends = _by_last(self.pairs)

    def between(self, left: str, right: str) -> bool:
        """Tell whether the chunks `left` and `right` meet in a seam."""
        ends = (left[-length:] for length in self._ends.get(left[-1], ()))
        return any(right.startswith(tuple(self.pairs[end])) for end in ends if end in self.pairs)


def _by_last(strings: Iterable[str]) -> dict[str, list[int]]:
    """Return the last character of `strings` -> the lengths of those that have it there."""
    lengths: dict[str, set[int]] = {}
    for string in strings:
        lengths.setdefault(string[-1], set()).add(len(string))
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
def tables() -> Tables:
    """Return what the scanner of spaCy's words asks."""
    tokenizer = _pipeline().tokenizer
    plain = _without_special_cases(tokenizer)
    cases = [case for case in tokenizer.rules if not case.isspace()]
    special, apart = ({case: [t.text for t in split(case)] for case in cases} for split in (tokenizer, plain))
    return make_tables(_pipeline().Defaults, special, apart)


def split_text(text: str) -> list[tuple[int, str]]:
    """Return the tokens of `text`, which is valid Unicode, as spaCy splits it whole: (offset, token)."""
    nlp = _pipeline()
    with nlp.memory_zone():
        return [(token.idx, token.text) for token in nlp.tokenizer(text)]


def has_seam(text: str, start: int, end: int) -> bool:
    """Tell whether the chunk ``text[start:end]`` may meet one of its neighbours in a seam."""
    chunk = text[start:end]
    left = text[max(0, start - _REACH) : start].rsplit(None, 1)
    right = text[end : end + _REACH].split(None, 1)
    return bool(left and seams().between(left[-1], chunk)) or bool(right and seams().between(chunk, right[0]))


_remembered: dict[str, tuple[int, ...]] = {}


def split_chunks(chunks: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the lengths of the words of each of `chunks`, which hold no white space, as spaCy splits each by itself."""
    new = [chunk for chunk in dict.fromkeys(chunks) if chunk not in _remembered]
    found: dict[str, tuple[int, ...]] = {}
    if new:
        endless = {chunk for chunk in new if is_endless(chunk)}
        found = {chunk: (len(chunk),) for chunk in endless}
        asked = [chunk for chunk in new if chunk not in endless]
        for chunk, words in zip(asked, _split_all(asked), strict=True):
            found[chunk] = tuple(map(len, words))
    lengths = [found[chunk] if chunk in found else _remembered[chunk] for chunk in chunks]
    if len(_remembered) > _MOST_REMEMBERED:
        _remembered.clear()
    _remembered.update((chunk, words) for chunk, words in found.items() if len(chunk) <= _LONGEST_REMEMBERED)
    return lengths


def is_endless(chunk: str) -> bool:
    """Tell whether spaCy would take seconds for `chunk`, or find a long run of letters whole: it counts as one word."""
    length = len(chunk)
    if length * length <= MOST_WORK:
        return False
    if chunk.isalpha():
        return True
    return length > LONGEST_CHUNK or length * (length - sum(map(str.isalnum, chunk))) > MOST_WORK


def _split_all(chunks: list[str]) -> Iterator[Sequence[str]]:
    """Yield the words of each of `chunks`, split by spaCy many in a call."""
    for at in range(0, len(chunks), _AT_ONCE):
        yield from _split_together(chunks[at : at + _AT_ONCE])


def _split_together(chunks: list[str]) -> Iterator[Sequence[str]]:
    nlp = _pipeline()
    with nlp.memory_zone():
        tokens = [token.text for token in nlp.tokenizer(_BETWEEN.join(chunks))]
    found: list[str] = []
    for token in tokens:
        if token.isspace():
            yield found
            found = []
        else:
            found.append(token)
    yield found
