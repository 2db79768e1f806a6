"""Tokens against vocabulary size, by source and language, by document, and tokens never used."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokenizer.counting.budget import GroupTokens, SizeCost, SizeTokens
from tokenmill.report import html, svg
from tokenmill.report.composition import spread
from tokenmill.report.run_files import RunFiles

NAMED = 4
"""Languages with a line of their own in the large chart."""
MULTIPLES, OPEN = 200, 24
"""Languages with a small chart, and those that are shown at once; all are in the table."""
TABLED = 250
BINS = 30
"""Of the histogram of tokens per document, at most."""


def tokens(files: RunFiles) -> str:
    """Return the section; empty without a tokenizer."""
    budget = files.budget
    if budget is None:
        return ""
    rows = budget.tokenizers
    largest, first = rows[-1], rows[0]
    said = f"{html.count(largest.tokens)} tokens at vocabulary {largest.vocab_size:,}, {largest.bytes_per_token:.3g} bytes each"
    lead = f"{budget.corpus.documents:,} documents, {html.size(budget.corpus.bytes)}, {budget.corpus.words:,} words."
    if len(rows) > 1:
        lead += f" From {first.vocab_size:,} to {largest.vocab_size:,} the same text becomes {html.percent(first.tokens - largest.tokens, first.tokens)} shorter."
    return "".join([html.heading(f"Tokens by vocabulary size: {said}", lead), _charts(rows), _sizes(rows), _documents(files, rows),
                    _groups(rows, "source"), _languages(rows), _unused(files.unused), _costs(budget.costs)])  # fmt: skip


def _charts(rows: list[SizeTokens]) -> str:
    names = _largest(rows[-1].by_language, NAMED) if len(rows[-1].by_language) > 1 else []
    shown = []
    for key, label in (("bytes_per_token", "bytes per token"), ("tokens_per_word", "tokens per word (fertility)")):
        series = [("all", [(float(row.vocab_size), getattr(row, key)) for row in rows if getattr(row, key)])]
        series += [(name, _points(rows, name, key)) for name in names]
        shown.append(f"<figure>{svg.lines([line for line in series if line[1]], 'vocabulary size', label)}</figure>")
    total = [("tokens", [(float(row.vocab_size), float(row.tokens)) for row in rows])]
    shown.insert(0, f"<figure>{svg.lines(total, 'vocabulary size', 'tokens')}</figure>")
    return f'<div class="three">{"".join(shown)}</div>'


def _points(rows: list[SizeTokens], language: str, key: str) -> list[tuple[float, float]]:
    return [
        (float(row.vocab_size), value)
        for row in rows
        if language in row.by_language and (value := getattr(row.by_language[language], key))
    ]


def _sizes(rows: list[SizeTokens]) -> str:
    head = ["vocabulary", "tokens", "bytes/token", "characters/token", "tokens/word"]
    return html.table(head, [[f"{r.vocab_size:,}", f"{r.tokens:,}", f"{r.bytes_per_token:.3f}", f"{r.characters_per_token:.3f}", f"{r.tokens_per_word:.3f}"] for r in rows])  # fmt: skip


def _documents(files: RunFiles, rows: list[SizeTokens]) -> str:
    quantiles, lengths = list(rows[-1].quantiles), list(rows[-1].share_over)
    told = html.table(["vocabulary", *(f"{100 * float(q):g} %" for q in quantiles)],
                      [[f"{r.vocab_size:,}", *(f"{r.quantiles.get(q, 0):,.0f}" for q in quantiles)] for r in rows],
                      caption="tokens of a document: the share of documents in the head has fewer")  # fmt: skip
    last = rows[-1]
    some = [n for n in lengths if any(r.share_over[n] for r in rows)]
    none = [n for n in lengths if n not in some]
    drawn = [
        (f"longer than {int(n):,}", [(last.share_over[n], "k")], [*(html.percent(r.share_over[n], 1) for r in rows)])
        for n in some
    ]
    over = html.bars(["tokens", "share of documents", *(f"at {r.vocab_size:,}" for r in rows)], drawn) if drawn else ""
    rest = html.paragraph(f"No document is longer than {int(none[0]):,} tokens, at any vocabulary.") if none else ""
    return f"<h3>Tokens per document, against context lengths</h3>{_lengths(files, last)}{told}{over}{rest}"


def _lengths(files: RunFiles, row: SizeTokens) -> str:
    """Return the histogram of tokens per document at one vocabulary size, context lengths drawn in; empty where no file tells."""
    names = [name for name in files.published("token_counts") if name.endswith(".parquet")]
    column, chosen, parts = f"tokens_{row.vocab_size}", spread(names), []
    for name in chosen:
        with files.made.parquet(name) as parquet:
            if column in parquet.schema_arrow.names:
                parts.append(parquet.read(columns=[column]).column(0).to_numpy())
    values = np.concatenate(parts) if parts else np.zeros(0)
    values = values[values > 0].astype(np.float64)
    if len(values) == 0 or values.min() == values.max():
        return ""
    number = min(BINS, max(8, int(np.sqrt(len(values)))))
    edges = np.unique(np.round(np.geomspace(values.min(), values.max(), number + 1)))
    number = len(edges) - 1
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    marks = [(float(n), f"{int(n):,}") for n in row.share_over if edges[0] < float(n) < edges[-1]][:3]
    said = f"Tokens of {len(values):,} documents at vocabulary {row.vocab_size:,}" + (f", of {len(chosen):,} of {len(names):,} files" if len(chosen) < len(names) else "")  # fmt: skip
    body = [[f"{edges[n]:,.0f}", f"{edges[n + 1]:,.0f}", f"{counts[n]:,}"] for n in range(number) if counts[n]]
    chart = svg.histogram(edges.tolist(), counts.tolist(), marks, grows=True)
    table = html.details("The histogram as a table", html.table(["from", "to", "documents"], body))
    return f"<figure>{chart}<figcaption>{said}</figcaption></figure>{table}"


def _groups(rows: list[SizeTokens], title: str) -> str:
    groups: list[Mapping[str, GroupTokens]] = [getattr(row, f"by_{title}") for row in rows]
    largest = groups[-1]
    premium = any(group.premium_per_character for group in largest.values())
    head = [
        title,
        *(f"{row.vocab_size:,}" for row in rows),
        "bytes/token",
        "tokens/word",
        *(["per character, against en"] if premium else []),
    ]
    body = []
    for name in _largest(largest, TABLED):
        group = largest[name]
        cells = [
            name,
            *(f"{by[name].tokens if name in by else 0:,}" for by in groups),
            _number(group.bytes_per_token),
            _number(group.tokens_per_word),
        ]
        body.append([*cells, _number(group.premium_per_character)] if premium else cells)
    rest = html.paragraph(f"{len(largest) - TABLED:,} more, with fewer tokens.") if len(largest) > TABLED else ""
    return (
        f"<h3>Tokens by {title}</h3>"
        + html.table(head, body, caption="the last columns are of the largest vocabulary")
        + rest
    )


def _languages(rows: list[SizeTokens]) -> str:
    """Return fertility and premium of every language, each on one scale, and the table of all."""
    names = _largest(rows[-1].by_language, MULTIPLES)
    clipped = "A line at the upper edge goes beyond the scale, as of languages that put no spaces between words."
    lead = "Tokens a character, against English: 2 means that the same number of characters takes twice the tokens."
    return (
        _multiples(rows, names, "tokens_per_word", "Fertility: tokens per word of every language, on one scale", "", clipped)
        + _multiples(rows, names, "premium_per_character", "Premium: what every language pays, on one scale", lead, clipped)
        + (html.paragraph(f"The {MULTIPLES} with most tokens; the table has more.") if len(rows[-1].by_language) > MULTIPLES else "")
        + _groups(rows, "language")
    )  # fmt: skip


def _multiples(rows: list[SizeTokens], names: list[str], key: str, title: str, lead: str, clipped: str) -> str:
    """Return a small chart of `key` for each language; with one vocabulary, where no line is to be drawn, a bar."""
    lines = {name: line for name in names if (line := _points(rows, name, key))}
    if len(lines) < 2:
        return ""
    top = min(max(y for line in lines.values() for _, y in line), 4 * statistics.median(line[-1][1] for line in lines.values()))  # fmt: skip
    over = html.paragraph(clipped) if any(y > top for line in lines.values() for _, y in line) else ""
    if len(rows) == 1:
        drawn = [(name, [(min(line[-1][1], top) / top, "k")], [f"{line[-1][1]:.3g}"]) for name, line in lines.items()]
        head = ["language", title.partition(":")[0].lower(), "at its size"]
        body = html.bars(head, drawn[:OPEN]) + (html.details(f"{len(drawn) - OPEN} more languages", html.bars(head, drawn[OPEN:])) if len(drawn) > OPEN else "")  # fmt: skip
    else:
        shown = [f"<figure>{svg.lines([(name, [(x, min(y, top)) for x, y in line])], 'vocabulary', f'{name}: {line[-1][1]:.3g}', 160, 120, (0.0, top))}</figure>" for name, line in lines.items()]  # fmt: skip
        body = f'<div class="small">{"".join(shown[:OPEN])}</div>'
        if len(shown) > OPEN:
            rest = f'<div class="small">{"".join(shown[OPEN:])}</div>'
            body += html.details(f"{len(shown) - OPEN} more languages", rest)
    return f"<h3>{title}</h3>{html.paragraph(lead, 'lead') if lead else ''}{body}{over}"


def _unused(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    body = [[f"{r['vocab_size']:,}", f"{r['unused']:,} ({html.percent(r['unused'], r['vocab_size'])})", f"{r['unused_bytes']:,}", f"{r['unused_merges']:,}",
             " ".join(readable(token) for token in r["examples"][:12])] for r in rows]  # fmt: skip
    return "<h3>Tokens never used</h3>" + html.table(
        ["vocabulary", "never used", "of these bytes", "of these merges", "examples"], body, (4,)
    )


def _byte_characters() -> dict[str, int]:
    """Return the byte that each character of GPT-2's printable form of bytes stands for (Radford et al. 2019, encoder.py)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(others)}


_BYTES = _byte_characters()


def readable(token: str) -> str:
    """Return a token in quotes as the text that it is; bytes that are no text by themselves as ``<E5 8F>``.

    >>> readable("Ġmorn"), readable("Ã©"), readable("ŃĲ")
    ('"␣morn"', '"é"', '<AD 90>')
    """
    if any(c not in _BYTES for c in token):
        return f'"{token}"'
    raw = bytes(_BYTES[c] for c in token)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return f"<{raw.hex(' ').upper()}>"
    return '"' + text.replace(" ", "␣") + '"'


def _costs(costs: Sequence[SizeCost] | None) -> str:
    if not costs:
        return ""
    head = SizeCost.__struct_fields__
    cells = [[getattr(row, key) for key in head] for row in costs]
    body = [[_number(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in cells]
    return "<h3>What a vocabulary costs the model</h3>" + html.table([name.replace("_", " ") for name in head], body)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _largest(groups: Mapping[str, GroupTokens], number: int) -> list[str]:
    return sorted(groups, key=lambda name: (-groups[name].tokens, name))[:number]
