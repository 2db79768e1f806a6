"""``tokenmill tokenizer``: train a ladder on files of text, count tokens by it or by tokenizers of others."""

from __future__ import annotations

import argparse
import json
import pathlib
from typing import Any

import pyarrow as pa

from pipeline.errors import UserError
from tokenmill.terminal import Ticker, table
from tokenmill.text_options import add_text_options


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("tokenizer", help="train a ladder of tokenizers, or count tokens")
    verbs = parser.add_subparsers(dest="verb", metavar="train|count", required=True)
    train = verbs.add_parser("train", help="one training for every vocabulary size")
    train.add_argument("paths", nargs="+", help="Parquet, JSONL, WET or text files; folders and globs")
    train.add_argument("--out", required=True, help="folder for the ladder; an interrupted training goes on from it")
    train.add_argument("--vocab-sizes", required=True, help="ascending, such as 8192,32768,131072")
    train.add_argument(
        "--pattern", default="cl100k", help="gpt2, cl100k, o200k, llama3 or a regular expression (cl100k)"
    )
    train.add_argument(
        "--special-token", action="append", help="name of a special token; may be repeated (<|endoftext|>)"
    )
    train.add_argument(
        "--special-tokens-in-text", action="store_true", help="let names of special tokens in texts become them"
    )
    for role, what in (("eos", "ends a text"), ("bos", "begins a text"), ("pad", "fills up"), ("unk", "is unknown")):
        train.add_argument(
            f"--{role}-token", default="", metavar="NAME",
            help=f"the special token that {what}, for transformers (the one with a usual name, if any)",
        )  # fmt: skip
    train.add_argument("--min-frequency", type=int, default=0, help="pairs that occur less often are not joined (0)")
    train.add_argument("--max-token-length", type=int, help="in bytes (no limit)")
    train.add_argument(
        "--min-pretoken-count", type=int, default=1, help="rarer pretokens are left out, to bound memory (1)"
    )
    train.add_argument("--sample", type=float, default=1.0, help="share of the documents, by hash of their ids (1)")
    train.add_argument("--pad-to-multiple", type=int, default=0, help="fill vocabularies up to a multiple of this (0)")
    train.add_argument("--memory-mb", type=int, default=512, help="memory for counting; the rest goes to disk (512)")
    train.set_defaults(run=_train)
    count = verbs.add_parser("count", help="tokens by vocabulary size, source and language")
    count.add_argument("paths", nargs="+", help="Parquet, JSONL, WET or text files; folders and globs")
    count.add_argument(
        "--tokenizer", action="append", required=True,
        metavar="[NAME=]PATH",
        help="a ladder's folder (all sizes in one pass), a tokenizer.json, or a tiktoken rank file; may be repeated",
    )  # fmt: skip
    count.add_argument("--pattern", help="how a tiktoken rank file wants text cut")
    count.add_argument("--out", help="folder for counts.parquet (a row a document) and the report")
    count.set_defaults(run=_count)
    for verb in (train, count):
        add_text_options(verb)
        verb.add_argument("--workers", type=int, help="threads (all cores)")
        verb.add_argument("--json", action="store_true", help="print the result as JSON")


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part.strip().replace("_", "")) for part in text.split(","))
    except ValueError as error:
        raise UserError(f"--vocab-sizes: {text!r} is no list of numbers such as 8192,32768") from error


def _share(phase: str, share: float, left: float) -> str:
    return f"{phase}: {100 * share:.0f} %, {left:.0f} s left"


def _train(given: argparse.Namespace) -> int:
    from tokenizer.ladder.roles import DEFAULT_SPECIAL_TOKENS, ROLES
    from tokenizer.training.of_files import train_ladder

    ladder = train_ladder(
        given.paths,
        _sizes(given.vocab_sizes),
        pattern=given.pattern,
        out=given.out,
        special_tokens=DEFAULT_SPECIAL_TOKENS if given.special_token is None else given.special_token,
        special_tokens_in_text=given.special_tokens_in_text,
        min_frequency=given.min_frequency,
        max_token_length=given.max_token_length,
        min_pretoken_count=given.min_pretoken_count,
        sample=given.sample,
        pad_to_multiple=given.pad_to_multiple,
        **{role: getattr(given, role) for role in ROLES},
        text_column=given.text_column,
        documents=given.documents,
        memory_bytes=given.memory_mb << 20,
        workers=given.workers,
        note=Ticker(_share),
    )
    facts = {"out": given.out, "vocab_sizes": ladder.vocab_sizes, "digest": ladder.digest, **ladder.training}
    if given.json:
        print(json.dumps(facts, indent=1))
    else:
        _tell(facts, given.out)
    if ladder.shortfall:  # what there is stands; a script that asked for more has to hear of it
        raise UserError(ladder.shortfall)
    return 0


def _tell(facts: dict[str, Any], out: str) -> None:
    print(f"{facts['documents']:,} documents, {facts['bytes']:,} bytes, {facts['pretokens']:,} distinct pretokens")
    if facts["unreadable"]:
        print(f"{facts['unreadable']:,} records could not be read and were left out")
    for size in facts["vocab_sizes"]:
        print(f"{size:>9,} tokens: {out}/{size}/tokenizer.json")


def _counter(text: str, pattern: str | None) -> Any:
    from tokenizer.counting.foreign import load_counter

    name, _, path = text.rpartition("=") if not pathlib.Path(text).exists() else ("", "", text)
    counter = load_counter(path, pattern)
    return counter.renamed(name) if name else counter


def _count(given: argparse.Namespace) -> int:
    from pipeline.storage import Folder
    from tokenizer.counting.of_files import count_files
    from tokenizer.counting.report import report_rows, write_report
    from tokenizer.counting.totals import Totals

    counters = [_counter(text, given.pattern) for text in given.tokenizer]
    totals, tables = Totals(), []
    unreadable = 0
    for item in count_files(given.paths, counters, given.text_column, given.workers, given.documents):
        if isinstance(item, int):
            unreadable += item
            continue
        totals.add(item)
        if given.out:
            tables.append(item)
    rows = report_rows(totals, [column for counter in counters for column in counter.columns])
    if given.out:
        folder = Folder(str(pathlib.Path(given.out).resolve()))
        folder.put_table("counts.parquet", pa.concat_tables(tables) if tables else pa.table({}))
        write_report(rows, folder)
    if given.json:
        print(json.dumps({"unreadable": unreadable, "rows": rows}, indent=1, ensure_ascii=False))
        return 0
    for counter in counters:
        print(f"{counter.name}: {counter.kind}")
    if unreadable:
        print(f"{unreadable:,} records could not be read and were left out")
    print(_table(rows))
    return 0


def _table(rows: list[dict[str, Any]]) -> str:
    head = ("tokenizer", "group", "name", "documents", "tokens", "bytes/token", "tokens/word", "median", "premium")
    cells = []
    for row in rows:
        premium, per_token, per_word = row["premium_per_character"], row["bytes_per_token"], row["tokens_per_word"]
        cells.append(
            [
                row["tokenizer"],
                row["group"],
                row["name"],
                f"{row['documents']:,}",
                f"{row['tokens']:,}",
                "-" if per_token is None else f"{per_token:.3f}",
                "-" if per_word is None else f"{per_word:.2f}",
                f"{row['quantiles'].get('0.5', 0):,}",
                "-" if premium is None else f"{premium:.2f}",
            ]
        )
    return table(head, cells, left=(0, 1, 2))
