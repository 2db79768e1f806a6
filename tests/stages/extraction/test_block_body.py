"""Markdown and links of pages that are no articles."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.extraction.block_body import body_of
from stages.extraction.blocks import blocks_of, main_region
from stages.extraction.extract import Extract
from stages.extraction.fast_trafilatura import library
from stages.extraction.tables import is_data
from tests.stages.extraction.pages import SENTENCES, page

THREAD = "https://example.org/forum/threads/bridges.12/"


def tree_of(html: str) -> Any:
    return library().utils.load_html(html)


def forum(body: str, **options: object) -> list[str]:
    posts = [body, *SENTENCES[:2]]
    html = page("".join(f"<div class='post'><div>{post}</div><p>{SENTENCES[3]}</p></div>" for post in posts))
    verdict = Extract(**options)._extract(html, THREAD)
    assert verdict.columns["extracted_by"] == "blocks:forum"
    return [line.rstrip() for line in verdict.text.split("\n")]


MARKUP = [
    ("<p>A <b>bold</b>, <em>soft</em> word.</p>", ["A **bold**, *soft* word."]),
    ("<p>A<b> bold </b>word and <strong>bold <i>both</i></strong>.</p>", ["A **bold** word and **bold** ***both***."]),
    ("<p>Ask <code>a_b</code> again.</p>", ["Ask `a_b` again."]),
    ("<p>Five * stars_ of [it].</p>", [r"Five \* stars\_ of \[it\]."]),
    ("<ul><li>one</li><li>two</li></ul><ol><li>first</li><li>second</li></ol>", ["- one", "- two", "", "1. first", "2. second"]),
    ("<ol><li>first</li></ol><ol><li>again first</li></ol>", ["1. first", "", "1. again first"]),
    ("<ul><li>out<ul><li><p>in</p></li></ul></li><li>next</li></ul>", ["- out", "  - in", "- next"]),
    ("<ul><li><p>one</p><p>and more</p></li></ul>", ["- one and more"]),
    ("<table><tr><th>Name</th><th>Length</th></tr><tr><td>Forth <b>B</b></td><td>2 | 3</td></tr></table>",
     ["| Name | Length |", "|---|---|", r"| Forth **B** | 2 \| 3 |"]),
    ("<table><tr><th>a<th>b<th>c</tr><tr><td colspan=2>wide<td>x</tr><tr><td>short</tr></table>",
     ["| a | b | c |", "|---|---|---|", "| wide |  | x |", "| short |  |  |"]),
    ("<table><tr><th>k<th>v</tr><tr><td>k<td><ul><li>x<li>y</ul></tr></table>", ["| k | x y |"]),
    ("<h3>A head</h3><pre>a = 1\n  b</pre>", ["### A head", "", "```", "a = 1", "  b", "```"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), MARKUP)
def test_blocks_write_emphasis_lists_tables_headings_and_code_as_markdown(body, expected):
    found = forum(body, format="markdown")
    at = found.index(expected[0])
    assert found[at : at + len(expected)] == expected


def test_rows_of_a_table_are_a_line_each_in_plain_text_too():
    found = forum("<table><tr><th>Name</th><th>Length</th></tr><tr><td>Forth</td><td>2,467 m</td></tr></table>")
    assert "| Forth | 2,467 m |" in found


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_links_of_blocks_have_their_absolute_targets_where_they_are_asked_for(form):
    body = "<p>Of all the bridges there are see <a href='../b?x=1'>the list</a>, <a href='#top'>above</a> or <a href='javascript:x()'>more</a>.</p>"
    assert (
        "Of all the bridges there are see [the list](https://example.org/forum/threads/b?x=1), above or more."
        in forum(body, format=form, links=True)
    )
    assert "Of all the bridges there are see the list, above or more." in forum(body, format=form)


@pytest.mark.parametrize("hiding", ["hidden", "style='display: none'", "aria-hidden='true'"])
@pytest.mark.parametrize("tag", ["p", "div", "b", "h2", "blockquote"])
def test_blocks_leave_out_what_is_hidden_whatever_its_tag(tag, hiding):
    assert "secret" not in "".join(forum(f"<p>Seen by all.</p><{tag} {hiding}>A secret sentence.</{tag}>"))


@pytest.mark.parametrize(
    ("table", "sure", "verdict"),
    [
        ("<tr><th>a<th>b<tr><td>1<td>2", True, True),
        ("<tr><td>a<td>1<tr><td>b<td>2<tr><td>c<td>3", False, True),
        ("<tr><td>a<td>1<tr><td>b<td>2<tr><td>c<td>3", True, False),  # author and post
        ("<tr><td>menu<td>page", False, False),
        ("<tr><td>a<tr><td>b<tr><td>c", False, False),  # one column
        (f"<tr><th>a<th>b<tr><td>1<td>{'long ' * 100}", False, False),
        ("<tr><th>a<th>b<tr><td>1<td><table><tr><td>x</table>", False, False),
        ("<tr><th>a<th>b<tr><td>1<td><h2>Head</h2>", False, False),
    ],
)
def test_a_table_of_data_is_told_from_the_frame_of_a_page(table, sure, verdict):
    assert is_data(tree_of(f"<body><table>{table}</table><p>x</p></body>").find(".//table"), sure=sure) is verdict


INLINE = st.recursive(
    st.text("ab *_|[]", max_size=4),
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
        st.sampled_from(["b", "i", "code", "a", "span", "p", "li", "ul", "ol", "h3"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@given(st.lists(INLINE, max_size=4))
def test_form_takes_no_text_away_and_adds_none(parts):
    root = main_region(tree_of(page(f"<div>x{''.join(parts)}</div><div>y</div>")))
    plain, formed = blocks_of(root), blocks_of(root, form=True)
    assert [(b.tag, b.text, b.links) for b in plain] == [(b.tag, b.text, b.links) for b in formed]
    written = "".join("".join(body_of(formed, str).itertext()).split())
    assert written == "".join("".join(b.text for b in plain).split())
