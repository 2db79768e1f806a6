"""``tokenmill quality``: trains a classifier of good and bad documents, and tells what it is worth."""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipeline.errors import UserError
from tokenmill.report.funnel import table
from tokenmill.terminal import visible

RATE = 0.1
"""The share that DCLM keeps."""


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("quality", help="train a quality classifier of your own")
    verbs = parser.add_subparsers(dest="verb", metavar="train", required=True)
    train = verbs.add_parser(
        "train",
        help="good and bad documents in, a fastText model for stage fasttext_quality out, with what it is worth",
    )
    files = "Parquet, JSONL, WET or text files; folders and globs"
    train.add_argument("--good", nargs="+", required=True, metavar="FILES", help=files)
    train.add_argument("--bad", nargs="+", required=True, metavar="FILES", help=f"{files}; or an unfiltered crawl")
    train.add_argument("--out", required=True, metavar="MODEL", help="the model (.bin); its card is MODEL.md and .json")
    train.add_argument(
        "--test", nargs="+", default=["0.2"], metavar="SHARE|FILES",
        help="share of the documents held out to test on, by their hash (0.2); or files of others with a key `label` (1, 0)",
    )  # fmt: skip
    train.add_argument("--rate", type=float, default=RATE, help="share to keep, for which a threshold is told (0.1)")
    train.add_argument(
        "--rate-on", nargs="+", default=[], metavar="FILES", help="the corpus that --rate is of (the test documents)"
    )
    train.add_argument("--lr", type=float, help="learning rate (0.5)")
    train.add_argument("--dim", type=int, help="size of the vectors (16)")
    train.add_argument("--epochs", type=int, help="times that each document is seen (25)")
    train.add_argument("--word-ngrams", type=int, help="longest run of words that is a feature (2)")
    train.add_argument("--min-count", type=int, help="rarer words are no feature (1)")
    train.add_argument("--seed", type=int, help="of the first vectors (1)")
    train.add_argument("--text-column", default="text", help="column or key of the text (text)")
    train.add_argument("--json", action="store_true", help="print the card as JSON")
    train.set_defaults(run=_train)


def _train(given: argparse.Namespace) -> int:
    from stages.quality.training.card import card_of, card_text
    from stages.quality.training.examples import BAD, GOOD, Examples
    from stages.quality.training.files import labelled, texts_of
    from stages.quality.training.train import scores_of, test, train

    options, (share, tests), out = _options(given), _tests(given.test), pathlib.Path(given.out)
    if not 0 < given.rate <= 1:
        raise UserError(f"--rate must be a share, more than 0 and at most 1; got {given.rate}")
    left_out: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="tokenmill-quality-") as name:
        examples = Examples(pathlib.Path(name) / "train", share)
        others = Examples(pathlib.Path(name) / "test", 1.0)
        examples.add(GOOD, texts_of(given.good, given.text_column, left_out))
        examples.add(BAD, texts_of(given.bad, given.text_column, left_out))
        for label, text in labelled(tests, given.text_column, left_out) if tests else ():
            others.add(label, [text])
        examples.close()
        others.close()
        counts, held = train(examples, out, options)
        held += [(label, line) for label, line, _ in others.read()]
        tested = test(out, held)
        if math.isnan(tested.auc[0]):
            raise UserError(
                f"nothing to test on: {len(held)} documents are held out, not of both kinds; "
                "give more documents, a larger --test, or files of others to test on"
            )
        corpus = None
        if given.rate_on:
            corpus = scores_of(out, texts_of(given.rate_on, given.text_column, left_out))
            if not len(corpus):
                raise UserError("--rate-on: these files hold no text")
    left_out += examples.left_out + others.left_out
    card = card_of(out, options, counts, dict(sorted(left_out.items())), tested, given.rate, corpus)
    for ending, text in ((".json", json.dumps(card, indent=1, ensure_ascii=False) + "\n"), (".md", card_text(card))):
        pathlib.Path(f"{out}{ending}").write_text(text, encoding="utf-8")
    if given.json:
        print(json.dumps(card, indent=1))
    else:
        print(_told(card, given.out))
    return 0


def _options(given: argparse.Namespace) -> Any:
    from stages.quality.training.train import Options

    names = ("lr", "dim", "epochs", "word_ngrams", "min_count", "seed")
    options = Options(**{name: value for name in names if (value := getattr(given, name)) is not None})
    for name in names:
        if getattr(options, name) <= 0 and name != "seed":
            raise UserError(f"--{name.replace('_', '-')} must be more than 0; got {getattr(options, name)}")
    return options


def _tests(given: Sequence[str]) -> tuple[float, Sequence[str]]:
    """Return the share to hold out and the files to test on, one of the two."""
    try:
        share = float(given[0])
    except ValueError:
        return 0.0, given
    if len(given) > 1 or not 0 < share < 1:
        raise UserError(f"--test is one share between 0 and 1, such as 0.2, or files; got {' '.join(given)}")
    return share, ()


def _told(card: dict[str, Any], out: str) -> str:
    area = card["auc"]
    rows = [
        [f"{100 * row['rate']:.0f} %", f"{row['threshold']:.6g}", *(f"{100 * row[key]:.1f} %" for key in _SHARES)]
        for row in card["keep_rates"]
    ]
    threshold = card["threshold"]
    words = {side: ", ".join(visible(f["text"]) for f in card["features"] if (f["part"] > 0) == (side == "good"))
             for side in ("good", "bad")}  # fmt: skip
    return "\n".join(
        [
            f"trained on {card['trained_on']['good']:,} good and {card['trained_on']['bad']:,} bad documents; "
            f"tested on {card['tested_on']['good']:,} and {card['tested_on']['bad']:,} others",
            *(f"{count:,} documents left out: {why}" for why, count in card["left_out"].items()),
            f"AUC {area['value']:.3f} (95 %: {area['low']:.3f} to {area['high']:.3f})",
            "",
            table(["keep", "threshold", "precision", "good kept", "bad kept"], rows),
            "",
            f"for good: {words['good']}",
            f"against:  {words['bad']}",
            "",
            f'[[stage]]\nuse = "fasttext_quality"\nmodel = "{out}"\nthreshold = {threshold["value"]:.6g}'
            f"  # keeps {100 * threshold['rate']:g} % of {threshold['of']}",
        ]
    )


_SHARES = ("precision", "good_kept", "bad_kept")
