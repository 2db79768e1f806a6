"""The engine best: what pages mean is kept, whatever they look like, and each page goes to what is good at its kind."""

import pytest

from stages.extraction.asides import is_aside
from stages.extraction.best import extract
from stages.extraction.blocks import blocks_of, chosen, main_region, menus_among
from stages.extraction.extract import Extract
from stages.extraction.fast_trafilatura import library
from stages.extraction.formulas import latex_of
from stages.extraction.kinds import kind_of
from stages.extraction.metadata import metadata_of
from stages.extraction.nesting import flatten
from tests.stages.extraction.pages import LONG, SENTENCES, page, paragraphs

ENGINES = [Extract(), Extract(engine="resiliparse")]


def lines(middle, stage=None, url=None):
    """Return the lines of an article with `middle` in it."""
    html = page(f"<article><h1>Bridges</h1>{paragraphs(SENTENCES[:5])}{middle}{paragraphs(SENTENCES[5:])}</article>")
    text = (stage or Extract()).extract(html, url)
    assert SENTENCES[0] in text
    assert SENTENCES[-1] in text
    return [line for line in text.splitlines() if line]


def text_of(middle, stage=None):
    return "\n".join(lines(middle, stage))


def tree_of(html):
    return library().utils.load_html(html)


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        ("It is 10<sup>6</sup> m long.", "10⁶ m"),
        ("It is 10<sup>-6</sup> m long.", "10⁻⁶ m"),
        ("The area is x<sup>2</sup> here.", "x² here"),
        ("The term x<sup>n+1</sup> is here.", "x^(n+1) is"),
        ("Water is H<sub>2</sub>O as ever.", "H₂O as"),
        ("The term a<sub>i</sub> is here.", "a_i is"),
        ("The 1<sup>st</sup> bridge stood long.", "1st bridge"),
        ("M<sup>me</sup> Curie crossed it.", "Mme Curie"),
        ("It is said<sup>[3]</sup> to be old.", "said[3] to"),
    ],
)
def test_what_is_raised_or_lowered_stays_apart_from_what_it_stands_on(stage, markup, kept):
    assert kept in text_of(f"<p>{markup} {LONG}</p>", stage)


_KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>E</mi></mrow><annotation '
    'encoding="application/x-tex">E=mc^2</annotation></semantics></math></span><span class="katex-html" '
    'aria-hidden="true"><span>E</span><span>=mc2</span></span></span>'
)
_FORMULAS = {
    "MathJax 2": '<span class="MathJax_Preview">E=</span><script type="math/tex">E=mc^2</script>',
    "MathJax 2, rendered": '<span class="MathJax"><span>E=mc2</span></span><script type="math/tex">E=mc^2</script>',
    "MathJax 3": '<mjx-container><svg></svg><mjx-assistive-mml><math alttext="E=mc^2"></math></mjx-assistive-mml>'
    "</mjx-container>",
    "KaTeX": _KATEX,
    "Wikipedia": '<span class="mwe-math-element"><span style="display: none"><math alttext="{\\displaystyle E=mc^2}">'
    '</math></span><img class="mwe-math-fallback-image-inline" alt="{\\displaystyle E=mc^2}"></span>',
    "a picture": '<img class="latex" alt="E=mc^2" src="e.png">',
    "MathML alone": "<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>",
}


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("formula", _FORMULAS.values(), ids=_FORMULAS)
def test_a_formula_stands_once_in_its_sentence_as_latex(stage, formula):
    text = text_of(f"<p>The energy {formula} of a body is large. {LONG}</p>", stage)
    assert "The energy $E=mc^2$ of a body" in " ".join(text.split())
    assert text.count("E=") == 1


