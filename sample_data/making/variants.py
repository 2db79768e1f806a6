"""Near-duplicates, and how similar they are: Jaccard similarity of the sets of five-word shingles."""

from __future__ import annotations

import re
import unicodedata

from making.compose import Article

_UNITS = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3005-\u3007\u3040-\u30ff\u3400-\u9fff]+"
)
_INSERTED = (
    "perhaps", "again", "gladly", "somewhat", "indeed", "quietly", "mostly", "by chance", "of course", "as ever",
    "slowly", "in truth",
)  # fmt: skip


def shingles(text: str, size: int = 5) -> set[tuple[str, ...]]:
    """Return the shingles of `text`: runs of words without case, accents and punctuation; kana and Han one by one."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not 0x300 <= ord(c) <= 0x36F)
    units = _UNITS.findall(unicodedata.normalize("NFC", plain))
    return {tuple(units[i : i + size]) for i in range(len(units) - size + 1)}


def jaccard(one: str, other: str) -> float:
    """Return the share of shingles that two texts have in common."""
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


def varied(article: Article, count: int) -> Article:
    """Return `article` with `count` words put in, evenly spread."""
    words = [paragraph.split(" ") for paragraph in article.paragraphs]
    places = [(p, w) for p, paragraph in enumerate(words) for w in range(1, len(paragraph) - 1)]
    step = len(places) / count
    for number in range(count - 1, -1, -1):
        paragraph, word = places[int((number + 0.5) * step)]
        words[paragraph].insert(word, _INSERTED[number % len(_INSERTED)])
    return Article(article.name + "-copy", article.language, article.title, tuple(" ".join(w) for w in words))


def without(article: Article, sentences: int, stop: str = ". ") -> Article:
    """Return `article` without the last `sentences` sentences of its longest paragraph."""
    longest = max(range(len(article.paragraphs)), key=lambda n: len(article.paragraphs[n]))
    parts = article.paragraphs[longest].split(stop)
    kept = stop.join(parts[:-sentences]) + stop.strip()
    paragraphs = (*article.paragraphs[:longest], kept, *article.paragraphs[longest + 1 :])
    return Article(article.name + "-copy", article.language, article.title, paragraphs)
