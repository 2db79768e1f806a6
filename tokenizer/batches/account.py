"""What a look at steps found, as one JSON object and as lines for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tokenizer.batches.look import Finding, Looker, Window
from tokenizer.batches.suspects import suspects_of
from tokenizer.batches.token_facts import bytes_of_tokens

TEXT_BYTES = 400
"""Bytes of a suspect's text that are shown."""

MEANING = {
    "bytes_per_token": "bytes a token stands for",
    "rarity": "bits of a token by its frequency in the corpus",
    "disorder": "bits lost by the order of words that are frequent",
    "repetition": "share of four-token runs that came before in the document",
    "symbols": "share of bytes that are visible signs",
    "digits": "share of bytes that are digits",
    "odd_bytes": "share of bytes that no text holds",
    "mixed_case": "capital letters behind small ones in a word, a letter",
    "copies": "share of tokens that stand in two documents of the window",
    "document_tokens": "length of the documents, log2 of tokens",
    "token_mix": "bits a token by which the mix differs from the corpus",
}


def account_of(looker: Looker, first: int, last: int, tokenizer: bytes, number: int = 20) -> dict[str, Any]:
    """Return what steps `first` to `last` (not included) held: findings, mixes, suspects with their text."""
    training = looker.training
    training.check(first, last)
    start, end = training.samples(first, last)
    window, findings = looker.look(start, end)
    tokens = bytes_of_tokens(tokenizer)
    suspects = []
    for suspect in suspects_of(looker, window, findings, number):
        row = training.sampler.parts[suspect.part].rows(np.array([suspect.document])).to_pylist()[0]
        about = {key: value for key, value in asdict(suspect).items() if key not in ("piece", "part", "document")}
        about["value"] = about["value"] if math.isfinite(about["value"]) else None
        about["sample"] += start
        about["step"] = _step_of(training, first, last, about["sample"])
        suspects.append({**row, **about, "text": _text(window, suspect.piece, tokens)})
    return {
        "steps": [first, last],
        "samples": [start, end],
        "tokens": int(window.pieces.tokens.sum()),
        "documents": len(np.unique((window.pieces.part << 40) + window.pieces.document)),
        "findings": [_as_dict(finding) for finding in findings],
        "mix": {kind: _mix(window, kind) for kind in window.labels},
        "suspects": suspects,
    }


def _step_of(training: Any, first: int, last: int, sample: int) -> int:
    bounds = training.schedule.bounds(first, last)
    return first + int(np.searchsorted(bounds, sample, side="right")) - 1


def _as_dict(finding: Finding) -> dict[str, Any]:
    numbers = {key: round(getattr(finding, key), 6) for key in ("value", "typical", "strength")}
    meaning = MEANING.get(finding.name, "share of tokens")
    return {**asdict(finding), **{k: None if v != v else v for k, v in numbers.items()}, "meaning": meaning}


def _mix(window: Window, kind: str) -> dict[str, float]:
    """Return the share of tokens of each language, source or domain, the largest first."""
    sums: dict[str, int] = {}
    for label, tokens in zip(window.labels[kind].tolist(), window.pieces.tokens.tolist(), strict=True):
        name = "unknown" if label is None else str(label)
        sums[name] = sums.get(name, 0) + tokens
    total = max(1, sum(sums.values()))
    largest = sorted(sums, key=lambda name: (-sums[name], name))[:20]
    return {name: round(sums[name] / total, 6) for name in largest}


def _text(window: Window, piece: int, tokens: Sequence[bytes | None]) -> str:
    read = window.tokens[window.bounds[piece] : window.bounds[piece + 1]].tolist()
    data = bytearray()
    for token in read:
        data += tokens[token] or b""
        if len(data) > TEXT_BYTES:
            break
    return bytes(data[:TEXT_BYTES]).decode("utf-8", "replace")


def lines_of(account: dict[str, Any]) -> list[str]:
    """Return the account for a person."""
    first, last = account["steps"]
    lines = [
        f"steps {first:,} to {last - 1:,}: samples {account['samples'][0]:,} to {account['samples'][1] - 1:,}, "
        f"{account['tokens']:,} tokens of {account['documents']:,} documents",
        "",
        f"{'unusual':32s} {'value':>10s} {'typical':>10s}  rank among random windows",
    ]
    compared = [finding for finding in account["findings"] if finding["windows"] and finding["typical"] is not None]
    shown = [finding for finding in compared if finding["rank"] <= max(10, finding["windows"] // 10)][:10]
    for finding in shown:
        lines.append(
            f"{finding['name'][:32]:32s} {finding['value']:10.4g} {finding['typical']:10.4g}  {finding['rank']:,} of "
            f"{finding['windows'] + 1:,}  ({finding['meaning']})"
        )
    if not compared:
        lines.append("the training has no other window of this size to compare with")
    elif not shown:
        lines.append("nothing: every value is among those of nine in ten random windows")
    lines += ["", "suspects"]
    for number, suspect in enumerate(account["suspects"][:10], 1):
        text = " ".join(suspect["text"].split())[:100]
        where = suspect["url"] or suspect["id"]
        lines.append(
            f"{number:2d}. {where}  ({suspect['reason']}; {suspect['tokens']:,} tokens, step {suspect['step']:,})"
        )
        lines.append(f"    {text}")
    return lines
