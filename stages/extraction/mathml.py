"""MathML as LaTeX: from the source that it carries, else from its own elements."""

from __future__ import annotations

from typing import Any

_OPERATORS = {
    "×": r"\times ", "÷": r"\div ", "±": r"\pm ", "·": r"\cdot ", "≤": r"\leq ", "≥": r"\geq ", "≠": r"\neq ",
    "∞": r"\infty ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ", "√": r"\sqrt ", "→": r"\to ",
    "∈": r"\in ", "∪": r"\cup ", "∩": r"\cap ", "−": "-", "\u2061": "", "\u2062": "", "\u2063": "",
}  # fmt: skip
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
_LETTERS = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _GREEK.split(), strict=True))
_DEEPEST = 60


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