@pytest.mark.parametrize(
    ("mathml", "latex"),
    [
        ("<mfrac><mi>a</mi><mi>b</mi></mfrac>", r"\frac{a}{b}"),
        ("<msqrt><mi>x</mi></msqrt>", r"\sqrt{x}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        ("<msubsup><mi>x</mi><mn>1</mn><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msubsup>", "x_1^{n+1}"),
        ("<mi>α</mi><mo>≤</mo><mi>β</mi>", r"\alpha \leq \beta"),
        ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>", r"\begin{matrix}1 & 2\end{matrix}"),
    ],
)
def test_mathml_without_its_source_becomes_latex(mathml, latex):
    assert latex_of(next(tree_of(f"<html><body><p>x</p><math>{mathml}</math></body></html>").iter("math"))) == latex


_CODE = "def f(x):\n    if x:\n        return x"
_NUMBERED = "".join(
    f"<tr><td class='blob-num' data-line-number='{n}'></td><td class='blob-code'>{line}</td></tr>"
    for n, line in enumerate(_CODE.splitlines(), 1)
)
_CODE_PAGES = {
    "pre": f"<pre>{_CODE}</pre>",
    "pre and code": f"<pre><code>{_CODE}</code></pre>",
    "spans": "<pre><code>" + _CODE.replace("def", "<span>def</span>") + "</code></pre>",
    "line breaks": "<pre>" + _CODE.replace("\n", "<br>") + "</pre>",
    "numbers in spans": "<pre>"
    + "\n".join(f"<span class='lineno'>{n}</span>{line}" for n, line in enumerate(_CODE.splitlines(), 1))
    + "</pre>",
    "a row a line": f"<table class='highlight'>{_NUMBERED}</table>",
    "numbers beside": "<table class='highlighttable'><tr><td class='linenos'><pre>1\n2\n3</pre></td>"
    f"<td class='code'><pre>{_CODE}</pre></td></tr></table>",
}


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("markup", _CODE_PAGES.values(), ids=_CODE_PAGES)
def test_code_keeps_its_lines_and_their_indentation(stage, markup):
    assert _CODE in text_of(markup, stage)


@pytest.mark.parametrize("stage", ENGINES)
def test_ruby_leaves_the_words_and_not_how_they_are_read(stage):
    ruby = "これは<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>の<ruby>例<rt>れい</rt></ruby>です。"
    assert "これは漢字の例です。" in text_of(f"<p>{ruby}灯台の話を長く書きます。とても長い話です。</p>", stage)
    nested = "<ruby><rb>東</rb><rb>京</rb><rtc><rt>とう</rt><rt>きょう</rt></rtc></ruby>の橋は長く、川は広い。"
    assert "東京の橋は長く、川は広い。" in text_of(f"<p>{nested}</p>", stage)


@pytest.mark.parametrize("stage", ENGINES)
@pytest.mark.parametrize("times", [2, 3, 4, 9])
def test_equal_paragraphs_in_a_row_all_stay(stage, times):
    refrain = "Row the boat to the lighthouse stair, and row it home again before the evening tide comes in."
    assert text_of(f"<p>{refrain}</p>" * times, stage).count(refrain) == times


@pytest.mark.parametrize("stage", ENGINES)
def test_what_the_page_hides_is_not_in_its_text(stage):
    secret = "Secret words that no browser shows, long enough to be taken for content by an extractor."
    for hidden in (f"<div hidden><p>{secret}</p></div>", f"<p hidden=''>{secret}</p>"):
        assert secret not in text_of(hidden, stage)
    assert secret not in text_of(f"<div style='display: none'><p>{secret}</p></div>")


def test_a_page_that_is_hidden_until_a_script_shows_it_is_text():
    text = Extract().extract(page(f"<div hidden>{paragraphs()}</div>"))
    assert SENTENCES[3] in text


def test_lists_in_cells_of_a_table_stay():
    table = "<table><tr><th>Kind</th><th>Of</th></tr><tr><td>Arch</td><td><ul><li>stone arch</li><li>steel arch</li>"
    text = text_of(f"{table}</ul></td></tr></table>")
    assert "stone arch" in text
    assert "steel arch" in text


def test_comments_under_an_article_are_left_out():
    comment = "I have crossed this bridge every day of my life, says a reader of the page."
    html = page(
        f"<article>{paragraphs()}</article><div id='comments'><ol class='commentlist'>"
        f"{f'<li class=comment><p>{comment}</p></li>' * 3}</ol></div>"
    )
    assert comment not in Extract().extract(html)


@pytest.mark.parametrize("post", ["post message", "comment", "comment-body", "reply"])
def test_posts_of_a_forum_are_text_even_where_they_are_called_comments(post):
    html = page(
        "".join(
            f"<div class='{post}'><div class='userinfo'>User {n}</div><p>{s}</p></div>" for n, s in enumerate(SENTENCES)
        )
    )
    found = extract(html, "https://example.org/forum/threads/bridges.12/")
    assert found.by == "blocks:forum"
    assert all(sentence in found.text for sentence in SENTENCES)
    assert "User 3" not in found.text


def test_a_page_of_many_short_blocks_is_taken_whole_but_for_its_menus():
    cards = "".join(
        f"<div class='card'><h3>Service {n}</h3><div>We build bridge number {n}.</div></div>" for n in range(20)
    )
    links = "".join(f"<li><a href='/{n}'>Page {n}</a></li>" for n in range(20))
    found = extract(page(f"<div>{cards}</div><ul>{links}</ul><footer>Imprint</footer>"), "https://example.org/services")
    assert all(f"We build bridge number {n}." in found.text for n in range(20))
    assert "Service 7" in found.text
    assert "Page 7" not in found.text
    assert "Imprint" not in found.text


def test_a_line_that_only_points_to_another_page_is_no_text():
    pointer = "Seen from the river: <a href='/x'>the other bridges of this town, in a list with pictures of each</a>"
    assert "in a list with pictures" not in text_of(f"<p>{pointer}</p>")
    within = f"{LONG} <a href='/x'>The other bridges</a> are older."
    assert "The other bridges are older." in text_of(f"<p>{within}</p>")


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("Subscribe to our newsletter", True),
        ("Lea también: Los puentes del río", True),
        ("© 2024 The Bridge. All rights reserved.", True),
        ("Foto: Anna Example", True),
        ("Tags: bridges, rivers", True),
        ("He read more books about bridges than anybody.", False),
        ("The source of the river lies in the hills.", False),
        ("The newsletter of 1820 tells of the first bridge. " * 5, False),
    ],
)
def test_invitations_notices_and_credits_are_told_by_their_words(line, verdict):
    assert is_aside(line) is verdict


