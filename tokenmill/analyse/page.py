"""An analysis as one HTML page: self-contained, no script; whatever comes from documents is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tokenmill.analyse.distributions import Analysis, Distribution, RuleShare, edges_of
from tokenmill.report import svg
from tokenmill.report.escaping import escape
from tokenmill.report.html import document, percent, table


def page(analysis: Analysis, title: str, said: str) -> str:
    """Return the page.

    Args:
        said: what the documents are and how they were taken.
    """
    sections = [f'<h1>{escape(title)}</h1><p class="lead">{escape(said)}</p>', _overview(analysis)]
    for stage in analysis.measured.stages:
        share = analysis.removed[stage]["removes"]
        sections.append(f"<h2>{escape(stage)}: would remove {percent(share, 1)}</h2>")
        signals = "".join(_signal(analysis, d) for d in analysis.distributions if d.stage == stage)
        sections.append(f'<div class="charts">{signals}</div>')
    return document(title, "".join(sections))


def _overview(analysis: Analysis) -> str:
    """Return what each rule set would remove, in all and by source and language."""
    parts = []
    for kind, counts in (("source", analysis.sources), ("language", analysis.languages)):
        head = [kind, "documents", *analysis.measured.stages]
        rows = [
            ["all", f"{analysis.documents:,}", *(percent(about["removes"], 1) for about in analysis.removed.values())]
        ]
        for name, count in counts.items():
            shares = [about[f"by_{kind}"][name] for about in analysis.removed.values()]
            rows.append([name, f"{count:,}", *(percent(share, 1) for share in shares)])
        parts.append(table(head, rows))
    return (
        f"<h2>{escape(_finding(analysis))}</h2>"
        "<p class='lead'>Each rule set looks at the texts as they are. One after the other they remove less than the sum.</p>"
        + "<p></p>".join(parts)
    )


def _finding(analysis: Analysis) -> str:
    """Return which rule set would remove most by itself, in words."""
    most = sorted(analysis.removed.items(), key=lambda item: -item[1]["removes"])[:2]
    said = ", ".join(f"{stage} {percent(about['removes'], 1)}" for stage, about in most)
    return f"Would be removed by one rule set alone: by {said}" if said else "No rule set was asked"


def _signal(analysis: Analysis, d: Distribution) -> str:
    marks = [r.rule.threshold for r in d.rules]
    edges, grows = edges_of(d.values, marks)
    counts = _counts(d.values, edges)
    said = [
        (r.rule.threshold, f"{r.rule.name} {'<' if r.rule.side == 'below' else '>'} {r.rule.threshold:g}")
        for r in d.rules
    ]
    chart = svg.histogram(edges.tolist(), counts.tolist(), [(x, text) for x, text in said if x == x], grows)
    head = f"<h3>{escape(d.stage)}.{escape(d.signal)}</h3>"
    return f"<div>{head}{chart}{''.join(_rule(analysis, d, r) for r in d.rules)}{_groups(d)}</div>"


def _counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    known = values[np.isfinite(values)]
    return np.histogram(np.clip(known, edges[0], edges[-1]), edges)[0]


def _rule(analysis: Analysis, d: Distribution, r: RuleShare) -> str:
    sign = "below" if r.rule.side == "below" else "above"
    limit = "off, or by language" if r.rule.threshold != r.rule.threshold else f"{r.rule.threshold:g}"
    name = f"{escape(r.rule.name)}</b>: {sign} {limit}" + (f" ({escape(r.rule.parameter)})" if r.rule.parameter else "")
    shown = [
        f'<div class="example">{word}, {value:.6g}: {escape(about["name"][:300])}'
        f"<blockquote>{escape(' '.join(about['text'].split())) or '(no text)'}</blockquote></div>"
        for word, rows in (("removed", r.removed), ("kept", r.kept))
        for row, value in rows
        for about in (analysis.example(row),)
    ]
    return f"<details><summary><b>{name} removes {percent(r.share, 1)}</summary>{''.join(shown)}{_shares(r)}</details>"


def _shares(r: RuleShare) -> str:
    rows = [[name, percent(share, 1)] for by in (r.by_source, r.by_language) for name, share in by.items()]
    return table(["source or language", "removes"], rows)


def _groups(d: Distribution) -> str:
    head = ["", *(f"{float(q):.0%}" for q in d.quantiles)]
    rows = [[name, *(f"{v:.4g}" for v in q.values())] for name, q in _named(d).items() if q]
    return f"<details><summary>Quantiles by source and language</summary>{table(head, rows)}</details>"


def _named(d: Distribution) -> Mapping[str, Mapping[str, Any]]:
    return {"all": d.quantiles, **{f"source {k}": v for k, v in d.by_source.items()}, **d.by_language}
