"""Pieces of a page: one file, its own style, no script, nothing from the network; whatever comes from documents is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokenmill.report.escaping import escape

LONGEST = 1000
"""Characters of a cell of text."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy of a page: its own style, nothing else."""

STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5a646e;--paper:#fff;--line:#dfe3e8;--bar:#3d74ad;--accent:#b04a33;--third:#3d7a4a;--fourth:#7a58a0;--fifth:#a8741a;--sixth:#2a8590;--wash:#f3f5f8;--mark:#ffe08a}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#a3adb7;--paper:#15181b;--line:#2c3238;--bar:#5b9bd8;--accent:#e8866c;--third:#78b886;--fourth:#b598d8;--fifth:#d9a95a;--sixth:#5fb9c4;--wash:#1d2226;--mark:#574200}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:1080px;margin:0 auto;padding:28px 16px 80px}h1{font-size:26px;line-height:1.25;margin:0 0 6px}h2{font-size:20px;line-height:1.3;margin:48px 0 10px}
h3{font-size:16px;margin:26px 0 6px}p.lead{color:var(--soft);margin:0 0 18px}p{margin:8px 0}
svg{display:block;max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif}.charts>.wide,.charts>div{flex:1 1 min(400px,100%);min-width:0;max-width:530px}.charts{display:flex;flex-wrap:wrap;gap:18px 26px;align-items:flex-start}figure{margin:10px 0;max-width:100%}figcaption{font-size:13.5px;color:var(--soft)}
.figures{display:flex;flex-wrap:wrap;gap:12px 34px;margin:18px 0}.figures b{display:block;font-size:22px}.figures span{color:var(--soft);font-size:13px}
table{border-collapse:collapse;font-size:13.5px;min-width:min(100%,420px)}caption{text-align:left;color:var(--soft);padding:4px 0}
th,td{text-align:right;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums;vertical-align:top;overflow-wrap:normal}
th{color:var(--soft);font-weight:600}th:first-child,td:first-child,td.text,th.text{text-align:left}td:first-child,td.text{max-width:34em;min-width:7em;overflow-wrap:break-word}
td.heat{background:color-mix(in srgb,var(--accent) var(--heat),transparent);padding-left:10px}tr.chosen td{font-weight:600;background:var(--wash)}tr.rule td:first-child{padding-left:16px;color:var(--soft)}
.wide{overflow-x:auto;margin:8px 0;max-width:100%}.wide:focus-visible{outline:2px solid var(--bar)}
td.bar{min-width:96px;width:34%;white-space:nowrap;text-align:left;font-size:0}td.bar i{display:inline-block;height:15px;print-color-adjust:exact;-webkit-print-color-adjust:exact}
i.k{background:var(--bar)}i.d{background:repeating-linear-gradient(135deg,var(--accent) 0 3px,transparent 3px 5px);outline:1px solid var(--accent);outline-offset:-1px}
i.o{background:var(--third)}i.s{background:var(--line)}i.p{background:var(--fourth)}
details{margin:6px 0;border-bottom:1px solid var(--line);padding-bottom:6px}summary{cursor:pointer;padding:3px 0}summary b{font-weight:600}
.example{margin:8px 0 8px 12px;font-size:13.5px;overflow-wrap:anywhere}.example i{color:var(--soft);font-style:normal}
blockquote{margin:4px 0 0;padding-left:10px;border-left:3px solid var(--line);color:var(--soft)}mark{background:var(--mark);color:var(--ink)}ins{color:var(--third)}del{color:var(--accent)}
.pair{display:flex;flex-wrap:wrap;gap:8px 24px}.pair>div{flex:1 1 min(330px,100%);min-width:0}h4{font-size:13.5px;margin:6px 0 0;color:var(--soft)}
pre{white-space:pre-wrap;font:13px/1.5 ui-monospace,monospace;border:1px solid var(--line);padding:12px;border-radius:4px}.warn{border-left:4px solid var(--accent);padding:6px 12px;background:var(--wash)}
i.a{background:var(--fifth)}i.t{background:var(--sixth)}
.switch>input{margin:0 6px 0 0;accent-color:var(--bar)}.switch>label{margin-right:18px;font-size:13.5px}.switch>.view{display:none}
.switch>input:nth-of-type(1):checked~.view:nth-of-type(1),.switch>input:nth-of-type(2):checked~.view:nth-of-type(2),.switch>input:nth-of-type(3):checked~.view:nth-of-type(3),.switch>input:nth-of-type(4):checked~.view:nth-of-type(4){display:block}
.paper{display:none}
@page{margin:12mm 11mm}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--paper:#fff;--line:#d5d9de;--bar:#3d74ad;--accent:#b04a33;--third:#3d7a4a;--fourth:#7a58a0;--fifth:#a8741a;--sixth:#2a8590;--wash:#fff;--mark:#ffe08a}
body{font-size:12.5px}main{max-width:none;padding:0}.wide{overflow:visible}h1,h2,h3,h4,summary,p.lead,caption,thead{break-after:avoid}figure,tr,.figures,.example{break-inside:avoid}h2{margin-top:30px}
.charts>.wide,.charts>div{flex-basis:min(300px,100%)}.charts table{font-size:10.5px}table{font-size:11.5px;min-width:0}td:first-child,td.text{min-width:4.5em}table:has(th:nth-child(9)){font-size:9.5px}table:has(th:nth-child(9)) th,table:has(th:nth-child(9)) td{padding-right:4px;overflow-wrap:break-word}th,td{padding-right:6px}td:first-child,td.text{overflow-wrap:anywhere}td.bar{width:auto;min-width:60px}mark{outline:1px solid #555;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.switch>input,.switch>label{display:none}.switch>.view,.paper{display:block}details.printed::details-content{content-visibility:visible;display:block;block-size:auto}}
"""


def document(title: str, body: str, policy: str = POLICY, script: str = "", style: str = "") -> str:
    """Return a whole page. `body` is HTML; `script` runs only where `policy` lets it."""
    behind = f"<script>{script}</script>" if script else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: tokenmill</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}{style}</style></head>'
        f"<body><main>{body}</main>{behind}</body></html>\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int] = (), caption: str = "") -> str:
    """Return a table of texts, the first column and the columns `text` to the left, the others to the right."""
    body = "".join("<tr>" + _cells(row, text) + "</tr>" for row in rows)
    return wide(_head(head, text), body, caption or head[0] or "figures", caption)


def bars(
    head: Sequence[str],
    rows: Iterable[tuple[str, Sequence[tuple[float, str]], Sequence[str]]],
    caption: str = "",
    classes: Sequence[str] = (),
    text: Sequence[int] = (),
) -> str:
    """Return a table whose second column is a bar, so that it is the picture and its figures at once.

    Args:
        rows: label, the bar's parts from the left as (share of the width, class in the style: k kept, d dropped, o other, s
            space, p a fourth), and the cells behind the bar.
        classes: of each row.
        text: columns behind the bar, counted from 0, that stand to the left.
    """
    body = []
    for place, (label, parts, cells) in enumerate(rows):
        drawn = "".join(
            f'<i class="{kind}" style="width:{100 * share:.2f}%"></i>' for share, kind in parts if share > 0
        )
        kind = f' class="{classes[place]}"' if place < len(classes) and classes[place] else ""
        rest = "".join(f"<td{' class=text' if n in text else ''}>{escape(cell)}</td>" for n, cell in enumerate(cells))
        body.append(f'<tr{kind}><td>{_label(label)}</td><td class="bar">{drawn}</td>{rest}</tr>')
    top = f'<th scope="col">{escape(head[0])}</th><th scope="col" class="text">{escape(head[1])}</th>{_head(head[2:], text)}'
    return wide(top, "".join(body), caption or head[0], caption)


def wide(head: str, rows: str, name: str, caption: str = "") -> str:
    """Return a table that scrolls by itself where it is wider than the page; its head stands again on each printed page.

    Args:
        head: HTML of the cells of the head; rows: of whole rows.
        name: told to those who do not see it.
    """
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(name)}"><table>{_caption(caption)}'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def details(summary: str, body: str, printed: bool = False) -> str:
    """Return `body`, HTML, folded away below `summary`, a text; on paper it is folded out where it is to be `printed`."""
    kind = ' class="printed"' if printed else ""
    return f"<details{kind}><summary>{escape(summary)}</summary>{body}</details>"


def switch(name: str, views: Sequence[tuple[str, str]]) -> str:
    """Return several views of the same, HTML, one of which is shown at a time: chosen by a radio button, by style alone.

    Args:
        name: of the group, letters only.
        views: what each is called, and its HTML; four at most, as `STYLE` knows no more.
    """
    buttons = "".join(
        f'<input type="radio" name="{name}" id="{name}-{n}"{" checked" if not n else ""}><label for="{name}-{n}">{escape(label)}</label>'
        for n, (label, _) in enumerate(views)
    )
    shown = "".join(f'<div class="view"><p class="paper">In {escape(label)}</p>{body}</div>' for label, body in views)
    return f'<div class="switch" role="group" aria-label="shown in">{buttons}{shown}</div>'


def heading(text: str, lead: str = "") -> str:
    """Return the heading of a section, which states what was found."""
    return f"<h2>{escape(text)}</h2>" + (f'<p class="lead">{escape(lead)}</p>' if lead else "")


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def figures(pairs: Iterable[tuple[str, str]]) -> str:
    """Return (value, what it is) pairs in large figures."""
    return '<div class="figures">' + "".join(f"<div><b>{escape(v)}</b><span>{escape(n)}</span></div>" for v, n in pairs) + "</div>"  # fmt: skip


def excerpt(text: str | None, characters: int, marked: str = "") -> str:
    """Return the beginning of a document's text as a quotation, `marked` in it highlighted where it occurs."""
    flat = " ".join((text or "").split())
    at = flat.find(marked) if marked else -1
    if at < 0:
        return f"<blockquote>{escape(flat[:characters]) or '(no text)'}</blockquote>"
    start = max(0, at - characters // 2)
    before, inside = flat[start:at], flat[at : at + len(marked)][:characters]
    behind = flat[at + len(marked) :][: max(0, characters - len(before) - len(inside))]
    return (
        f"<blockquote>{'… ' if start else ''}{escape(before)}<mark>{escape(inside)}</mark>{escape(behind)}</blockquote>"
    )


def percent(part: float, whole: float) -> str:
    """Return `part` of `whole` in per cent; - where there is no whole."""
    if not whole:
        return "-"
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 10 else f"{share:.1f} %" if share >= 0.1 or not share else f"{share:.2g} %"


def size(number: float) -> str:
    """Return a number of bytes as a person writes it; MB is 1e6 bytes."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(number) >= unit:
            return f"{number / unit:,.3g} {name}" if number < 999.5 * unit else f"{number / unit:,.0f} {name}"
    return f"{number:,.0f} bytes"


def _label(text: str) -> str:
    """Return a name that may be broken behind each part of it, cut where no name is so long."""
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]}…").replace("_", "_<wbr>")


def _caption(text: str) -> str:
    return f"<caption>{escape(text)}</caption>" if text else ""


def _head(head: Sequence[str], text: Sequence[int]) -> str:
    return "".join(
        f'<th scope="col"{" class=text" if place in text else ""}>{escape(cell)}</th>'
        for place, cell in enumerate(head)
    )


def _cells(row: Sequence[str], text: Sequence[int]) -> str:
    return "".join(
        f'<td class="text">{_label(cell)}</td>'
        if place in text
        else f"<td>{escape(cell) if place else _label(cell)}</td>"
        for place, cell in enumerate(row)
    )