def test_data_is_the_text_where_the_page_has_no_other():
    data = f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{LONG}"}}</script>'
    assert SENTENCES[1] in Extract().extract(page("<div id='app'></div>", data))


@pytest.mark.parametrize("stage", [Extract(format="markdown"), Extract(engine="trafilatura", format="markdown")])
def test_markdown_has_headings_lists_tables_and_code(stage):
    body = (
        f"<h2>Kinds of bridges</h2><ul><li>Arch</li><li>Beam</li></ul><p>{LONG} A <b>bold</b> one.</p>"
        "<table><tr><th>Name</th><th>Length</th></tr><tr><td>Forth</td><td>2,467 m</td></tr></table>"
        "<pre><code>x = {\n    1: 2}</code></pre>"
    )
    found = [line.rstrip() for line in lines(body, stage)]
    for line in ("## Kinds of bridges", "- Arch", "| Forth | 2,467 m |", "|---|---|", "    1: 2}"):
        assert line in found
    assert any("**bold**" in line for line in found)


@pytest.mark.parametrize("engine", ["best", "trafilatura"])
def test_links_are_written_where_they_are_asked_for_and_only_there(engine):
    body = f"<p>{LONG} See <a href='https://example.org/b'>the long list</a> of them. {LONG}</p>"
    with_links = text_of(body, Extract(engine=engine, links=True))
    assert "[the long list](https://example.org/b)" in with_links
    assert "https://example.org/b" not in text_of(body, Extract(engine=engine))


