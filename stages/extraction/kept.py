"""What a page means and its plain text would lose, put into the tree as text before anything is taken out of it.

Formulas become LaTeX, superscripts stay apart from what they stand on, code keeps its lines, ruby its base text, and
what the page hides goes. Each rule looks at the source first: most pages have nothing for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from stages.extraction.mathml import latex_of

MARKS = "\ue000\ue001"
"""Private characters that tell equal paragraphs apart while the tree is worked on; never in a text."""

_SUPERSCRIPT = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_SUBSCRIPT = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISABLE = re.compile(r"[0-9+\-−=()]+|n|[+\-−]?[0-9]*n")
_LOWERABLE = re.compile(r"[0-9+\-−=()]+")
_LETTERS = re.compile(r"[^\W\d_]+\.?")
_DISPLAYED = re.compile(r"^\{\\(?:display|text)style\s*(.*)\}$", re.DOTALL)
_TEX_CLASS = re.compile(r"(?:^|[\s_-])(?:mwe-math|tex|latex|math|equation|eqn?)", re.IGNORECASE)
_FORMULA_BOX = re.compile(r"(?:^|\s)(?:mwe-math-element|katex-display|katex|MathJax_Display|MathJax|MathJax_SVG)(?:$|\s)")
_RENDERED = re.compile(r"(?:^|\s)(?:MathJax\w*|MJXp?-\w+|katex-html)(?:$|\s)")
_CODE_TABLE = re.compile(r"highlight|blob|code|hljs|rouge|linenos|syntax|source|js-file-line", re.IGNORECASE)
_NUMBER_CELL = re.compile(r"blob-num|line-?no|line-?num|gutter|hljs-ln-numbers|rouge-gutter|\bln\b|linenumber", re.IGNORECASE)
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def keep_meaning(tree: Any, source: str, *, markdown: bool = False) -> None:
    """Rewrite `tree` in place.

    Args:
        tree: the page as parsed.
        source: what it was parsed from.
        markdown: write formulas in the signs that the writer of Markdown knows.
    """
    low = source if source.islower() else source.lower()
    if "math" in low or "katex" in low or "latex" in low or "tex" in low:
        _formulas(tree, ("\\(", "\\)", "\\[", "\\]") if markdown else ("$", "$", "$$", "$$"))
    if "hidden" in low or "display" in low:
        _hidden(tree)
    if "<sup" in low or "<sub" in low:
        _scripts(tree)
    if "<ruby" in low:
        _ruby(tree)
    if "<pre" in low or "<table" in low:
        _code(tree)
    if "<table" in low and ("<ul" in low or "<ol" in low):
        _lists_in_cells(tree)
    _equal_paragraphs(tree)


def _become(element: Any, text: str) -> None:
    """Put `text` in the place of `element`."""
    parent = element.getparent()
    if parent is None:
        return
    text += element.tail or ""
    before = element.getprevious()
    if before is None:
        parent.text = (parent.text or "") + text
    else:
        before.tail = (before.tail or "") + text
    parent.remove(element)


def _formulas(tree: Any, signs: tuple[str, str, str, str]) -> None:
    inline, display = signs[:2], signs[2:]
    scripts = [e for e in tree.iter("script") if (e.get("type") or "").startswith("math/tex")]
    if scripts:
        for element in [e for e in tree.iter("span", "div") if _RENDERED.search(e.get("class") or "")]:
            if _attached(element, tree):
                _become(element, "")
    for element in scripts:
        shown = display if "mode=display" in element.get("type") else inline
        _become(element, _signed(element.text or "", shown))
    for element in list(tree.iter("math")):
        if not _attached(element, tree):
            continue
        box = element
        for ancestor in element.iterancestors("span", "div", "mjx-container"):
            if ancestor.tag == "mjx-container" or _FORMULA_BOX.search(ancestor.get("class") or ""):
                box = ancestor
        latex = latex_of(element)
        if latex:
            shown = display if element.get("display") == "block" or "isplay" in (box.get("class") or "") else inline
            _become(box, _signed(latex, shown))
    for element in list(tree.iter("img")):
        alt = element.get("alt")
        if alt and _TEX_CLASS.search(element.get("class") or "") and _is_latex(alt):
            _become(element, _signed(alt, inline))


def _is_latex(text: str) -> bool:
    return any(c in text for c in "\\^_={}") or (len(text) == 1 and text.isalpha())


def _signed(latex: str, signs: tuple[str, ...]) -> str:
    latex = " ".join(latex.split())
    shown = _DISPLAYED.match(latex)
    latex = (shown[1] if shown else latex).strip()
    return f"{signs[0]}{latex}{signs[1]}" if latex else ""


def _attached(element: Any, tree: Any) -> bool:
    return element is tree or next(element.iterancestors(), None) is not None and element.getroottree().getroot() is tree


def _hidden(tree: Any) -> None:
    size = 0
    for element in tree.xpath(".//*[@hidden]|.//*[contains(@style,'display')]|.//*[contains(@style,'visibility')]"):
        if element.tag in ("body", "html") or element.get("hidden") == "until-found":
            continue
        if element.get("hidden") is None and not _HIDING.search(element.get("style") or ""):
            continue
        size = size or len(tree.text_content())
        if len(element.text_content()) < 0.3 * size:
            _become(element, "")


def _scripts(tree: Any) -> None:
    for element in list(tree.iter("sup", "sub")):
        if len(element) and not all(child.tag in ("i", "em", "b", "strong", "span", "var") for child in element):
            continue  # a reference, a link to a note
        text = element.text_content().strip()
        if not text or len(text) > 40:
            continue
        raised = element.tag == "sup"
        before = _before(element)
        if not before or before.isspace():
            continue
        if raised and _RAISABLE.fullmatch(text):
            _become(element, text.translate(_SUPERSCRIPT))
        elif not raised and _LOWERABLE.fullmatch(text):
            _become(element, text.translate(_SUBSCRIPT))
        elif raised and _LETTERS.fullmatch(text) and (len(text) > 1 or before.isdigit() or not before.isalnum()):
            continue  # 1st, M.lle, a trade mark
        elif len(text) == 1 or text.isalnum():
            _become(element, ("^" if raised else "_") + text if len(text) == 1 else f"{'^' if raised else '_'}({text})")
        elif any(c.isalnum() for c in text):
            _become(element, f"{'^' if raised else '_'}({text})")


def _before(element: Any) -> str:
    """Return the character before `element` in its line, empty where there is none."""
    previous = element.getprevious()
    if previous is not None:
        return (previous.tail or previous.text_content() or "")[-1:]
    parent = element.getparent()
    return (parent.text or "")[-1:] if parent is not None else ""


def _ruby(tree: Any) -> None:
    for ruby in list(tree.iter("ruby")):
        base: list[str] = [ruby.text or ""]
        reading: list[str] = []
        for element in ruby.iterdescendants("*"):
            inside = any(a.tag in ("rt", "rp", "rtc") for a in element.iterancestors("rt", "rp", "rtc"))
            if element.tag == "rt":
                reading.append(element.text_content())
            elif element.tag not in ("rp", "rtc") and not inside:
                base.append(element.text or "")
            if not inside:
                base.append(element.tail or "")
        _become(ruby, "".join("".join(base).split("\n")).strip())


def _code(tree: Any) -> None:
    for table in list(tree.iter("table")):
        lines = _code_lines(table)
        if lines is not None:
            _make_code(table, "\n".join(lines))
    for pre in list(tree.iter("pre")):
        if _attached(pre, tree):
            text = "".join(_verbatim(pre))
            if text.strip():
                _make_code(pre, text.strip("\n").rstrip())


def _code_lines(table: Any) -> list[str] | None:
    """Return the lines of code that a table shows a row each, or in one cell beside their numbers; None for others."""
    rows = list(table.iter("tr"))
    if not rows or next(table.iterdescendants("table"), None) is not None:
        return None
    names = " ".join(filter(None, (e.get("class") for e in table.iter("table", "td"))))
    if not _CODE_TABLE.search(names):
        return None
    lines: list[str] = []
    for row in rows:
        cells = [c for c in row if c.tag in ("td", "th")]
        numbers = [c for c in cells if _is_number(c)]
        code = [c for c in cells if c not in numbers]
        if len(code) != 1 or not (numbers or len(cells) == 1):
            return None
        lines.extend("".join(_verbatim(code[0])).strip("\n").split("\n"))
    return lines


def _is_number(cell: Any) -> bool:
    if _NUMBER_CELL.search(cell.get("class") or "") or cell.get("data-line-number"):
        return True
    return all(word.rstrip(".:").isdigit() for word in cell.text_content().split())


def _verbatim(element: Any) -> Iterable[str]:
    """Yield the text of code as it stands, line breaks for ``br`` and for lines set as blocks, no line numbers."""
    yield element.text or ""
    for child in element:
        if child.tag == "br":
            yield "\n"
        elif isinstance(child.tag, str) and not _NUMBER_CELL.search(child.get("class") or ""):
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
    element.tag, element.text, element.tail = "pre", text, tail


def _lists_in_cells(tree: Any) -> None:
    for element in list(tree.iter("ul", "ol")):
        cell = next(element.iterancestors("td", "th"), None)
        if cell is None or len(cell.text_content()) > 3000:
            continue
        for item in element.iter("li"):
            item.tag = "p"
        element.tag = "div"


def _equal_paragraphs(tree: Any) -> None:
    """Mark paragraphs that repeat the one before, which trafilatura takes for an artefact of its own."""
    number = 0
    for element in tree.iter("p"):
        text = element.text
        if not text or len(text) < 20:
            continue
        following = element.getnext()
        if following is not None and following.tag == "p" and (following.text or "").rstrip(MARKS) == text.rstrip(MARKS):
            number += 1
            following.text = text.rstrip(MARKS) + "".join(MARKS[bit == "1"] for bit in bin(number)[2:])
