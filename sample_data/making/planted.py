"""What is planted: each case is put into the crawl and noted, with what must become of it."""

from __future__ import annotations

import json
import zlib

from making.bad_pages import plant_hostile, plant_labels, plant_not_pages
from making.broken_rules import plant_rules
from making.compose import Article
from making.crawl import BOOKS, HTML, LETTERS, TEXTS, WARCS, Crawl, composed, whole_text
from making.variants import jaccard, varied, without
from making.warcs import Page, record_id


def plant_all(crawl: Crawl) -> None:
    """Add every planted case."""
    plant_copies(crawl)
    plant_ids(crawl)
    plant_near_copies(crawl)
    plant_languages(crawl)
    plant_rules(crawl)
    plant_leaks(crawl)
    plant_labels(crawl)
    plant_letters(crawl)
    plant_not_pages(crawl)
    plant_hostile(crawl)
    plant_damage(crawl)


def plant_copies(crawl: Crawl) -> None:
    """Exact duplicates: across shards, across formats, and three at once."""
    for article, places in (
        (composed("en-garden", 40), (WARCS[0], WARCS[2])),
        (composed("de-wanderung", 40), (WARCS[1], HTML)),
        (composed("en-sky", 40), (WARCS[0], TEXTS)),
        (composed("en-kitchen", 40), (HTML, TEXTS, WARCS[1])),
        (composed("ja-nikki", 40, 16), (WARCS[2], WARCS[0])),
    ):
        put = [_put(crawl, article, place, f"copies-{place_number}") for place_number, place in enumerate(places)]
        _note_copies(crawl, put, "exact duplicate", "exact_dedup", "exact_duplicate")


def plant_ids(crawl: Crawl) -> None:
    """Two records of a crawl that carry the same id."""
    id = record_id("https://twin.mirror.example/")
    for number, file in enumerate(WARCS[:2]):
        article = composed("en-kitchen", 42 + number)
        url = crawl.page(file, article, id=id)
        crawl.plant(url, file, "one of two records that share an id", "kept", detail=article.paragraphs[0][:60])


def plant_near_copies(crawl: Crawl) -> None:
    """Near-duplicates of several similarities, above and below the threshold of 0.8."""
    for article, copy, places in (
        (composed("en-places", 41), lambda a: varied(a, 3), (WARCS[0], WARCS[1])),
        (composed("en-travel", 41), lambda a: varied(a, 7), (WARCS[1], HTML)),
        (composed("en-workshop", 41), lambda a: varied(a, 11), (WARCS[2], WARCS[0])),
        (composed("de-wanderung", 41), lambda a: without(a, 2), (WARCS[2], HTML)),
        (composed("ja-nikki", 41, 20), lambda a: without(a, 2, "。"), (WARCS[0], WARCS[1])),
        (composed("en-station", 41), lambda a: varied(a, 32), (WARCS[1], WARCS[2])),
    ):
        other = copy(article)
        similarity = jaccard(whole_text(article), whole_text(other))
        put = [_put(crawl, article, places[0], "first"), _put(crawl, other, places[1], "second")]
        if similarity < 0.8:
            for name, place in put:
                what = f"near-duplicate of similarity {similarity:.4f}, below the threshold"
                crawl.plant(name, place, what, "kept")
        else:
            _note_copies(crawl, put, "near-duplicate", "minhash_dedup", "near_duplicate", f"{similarity:.4f}")


def _put(crawl: Crawl, article: Article, place: str, where: str) -> tuple[str, str]:
    """Put `article` into the file `place` under an address of its own; return its id and the file."""
    url = f"https://{where}.mirror.example/{article.name}"
    if place == TEXTS:
        return crawl.text(article, f"text-{where}-{article.name}", url), place
    crawl.page(place, article, url)
    return (f"{HTML}#{len(crawl.html) - 1}" if place == HTML else record_id(url)), place


def _note_copies(crawl: Crawl, put: list[tuple[str, str]], what: str, stage: str, rule: str, value: str = "") -> None:
    """Note that of the documents `put` the first by id stays and the others are dropped in its favour."""
    kept = min(name for name, _ in put)
    for name, place in put:
        if name == kept:
            crawl.plant(name, place, f"{what}, the first by id", "kept")
        else:
            crawl.plant(name, place, what, "dropped", stage, rule, f"kept {kept}", value)


def plant_languages(crawl: Crawl) -> None:
    """Pages in languages that the recipe does not keep, and one in no language in particular."""
    for language, name in (("it", "funivia"), ("nl", "dijk")):
        crawl.plant(
            f"https://{language}.common-notebook.example/{name}", WARCS[0 if language == "it" else 1],
            f"a page in another language ({language})", "dropped", "language", "language", f"{language} ",
        )  # fmt: skip
        crawl.written_page(WARCS[0 if language == "it" else 1], language, name)
    parts = [composed(n, 45, 16).paragraphs[0] for n in ("en-sky", "de-wanderung", "fr-carnet", "es-taller")]
    mixed = Article("mixed-visitors-book", "en", "Visitors' book", tuple(parts))
    crawl.text(mixed, "text-mixed")
    crawl.plant("text-mixed", TEXTS, "four languages in equal parts", "dropped", "language", MIXED_RULE)


MIXED_RULE = "score"


