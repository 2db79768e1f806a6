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
        [_steps(s["first"], s["last"]), f"{s['peak']:,}", s["series"], f"{s['value']:.4g}", f"{s['usual']:.4g}",
         f"{s['z']:.1f}"]
        for s in spikes
    ]  # fmt: skip
    worst = max(spikes, key=lambda s: float(s["z"]))
    said = f"{len(spikes):,} spike{'s' if len(spikes) != 1 else ''}; the worst: {worst['series']} {worst['value']:.4g} at step {worst['peak']:,}, where {worst['usual']:.4g} is usual"
    return f"<h2>{escape(said)}</h2>" + table(["steps", "peak", "series", "value", "trend", "robust z"], rows)


def _steps(first: int, end: int) -> str:
    return f"{first:,}" if end == first + 1 else f"{first:,} to {end - 1:,}"


def _finding(account: dict[str, Any]) -> str:
    """Return what is least usual of the steps, in words."""
    known = [f for f in account["findings"] if f["value"] is not None and f["typical"] is not None]
    if not known:
        return "nothing is known to compare them with"
    least = min(known, key=lambda f: f["rank"])
    said = f"{least['name']} is {least['value']:.3g}, {least['typical']:.3g} is typical"
    as_far = f"{least['rank'] - 1:,} of" if least["rank"] > 1 else "none of"
    return f"{said}, and {as_far} {least['windows']:,} random windows are as far off"


def _section(account: dict[str, Any]) -> str:
    first, last = account["steps"]
    head = (
        f"<h2>{escape(f'Step {_steps(first, last)}: {_finding(account)}')}</h2><p class='lead'>samples {account['samples'][0]:,} to "
        f"{account['samples'][1] - 1:,}, {account['tokens']:,} tokens of {account['documents']:,} documents</p>"
    )
    rows = [
        [f["name"], f"{f['value']:.4g}", f"{f['typical']:.4g}", f"{f['rank']:,} of {f['windows'] + 1:,}", f["meaning"]]
        for f in account["findings"]
        if f["value"] is not None and f["typical"] is not None
    ]
    parts = [head, table(["what", "value", "typical", "rank among random windows", "meaning"], rows, (4,))]
    for kind, mix in account["mix"].items():
        shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in list(mix.items())[:10])
        parts.append(f"<p><b>{escape(kind)}</b> {escape(shares)}</p>")
    number = len(account["suspects"])
    parts += [
        f"<h3>{number:,} document{'s' if number != 1 else ''} that stand out most</h3>",
        *(_suspect(number, s) for number, s in enumerate(account["suspects"], 1)),
    ]
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
