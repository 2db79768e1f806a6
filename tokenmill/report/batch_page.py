"""What was in training steps, as one HTML page: self-contained, no script; whatever comes from documents is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenmill.report.escaping import escape
from tokenmill.report.html import document, table


def batch_page(accounts: Sequence[dict[str, Any]], spikes: Sequence[dict[str, Any]] = ()) -> str:
    """Return the page of `accounts` (`tokenizer.batches.account`), one section each, and of the spikes they belong to."""
    body = "".join([_spikes(spikes) if spikes else "", *map(_section, accounts)])
    return document("What was in the batch", f"<h1>What was in the batch</h1>{body}")


def _spikes(spikes: Sequence[dict[str, Any]]) -> str:
    rows = [
        [f"{s['first']:,} to {s['last'] - 1:,}", f"{s['peak']:,}", s["series"], f"{s['value']:.4g}", f"{s['usual']:.4g}",
         f"{s['z']:.1f}"]
        for s in spikes
    ]  # fmt: skip
    return "<h2>Spikes</h2>" + table(["steps", "peak", "series", "value", "trend", "robust z"], rows)


def _section(account: dict[str, Any]) -> str:
    first, last = account["steps"]
    head = (
        f"<h2>Steps {first:,} to {last - 1:,}</h2><p class='lead'>samples {account['samples'][0]:,} to "
        f"{account['samples'][1] - 1:,}, {account['tokens']:,} tokens of {account['documents']:,} documents</p>"
    )
    rows = [
        [f["name"], f"{f['value']:.4g}", f"{f['typical']:.4g}", f"{f['rank']:,} of {f['windows'] + 1:,}", f["meaning"]]
        for f in account["findings"]
        if f["value"] is not None and f["typical"] is not None
    ]
    parts = [head, table(["what", "value", "typical", "rank among random windows", "meaning"], rows)]
    for kind, mix in account["mix"].items():
        shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in list(mix.items())[:10])
        parts.append(f"<p><b>{escape(kind)}</b> {escape(shares)}</p>")
    parts += ["<h2>Suspects</h2>", *(_suspect(number, s) for number, s in enumerate(account["suspects"], 1))]
    return "".join(parts)


def _suspect(number: int, suspect: dict[str, Any]) -> str:
    facts = [
        suspect["reason"] + ("" if suspect["value"] is None else f": {suspect['value']:.4g}"),
        f"{suspect['tokens']:,} tokens", f"step {suspect['step']:,}",
        f"sample {suspect['sample']:,}", f"source {suspect['source']}", f"{suspect['file']} at {suspect['offset']}",
    ]  # fmt: skip
    return (
        f'<div class="example">{number}. {escape(str(suspect["url"] or suspect["id"]))} <i>{escape("; ".join(facts))}</i>'
        f"<blockquote>{escape(' '.join(suspect['text'].split())) or '(no text)'}</blockquote></div>"
    )
