"""Formulas as LaTeX: MathJax's scripts, MathML with or without its source, KaTeX, pictures with LaTeX as their text."""

from __future__ import annotations

import re
from typing import Any

from stages.extraction.trees import attached, become

_DISPLAYED = re.compile(r"^\{\\(?:display|text)style\s*(.*)\}$", re.DOTALL)
_PICTURE = re.compile(r"(?:^|[\s_-])(?:mwe-math|tex|latex|math|equation|eqn?)", re.IGNORECASE)
_BOX = re.compile(r"(?:^|\s)(?:mwe-math-element|katex-display|katex|MathJax_Display|MathJax|MathJax_SVG)(?:$|\s)")
_RENDERED = re.compile(r"(?:^|\s)(?:MathJax\w*|MJXp?-\w+|katex-html)(?:$|\s)")
_OPERATORS = {
    "×": r"\times ", "÷": r"\div ", "±": r"\pm ", "·": r"\cdot ", "≤": r"\leq ", "≥": r"\geq ", "≠": r"\neq ",
    "∞": r"\infty ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ", "√": r"\sqrt ", "→": r"\to ",
    "∈": r"\in ", "∪": r"\cup ", "∩": r"\cap ", "−": "-", "\u2061": "", "\u2062": "", "\u2063": "",
}  # fmt: skip
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
_LETTERS = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _GREEK.split(), strict=True))
_DEEPEST = 60


def keep_formulas(tree: Any, found: dict[str, list[Any]], signs: tuple[str, str, str, str]) -> None:
    """Put the LaTeX of each formula in its place in `tree`, once, however often the page renders it.

    Args:
        found: tag -> elements of `tree`, for ``script``, ``math`` and ``img``.
        signs: what stands before and behind a formula in a line, and before and behind a displayed one.
    """
    inline, display = signs[:2], signs[2:]
    scripts = [e for e in found.get("script", ()) if (e.get("type") or "").startswith("math/tex")]
    if scripts:
        for element in [e for e in tree.iter("span", "div") if _RENDERED.search(e.get("class") or "")]:
            if attached(element, tree):
                become(element, "")
    for element in scripts:
        shown = display if "mode=display" in element.get("type") else inline
        become(element, _signed(element.text or "", shown))
    for element in found.get("math", ()):
        if attached(element, tree):
            _keep_math(element, inline, display)
    for element in found.get("img", ()):
        alt = element.get("alt")
        if alt and _PICTURE.search(element.get("class") or "") and _is_latex(alt) and attached(element, tree):
            become(element, _signed(alt, inline))


def _keep_math(element: Any, inline: tuple[str, ...], display: tuple[str, ...]) -> None:
    box = element  # the outermost element that renders the same formula
    for ancestor in element.iterancestors("span", "div", "mjx-container"):
        if ancestor.tag == "mjx-container" or _BOX.search(ancestor.get("class") or ""):
            box = ancestor
    latex = latex_of(element)
    if latex:
        shown = display if element.get("display") == "block" or "isplay" in (box.get("class") or "") else inline
        become(box, _signed(latex, shown))


def _is_latex(text: str) -> bool:
    return any(c in text for c in "\\^_={}") or (len(text) == 1 and text.isalpha())


def _signed(latex: str, signs: tuple[str, ...]) -> str:
    latex = " ".join(latex.split())
    shown = _DISPLAYED.match(latex)
    latex = (shown[1] if shown else latex).strip()
    return f"{signs[0]}{latex}{signs[1]}" if latex else ""


def latex_of(math: Any) -> str:
    """Return the LaTeX of a ``math`` element: its annotation, its ``alttext``, or what its elements say."""
    for element in math.iter("annotation"):
        if element.get("encoding") in ("application/x-tex", "TeX", "LaTeX") and (element.text or "").strip():
            return " ".join(element.text.split())
    alt = (math.get("alttext") or "").strip()
    return " ".join(alt.split()) if alt else " ".join(_convert(math, 0).split())


def _convert(element: Any, depth: int) -> str:
    tag = element.tag if isinstance(element.tag, str) else ""
    if depth > _DEEPEST:
        return str(element.text_content())
    if tag in ("annotation", "annotation-xml", "none", "mprescripts"):
        return ""
    if tag in ("mi", "mn", "mo", "mtext", "ms"):
        text = "".join(element.itertext()).strip()
        if tag == "mtext":
            return rf"\text{{{text}}}" if text else ""
        return "".join(_OPERATORS.get(c) or (rf"\{_LETTERS[c]} " if c in _LETTERS else c) for c in text)
    parts = [_convert(child, depth + 1) for child in element]
    if tag == "mfrac" and len(parts) == 2:
        return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
    if tag == "msqrt":
        return rf"\sqrt{{{''.join(parts)}}}"
    if tag == "mroot" and len(parts) == 2:
        return rf"\sqrt[{parts[1]}]{{{parts[0]}}}"
    if tag in ("msup", "mover") and len(parts) == 2:
        return f"{parts[0]}^{_group(parts[1])}"
    if tag in ("msub", "munder") and len(parts) == 2:
        return f"{parts[0]}_{_group(parts[1])}"
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{_group(parts[1])}^{_group(parts[2])}"
    if tag == "mfenced":
        return f"{element.get('open', '(')}{','.join(parts)}{element.get('close', ')')}"
    if tag == "mtr":
        return " & ".join(parts)
    if tag == "mtable":
        return r"\begin{matrix}" + r" \\ ".join(parts) + r"\end{matrix}"
    return "".join(parts) if parts else (element.text or "").strip()


def _group(part: str) -> str:
    return part if len(part) == 1 else f"{{{part}}}"