def plant_leaks(crawl: Crawl) -> None:
    """Evaluation items whole, re-wrapped every eight words, and an overlap too small to count."""
    quiz, sums = crawl.evals("workshop-quiz"), crawl.evals("river-sums")
    host = composed("en-workshop", 50, 12)
    whole = (*host.paragraphs[:2], f"{quiz[0]['question']} {quiz[0]['answer']}", *host.paragraphs[2:])
    url = crawl.page(WARCS[0], Article("leak-whole", "en", "Questions from the guild exam", whole))
    crawl.plant(url, WARCS[0], "an evaluation item whole", *LEAKED, "workshop-quiz, item workshop-1")

    host = composed("en-station", 50, 12)
    lines = _wrapped(f"{sums[0]['question']} {sums[0]['answer']}")
    url = crawl.page(HTML, Article("leak-wrapped", "en", "Sums for a rainy day", (*host.paragraphs, *lines)))
    crawl.plant(url, HTML, "an evaluation item with a line break every eight words", *LEAKED, "river-sums, item sum-1")

    host = composed("en-software", 50, 12)
    text = "\n".join([whole_text(host), *_wrapped(quiz[2]["question"].upper() + " " + quiz[2]["answer"])])
    crawl.book("book-leak", text)
    crawl.plant("book-leak", BOOKS, "the same in capitals, in a book", *LEAKED, "workshop-quiz, item workshop-3")

    host = composed("en-places", 50, 14)
    little = " ".join(sums[1]["question"].split()[:14])
    url = crawl.page(
        WARCS[2], Article("no-leak", "en", "At the lock", (*host.paragraphs, f"He said: {little}, and so on."))
    )
    crawl.plant(url, WARCS[2], "fourteen words of an evaluation item, no leak", "kept", detail=little)


LEAKED = ("dropped", "decontaminate", "contaminated")


def _wrapped(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + 8]) for at in range(0, len(words), 8)]


def plant_letters(crawl: Crawl) -> None:
    """Odd lines of JSON: surrogates, missing and repeated ids, NUL, and lines that are no documents."""
    number = iter(range(60, 80))

    def article() -> Article:
        return composed("en-travel", next(number), 14)

    text = whole_text(article()).replace(", and", " \ud83d, and", 1)
    crawl.letter(json.dumps({"id": "letter-surrogate", "text": text}).encode())
    crawl.plant("letter-surrogate", LETTERS, "a lone surrogate, which becomes U+FFFD", "kept", detail="\ufffd, and")

    twins = [article(), article()]
    for twin in twins:
        crawl.letter(json.dumps({"id": "letter-twin", "text": whole_text(twin)}).encode())
        detail = twin.paragraphs[0][:60]
        crawl.plant("letter-twin", LETTERS, "one of two documents that share an id", "kept", detail=detail)

    own = article()
    offset = crawl.letter(json.dumps({"text": whole_text(own)}).encode())
    crawl.plant(f"{LETTERS}#{offset}", LETTERS, "a document without an id", "kept", detail=own.paragraphs[0][:60])

    text = whole_text(article()).replace(" and ", " \0and\0 ", 2)
    crawl.letter(json.dumps({"id": "letter-nul", "text": text}).encode())
    crawl.plant("letter-nul", LETTERS, "NUL characters in the text", "kept", detail="\\0")

    offset = crawl.letter(b'{"id": "letter-torn", "text": "The line breaks off in the mid')
    crawl.plant(f"{LETTERS}#{offset}", LETTERS, "a line that is no JSON", "failed", "read", "bad_json")
    offset = crawl.letter(b'["no", "object"]')
    crawl.plant(f"{LETTERS}#{offset}", LETTERS, "a line that is a list", "failed", "read", "not_an_object")
    crawl.letter(json.dumps({"id": "letter-null", "text": None}).encode())
    crawl.plant("letter-null", LETTERS, "a line whose text is null", "failed", "read", "no_text")
    crawl.letter(json.dumps({"id": "letter-empty", "text": ""}).encode())
    crawl.plant("letter-empty", LETTERS, "a document of no text at all", "dropped", "extract", "no_text")
    latin = whole_text(article()).replace("Dear", "D\xe9ar", 1)
    crawl.letter(json.dumps({"id": "letter-latin", "text": latin}, ensure_ascii=False).encode("latin-1"))
    crawl.plant("letter-latin", LETTERS, "a line in latin-1, not UTF-8", "kept", detail="D\ufffdar")


def plant_damage(crawl: Crawl) -> None:
    """Records damaged in the middle of a shard and cut at its end; they come last, where nothing follows."""
    article = composed("en-garden", 90)
    url = "https://damaged.mirror.example/" + article.name
    pages = crawl.warcs[WARCS[1]]
    crawl.page(WARCS[1], article, url, damaged=True)
    pages.insert(len(pages) // 2, pages.pop())
    crawl.plant(url, WARCS[1], "a gzip member overwritten in the middle of a shard", "failed", "read", "damaged_record")

    article = composed("en-garden", 91)
    url = crawl.page(WARCS[0], article, truncated="length")
    page = crawl.warcs[WARCS[0]].pop()
    half = page.body[: page.body.rindex(b"</p>")].rsplit(b"<p>", 1)[0] + b"<p>Here the crawler stopped"
    crawl.warcs[WARCS[0]].append(Page(url, half, truncated="length"))
    crawl.plant(
        url, WARCS[0], "a record that the crawler truncated (WARC-Truncated)", "kept", detail=article.paragraphs[0][:60]
    )

    article = composed("en-garden", 92)
    url = crawl.page(WARCS[1], article)
    page = crawl.warcs[WARCS[1]].pop()
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = packed.compress(page.body) + packed.flush()
    broken = b"\x1f\x8b\x08\x00" + body[200:900]
    crawl.warcs[WARCS[1]].append(Page(url, broken, coding="stored gzip"))
    crawl.plant(url, WARCS[1], "a body that is not gzip as its header says", "failed", "read", "bad_content_encoding")

    article = composed("en-garden", 93)
    url = crawl.page(WARCS[2], article, cut=True)
    crawl.plant(url, WARCS[2], "a record cut in half by the end of the file", "failed", "read", "cut_file")
