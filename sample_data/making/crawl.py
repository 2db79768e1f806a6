"""The crawl as it grows: which page goes into which file, and what is planted."""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass, field
from typing import Any

from making.compose import Article, Dice, compose, read_article, read_grammar
from making.pages import Dress, render
from making.warcs import Page

HERE = pathlib.Path(__file__).resolve().parents[1]
WARCS = ("crawl/crawl-00000.warc.gz", "crawl/crawl-00001.warc.gz", "crawl/crawl-00002.warc.gz")
HTML = "crawl/articles.parquet"
TEXTS = "crawl/texts.parquet"
BOOKS = "crawl/books.jsonl.zst"
LETTERS = "crawl/letters.jsonl.gz"
COLUMNS = ("document", "file", "what", "must", "stage", "rule", "detail", "value")


@dataclass
class Crawl:
    """What the files will hold."""

    warcs: dict[str, list[Page]] = field(default_factory=lambda: {name: [] for name in WARCS})
    html: list[dict[str, Any]] = field(default_factory=list)
    texts: list[dict[str, Any]] = field(default_factory=list)
    books: list[bytes] = field(default_factory=list)
    letters: list[bytes] = field(default_factory=list)
    planted: list[dict[str, str]] = field(default_factory=list)
    titles: list[tuple[str, str]] = field(default_factory=list)

    def page(self, file: str, article: Article, url: str = "", dress: Dress | None = None, **more: Any) -> str:
        """Add the page of `article` to `file`, a WARC file or the Parquet file of pages; return its address."""
        url = url or address(article)
        dress = dress or dress_of(article)
        text = render(article, dress, self.others(article.name))
        self.titles.append((url, article.title))
        if file == HTML:
            self.html_row(url, text, article.language)
        else:
            charset = more.pop("encoding", "utf-8")
            self.warcs[file].append(Page(url, text.encode(charset, "xmlcharrefreplace"), **more))
        return url

    def html_row(self, url: str | None, text: str, language: str = "en") -> None:
        """Add a row to the Parquet file of pages."""
        number = len(self.html)
        fetch = {"status": 200, "milliseconds": 80 + Dice(f"fetch {number}").below(900)}
        self.html.append({"url": url, "html": text, "fetch": fetch, "tags": [language, f"batch-{number // 20}"]})

    def text(self, article: Article, doc: str, link: str | None = None, body: str | None = None) -> str:
        """Add the text of `article` to the Parquet file of texts; return its id."""
        score = Dice(f"score {doc}").below(1000) / 1000
        whole = whole_text(article) if body is None else body
        self.texts.append({"doc": doc, "link": link, "body": whole, "scores": {"editor": score, "votes": [1, 2]}})
        return doc

    def book(self, id: str | None, text: str, **more: Any) -> str:
        """Add a line to the books; return its id."""
        value = {**({} if id is None else {"id": id}), "text": text, **more}
        self.books.append(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return id or ""

    def letter(self, line: bytes) -> int:
        """Add a line to the letters; return the byte at which it begins."""
        offset = sum(len(other) + 1 for other in self.letters)
        self.letters.append(line)
        return offset

    def written_page(self, file: str, language: str, name: str) -> str:
        """Add the page of an article written by hand; return its address."""
        return self.page(file, self.article(language, name))

    def article(self, language: str, name: str) -> Article:
        """Return an article written by hand."""
        return read_article(HERE / "articles" / language / f"{name}.txt")

    def evals(self, name: str) -> list[dict[str, Any]]:
        """Return the items of an evaluation set."""
        lines = (HERE / "evals" / f"{name}.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def plant(self, *values: str, detail: str = "", value: str = "") -> None:
        """Note what must become of a document: the values of `COLUMNS` in their order."""
        row = dict.fromkeys(COLUMNS, "") | {"detail": detail, "value": value}
        self.planted.append(row | dict(zip(COLUMNS, values, strict=False)))

    def others(self, name: str) -> list[tuple[str, str]]:
        """Return pages that the page called `name` links to."""
        return Dice(f"links {name}").order(self.titles[-12:])[:4]


def address(article: Article) -> str:
    """Return where the page of `article` lies."""
    return f"https://{article.language}.common-notebook.example/{article.name}"


def dress_of(article: Article) -> Dress:
    """Return how the page of `article` looks."""
    dice = Dice("dress " + article.name)
    return Dress(dice.pick(("blog", "journal", "wiki")), entities=dice.below(3) == 0)


def whole_text(article: Article) -> str:
    """Return title and paragraphs as an extractor gives them, one a line."""
    return article.title + "\n" + article.text


def grammars() -> list[str]:
    """Return the names of the grammars, sorted."""
    return sorted(path.stem for path in (HERE / "grammars").glob("*.txt"))


def composed(name: str, number: int, sentences: int = 26) -> Article:
    """Return page `number` of the grammar called `name`."""
    grammar = read_grammar(HERE / "grammars" / f"{name}.txt")
    return compose(grammar, name[:2], f"{name}-{number:03d}", min(sentences, len(grammar.body)))


def fill(crawl: Crawl) -> None:
    """Add the ordinary documents: articles and composed pages over all files."""
    places = (WARCS[0], WARCS[1], WARCS[2], HTML, WARCS[0], WARCS[1], WARCS[2], "texts")
    for turn, path in enumerate(sorted((HERE / "articles").glob("*/*.txt"))):
        article = read_article(path)
        if article.name not in SET_ASIDE:
            _put(crawl, article, places[turn % len(places)])
    for name in grammars():
        english = name.startswith("en")
        for number in range(17 if english else 14):
            sentences = 26 if english else 16 if name.startswith("ja") else 20
            _put(crawl, composed(name, number, sentences), places[(number + len(name)) % len(places)])
        for number in range(20, 27 if english else 22):
            article = composed(name, number, 34 if english else 20)
            crawl.book(f"book-{article.name}", whole_text(article), title=article.title, chapter=number - 19)


SET_ASIDE = ("funivia", "dijk", "reliure", "samovar", "chawan", "zegar", "moor", "acequia", "bab")
"""Articles written by hand that stand in planted pages alone."""


def _put(crawl: Crawl, article: Article, place: str) -> None:
    if place == "texts":
        crawl.text(article, f"text-{article.name}", address(article))
        crawl.titles.append((address(article), article.title))
    elif place == WARCS[1]:
        crawl.page(place, article, coding="gzip, chunked" if len(article.name) % 2 else "gzip")
    elif place == WARCS[2] and len(article.name) % 2:
        crawl.page(place, article, coding="chunked")
    else:
        crawl.page(place, article)