@pytest.mark.parametrize("depth", [0, 10, 1000, 30_000])
def test_flattening_keeps_the_text_and_says_how_deep_it_was(depth):
    html = "<div>" * depth + "<p>text</p> tail" + "</div>" * depth
    flat, found = flatten(html, 100)
    assert found == depth
    assert flat.count("<div>") == flat.count("</div>") == min(depth, 100)
    assert "<p>text</p> tail" in flat
    assert (flat == html) == (depth <= 100)


def test_tags_in_scripts_and_comments_count_for_no_depth():
    assert flatten("<script>" + "'<div>' " * 500 + "</script><!--" + "<div>" * 500 + "--><b>x</b>", 100)[1] == 1


@pytest.mark.parametrize(
    ("body", "url", "head", "kind"),
    [
        (paragraphs(), None, "<meta property='og:type' content='article'>", "article"),
        (paragraphs(), None, '<script type="application/ld+json">{"@type": "BlogPosting"}</script>', "article"),
        (paragraphs(), "https://docs.example.org/guide/x", "", "documentation"),
        (paragraphs(), "https://shop.example.org/product/bridge-7", "", "product"),
        (paragraphs(), "https://example.org/category/bridges/", "", "listing"),
        (f"<div class='post'><p>{LONG}</p></div>" * 3, "https://example.org/viewtopic.php?t=7", "", "forum"),
        (f"<div class='post'><p>{LONG}</p></div>" * 3, "https://example.org/2024/05/bridges", "", "page"),
        (paragraphs(), "https://example.org/forum/", "", "page"),
    ],
)
def test_the_kind_of_a_page_is_told_by_what_it_says_its_address_and_what_repeats(body, url, head, kind):
    assert kind_of(tree_of(page(body, head)), url) == kind


def test_blocks_carry_their_tag_their_text_and_how_much_of_it_is_link():
    tree = tree_of(
        "<html><body><h2>Head</h2><div>loose <b>bold</b><p>par</p>tail</div><ul><li><a>link</a></li></ul></body></html>"
    )
    blocks = blocks_of(main_region(tree))
    assert [(b.tag, b.text, b.links) for b in blocks] == [
        ("h2", "Head", 0),
        ("p", "loose bold", 0),
        ("p", "par", 0),
        ("p", "tail", 0),
        ("li", "link", 4),
    ]
    assert [b.text for b in chosen(blocks, menus_among(blocks))] == ["Head", "loose bold", "par", "tail"]


_HEAD = """<title>Site: Bridges of old</title><meta property="og:title" content="Bridges of old">
<meta name="author" content="Ann Example"><meta property="article:published_time" content="2024-05-05T10:00:00Z">
<meta property="og:site_name" content="The Bridge"><link rel="canonical" href="/bridges">
<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">"""


def test_metadata_is_what_the_page_says_of_itself():
    stage = Extract(metadata=("title", "published", "author", "site", "canonical_url", "licence"))
    found = stage._extract(page(paragraphs(), _HEAD), "https://example.org/x?y").columns
    assert {name: found[name] for name in stage.metadata} == {
        "title": "Bridges of old",
        "published": "2024-05-05",
        "author": "Ann Example",
        "site": "The Bridge",
        "canonical_url": "https://example.org/bridges",
        "licence": "https://creativecommons.org/licenses/by/4.0/",
    }
    assert [f.name for f in Extract().adds] == ["charset", "charset_found_by", "extracted_by", "damaged"]


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[]",
        "null",
        '{"@graph": 3}',
        '{"author": {"name": ["x"]}}',
        '{"author": [[[]]]}',
        "[" * 5000,
        '{"headline": 7}',
    ],
)
def test_odd_data_gives_no_metadata_and_no_error(data):
    tree = tree_of(page("<p>a</p><p>b</p>", f'<script type="application/ld+json">{data}</script>'))
    assert metadata_of(tree, ("author", "site")) == {"author": None, "site": None}
