"""The run's answer as text: the funnel from documents read to tokens, the tokens by vocabulary size, the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.worker.tryout import LEFT_OUT
from tokenizer.counting.budget import TokenBudget
from tokenmill.terminal import lines, table

RULES_SHOWN = 3
"""How many of a stage's rules a line of the funnel names."""


def funnel_rows(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row a stage: documents in and out, failed, seconds of CPU, and rules by documents dropped."""
    rows = []
    for stage in summary["stages"]:
        label = stage["stage"]
        dropped = summary["dropped"].get(label, {})
        rows.append(
            {
                **stage,
                "dropped": sum(dropped.values()),
                "failed": sum(summary["failed_by"].get(label, {}).values()),
                "rules": sorted(dropped.items(), key=lambda item: (-item[1], item[0])),
                "spans": sum(summary["spans"].get(label, {}).values()),
            }
        )
    return rows


def funnel_text(summary: Mapping[str, Any]) -> str:
    """Return the funnel as a table."""
    unread = summary["failed_by"].get("read", {})
    rows = [["read", f"{summary['read']:,}", "", "", "", _rules(sorted(unread.items()), "failed: ")]]
    for row in funnel_rows(summary):
        notes = [_rules(row["rules"]), f"failed {row['failed']:,}" if row["failed"] else ""]
        notes.append(f"{row['spans']:,} spans removed from kept documents" if row["spans"] else "")
        share = f"{100 * row['documents_out'] / row['documents_in']:.1f} %" if row["documents_in"] else "-"
        rows.append(
            [
                row["stage"],
                f"{row['documents_out']:,}",
                f"{row['dropped']:,}" if row["dropped"] else "",
                share,
                f"{row['cpu_seconds']:.2f}",
                "; ".join(note for note in notes if note),
            ]
        )
    head = ["stage", "documents", "dropped", "kept", "CPU s", "dropped most by"]
    left_out = summary["ignored"].get(LEFT_OUT, 0)
    others = {why: n for why, n in summary["ignored"].items() if why != LEFT_OUT}
    ignored = sum(others.values())
    balance = (
        f"read {summary['read']:,} = kept {summary['kept']:,} + dropped {total(summary['dropped']):,} "
        f"+ failed {summary['failed']:,}"
    )
    text = [table(head, rows, left=(0, 5)), "", lines(balance)]
    if ignored:
        most = sorted(others.items(), key=lambda item: (-item[1], item[0]))[:4]
        said = f"{ignored:,} records of the crawl are no pages: " + ", ".join(f"{n:,} {why}" for why, n in most)
        text.append(lines(said))
    if summary.get("tryout"):
        more = f"; {left_out:,} records are not in the sample" if left_out else ""
        text.insert(0, f"TRY-OUT: only {summary['tryout']}{more}\n")
    return "\n".join(text)


def tokens_text(budget: TokenBudget) -> str:
    """Return tokens by vocabulary size as a table."""
    corpus = budget.corpus
    names = sorted({name for row in budget.tokenizers for name in row.by_source})
    head = ["vocabulary", "tokens", "bytes/token", "tokens/word", "median/document", *names]
    rows = []
    for row in budget.tokenizers:
        words = corpus.words
        rows.append(
            [
                f"{row.vocab_size:,}",
                f"{row.tokens:,}",
                f"{row.bytes_per_token:.3f}",
                f"{row.tokens / words:.2f}" if words else "-",
                f"{row.quantiles.get('0.5', 0):,.0f}",
                *[f"{row.by_source[name].tokens if name in row.by_source else 0:,}" for name in names],
            ]
        )
    said = f"{corpus.documents:,} documents, {corpus.bytes:,} bytes, {corpus.words:,} words"
    return f"{said}\n\n{table(head, rows)}"


def _rules(rules: Sequence[tuple[str, int]], before: str = "") -> str:
    shown = ", ".join(f"{rule} {number:,}" for rule, number in rules[:RULES_SHOWN])
    more = f", {len(rules) - RULES_SHOWN} more rules" if len(rules) > RULES_SHOWN else ""
    return f"{before}{shown}{more}" if shown else ""


def total(rules: Mapping[str, Mapping[str, int]]) -> int:
    """Return the documents of all stages and rules together."""
    return sum(sum(counts.values()) for counts in rules.values())
