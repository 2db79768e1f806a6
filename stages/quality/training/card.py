"""The model card: what a classifier was trained on and how, what it is worth, and what it decides by."""

from __future__ import annotations

import hashlib
import pathlib
from dataclasses import asdict
from typing import Any

import numpy as np

from pipeline.stage import installed_version
from stages.quality.training.examples import BAD, GOOD
from stages.quality.training.measures import threshold_for
from stages.quality.training.train import Options, Tested


def card_of(
    model: pathlib.Path,
    options: Options,
    trained_on: dict[str, int],
    left_out: dict[str, int],
    tested: Tested,
    rate: float,
    corpus: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return the card as JSON holds it. It tells nothing of when or where the model was made.

    Args:
        trained_on: documents by label; left_out: by reason.
        rate: share to keep, for which a threshold is told.
        corpus: scores of the corpus that `rate` is of; the test documents if None.
    """
    area, low, high = tested.auc
    return {
        "model": model.name,
        "sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "kind": f"fastText classifier (fasttext-community {installed_version('fasttext-community')})",
        "labels": {"good": GOOD, "bad": BAD},
        "text": "folded",
        "options": asdict(options),
        "trained_on": {"good": trained_on[GOOD], "bad": trained_on[BAD]},
        "tested_on": {"good": int(tested.good.sum()), "bad": int((~tested.good).sum())},
        "left_out": left_out,
        "auc": {"value": area, "low": low, "high": high},
        "threshold": {
            "rate": rate,
            "of": "the test documents" if corpus is None else f"{len(corpus):,} documents of a corpus",
            "value": tested.threshold(rate) if corpus is None else threshold_for(corpus, rate),
        },
        "keep_rates": [asdict(row) for row in tested.rates],
        "features": [asdict(feature) for feature in tested.features],
    }


def card_text(card: dict[str, Any]) -> str:
    """Return the card for people, as Markdown."""
    area, threshold, options = card["auc"], card["threshold"], card["options"]
    rates = "\n".join(
        f"| {100 * r['rate']:.0f} % | {r['threshold']:.6g} | {r['precision']:.3f} | {r['good_kept']:.3f} | {r['bad_kept']:.3f} |"
        for r in card["keep_rates"]
    )
    features = "\n".join(
        f"| {_cell(f['text'])} | {f['part']:+.4f} | {f['weight']:+.2f} | {f['documents']} |" for f in card["features"]
    )
    left_out = "; ".join(f"{count:,} {why}" for why, count in card["left_out"].items()) or "none"
    return f"""# {card["model"]}

A {card["kind"]} that tells documents like the good ones it was shown from documents like the bad ones. Its score is
the probability of label `{card["labels"]["good"]}`, between 0 and 1; it ranks documents and is no probability of anything in a corpus
of another mixture. It knows the language, the domains and the faults of what it was trained on, and no others.

- trained on {card["trained_on"]["good"]:,} good and {card["trained_on"]["bad"]:,} bad documents; left out: {left_out}
- tested on {card["tested_on"]["good"]:,} good and {card["tested_on"]["bad"]:,} bad documents that were held out
- AUC {area["value"]:.4f} (95 % interval {area["low"]:.4f} to {area["high"]:.4f}, DeLong)
- text in lower case, marks apart; {", ".join(f"{k} {v}" for k, v in options.items())}
- SHA-256 `{card["sha256"]}`
- to keep {100 * threshold["rate"]:g} % of {threshold["of"]}: `threshold = {threshold["value"]:.6g}`

## Keep rates, of the documents tested

| keep | threshold | precision | good kept | bad kept |
|---|---|---|---|---|
{rates}

## What it decides by

Mean part of a word, or run of words, in the log-odds of the documents tested; its weight; documents it stands in.

| words | part | weight | documents |
|---|---|---|---|
{features}
"""


def _cell(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"
