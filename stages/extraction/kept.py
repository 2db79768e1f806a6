"""What a page means and its plain text would lose, put into the tree as text before anything is taken out of it.

Formulas become LaTeX, superscripts stay apart from what they stand on, code keeps its lines, ruby its base text,
lists in cells their place, and what the page hides goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stages.extraction.formulas import keep_formulas
from stages.extraction.trees import attached, become, merge_texts

MARKS = "\ue000\ue001"
"""Private characters that tell equal paragraphs apart while the tree is worked on; never in a text."""

_LOOKED_AT = ("sup", "sub", "ruby", "math", "img", "script", "table", "td", "pre", "p")
_INLINE = frozenset(("i", "em", "b", "strong", "span", "var"))
_SUPERSCRIPT = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_SUBSCRIPT = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISABLE = re.compile(r"[0-9+\-−=()]+|[+\-−]?[0-9]*n")
_LOWERABLE = re.compile(r"[0-9+\-−=()]+")
_LETTERS = re.compile(r"[^\W\d_]+\.?")
_NOTE = re.compile(r"\[.*\]")
"""A reference to a note or a source."""
_CODE_TABLE = re.compile(r"highlight|blob|code|hljs|rouge|linenos|syntax|source|js-file-line", re.IGNORECASE)
_NUMBERS = re.compile(
    r"blob-num|line-?no|line-?num|gutter|hljs-ln-numbers|rouge-gutter|\bln\b|linenumber", re.IGNORECASE
)
_HIDDEN = {f"{c}hidden": re.compile(rf"{c}hidden(?=[\s=>/])[^<]{{0,2000}}>") for c in " \n"}
"""The attribute, not the word of a style: what is looked for first, and the whole of it."""
_MOST_HIDDEN = 0.3  # of the page: more is hidden until a script shows it
_LONGEST_SCRIPT = 40  # characters of a superscript that is one
_LONGEST_CELL = 3000  # characters of a table cell that is one, and not the frame of a page


_TOLD = (
    *("<sup", "<sub", "<ruby", "<math", "math/tex", "mwe-math", 'class="latex', "class='latex"),
    *('class="tex"', "class='tex'", "blob-code", "lineno", 'class="math'),
    *("<div hidden", "<p hidden", "<section hidden", "<span hidden", 'class="highlight', "class='highlight"),
)


def unmarked(text: str) -> str:
    """Return `text` without the marks of equal paragraphs."""
    for mark in MARKS:
        text = text.replace(mark, "")
    return text


def may_need_keeping(source: str) -> bool:
    """Return whether `keep_meaning` may find something to do in the page `source`: seldom wrong, and cheap."""
    return any(sign in source for sign in _TOLD)  # ten times as fast as one pattern


def keep_meaning(tree: Any, source: str, *, markdown: bool = False) -> None:
    """Rewrite `tree` in place.

    Args:
        tree: the page as parsed.
        source: what it was parsed from.
        markdown: write formulas in the signs that trafilatura's writer of Markdown knows.
    """
    found: dict[str, list[Any]] = {}
    for element in tree.iter(*_LOOKED_AT):
        found.setdefault(element.tag, []).append(element)
    if any(word in source and attribute.search(source) for word, attribute in _HIDDEN.items()):
        _drop_hidden(tree)
    keep_formulas(tree, found, ("\\(", "\\)", "\\[", "\\]") if markdown else ("$", "$", "$$", "$$"))
    for name in ("sup", "sub"):
        for element in found.get(name, ()):
            _keep_script(element)
    for ruby in found.get("ruby", ()):
        _keep_base(ruby)
    for table in found.get("table", ()):
        _keep_code_table(table)
    for pre in found.get("pre", ()):
        if attached(pre, tree):
            _make_code(pre, "".join(_verbatim(pre)))
    for cell in found.get("td", ()):
        _keep_lists(cell)
    merge_texts(tree)
    _tell_apart(found.get("p", []))


def _drop_hidden(tree: Any) -> None:
    size = 0
    for element in tree.xpath(".//*[@hidden]"):
        if element.tag in ("body", "html") or element.get("hidden") == "until-found":
            continue
        size = size or len(tree.text_content())
        if len(element.text_content()) < _MOST_HIDDEN * size:
            become(element, "")


def _keep_script(element: Any) -> None:
    """Write 10<sup>6</sup> as 10⁶ and x<sub>i</sub> as x_i; leave references to notes, 1st and M.lle as they are."""
    text, before = element.text_content().strip(), _character_before(element)
    if not all(child.tag in _INLINE for child in element.iterdescendants("*")):
        return
    if not text or len(text) > _LONGEST_SCRIPT or not before or before.isspace():
        return
    raised = element.tag == "sup"
    if raised and _NOTE.fullmatch(text):
        return
    if raised and _RAISABLE.fullmatch(text):
        become(element, text.translate(_SUPERSCRIPT))
    elif not raised and _LOWERABLE.fullmatch(text):
        become(element, text.translate(_SUBSCRIPT))
    elif any(map(str.isalnum, text)) and not (raised and _LETTERS.fullmatch(text) and not _is_exponent(text, before)):
        become(element, f"{'^' if raised else '_'}{text if len(text) == 1 else f'({text})'}")


def _is_exponent(letters: str, before: str) -> bool:
    return len(letters) == 1 and (before.isalpha() or before == ")") and letters.isascii() and letters not in "aoernstr"


def _character_before(element: Any) -> str:
    previous, parent = element.getprevious(), element.getparent()
    if previous is not None:
        return str(previous.tail or previous.text_content() or "")[-1:]
    return (parent.text or "")[-1:] if parent is not None else ""


def _keep_base(ruby: Any) -> None:
    """Leave the words and take away how they are read."""
    pieces = [ruby.text or ""]
    for element in ruby.iterdescendants("*"):
        inside = next(element.iterancestors("rt", "rp", "rtc"), None) is not None
        if not inside and element.tag not in ("rt", "rp", "rtc"):
            pieces.append(element.text or "")
        if not inside:
            pieces.append(element.tail or "")
    become(ruby, "".join("".join(pieces).split("\n")).strip())


def _keep_code_table(table: Any) -> None:
    lines = _code_lines(table)
    if lines is not None:
        _make_code(table, "\n".join(lines))


def _code_lines(table: Any) -> list[str] | None:
    """Return the lines of code that a table shows a row each, or in one cell beside their numbers; None for others."""
    names = " ".join(filter(None, (e.get("class") for e in table.iter("table", "td"))))
    if not _CODE_TABLE.search(names) or next(table.iterdescendants("table"), None) is not None:
        return None
    lines: list[str] = []
    for row in table.iter("tr"):
        cells = list(row.iterchildren("td", "th"))
        code = [cell for cell in cells if not _is_number(cell)]
        if len(code) == 0 and len(cells) == 2:
            code = cells[1:]  # an empty line, or one of digits
        if len(code) != 1 or len(cells) > 3:
            return None
        lines.extend("".join(_verbatim(code[0])).strip("\n").split("\n"))
    return lines or None


def _is_number(cell: Any) -> bool:
    if _NUMBERS.search(cell.get("class") or "") or cell.get("data-line-number"):
        return True
    return all(word.rstrip(".:").isdigit() for word in cell.text_content().split())


def _verbatim(element: Any) -> Iterator[str]:
    """Yield the text of code as it stands, line breaks for ``br`` and for lines set as blocks, no line numbers."""
    yield element.text or ""
    for child in element:
        if child.tag == "br":
            yield "\n"
        elif isinstance(child.tag, str) and not _NUMBERS.search(child.get("class") or ""):
            inner = "".join(_verbatim(child))
            yield inner
            if child.tag in ("div", "p", "li") and not inner.endswith("\n"):
                yield "\n"
        yield child.tail or ""


def _make_code(element: Any, text: str) -> None:
    tail = element.tail
    for child in list(element):
        element.remove(child)
    element.attrib.clear()
    element.set("lang", "code")  # what trafilatura knows a block of code by
    element.tag, element.text, element.tail = "pre", text.strip("\n").rstrip(), tail


def _keep_lists(cell: Any) -> None:
    """Make the lists in a cell of a table paragraphs, which trafilatura keeps there."""
    lists = list(cell.iterdescendants("ul", "ol"))
    if not lists or len(cell.text_content()) > _LONGEST_CELL:
        return
    for element in lists:
        for item in element.iter("li"):
            item.tag = "p"
        element.tag = "div"


def _tell_apart(paragraphs: list[Any]) -> None:
    """Mark paragraphs that repeat the one before, which trafilatura takes for an artefact of its own."""
    number = 0
    for element in paragraphs:
        text = element.text
        following = element.getnext() if text else None
        if following is None or following.tag != "p" or not following.text:
            continue
        if following.text.rstrip(MARKS) == text.rstrip(MARKS):
            number += 1
            following.text = text.rstrip(MARKS) + "".join(MARKS[bit == "1"] for bit in bin(number)[2:])
