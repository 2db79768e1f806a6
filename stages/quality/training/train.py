"""Training: fastText on one thread, from a file whose order depends on the texts alone, so the model does too."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.errors import UserError
from stages.quality.fasttext_model import FOLDED, PREFIX, Scorer, load
from stages.quality.training.examples import BAD, GOOD, Examples
from stages.quality.training.features import Feature, Weights
from stages.quality.training.measures import AtRate, at_rates, auc, threshold_for

ENOUGH = 10
"""Documents of each label without which nothing is trained."""
MOST_TESTED = 100_000
"""Of the documents held out, so many are tested on: the first by hash, which is a sample like any other."""
MOST_EXPLAINED = 2_000
"""And of so many it is told by which words they are judged."""


@dataclass(frozen=True)
class Options:
    """How a model is trained; the defaults were the best of those tried on 499 labelled web documents (docs/quality.md).

    Attributes:
        lr: learning rate; dim: of the vectors; epochs: times that each document is seen.
        word_ngrams: longest run of words that is a feature; buckets: how many such runs are told apart.
        min_count: rarer words are no feature.
        seed: of the first vectors and of nothing else.
    """

    lr: float = 0.5
    dim: int = 16
    epochs: int = 25
    word_ngrams: int = 2
    buckets: int = 200_000
    min_count: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Tested:
    """What a model is worth on documents that it was not trained on.

    Attributes:
        scores: float64, shape (documents,); good: bool, the same shape.
        auc: area under the ROC curve, and its 95 % interval.
        rates: what keeping a share of them does.
    """

    scores: np.ndarray
    good: np.ndarray
    auc: tuple[float, float, float]
    rates: list[AtRate]
    features: list[Feature]

    def threshold(self, rate: float) -> float:
        """Return the threshold that keeps `rate` of the documents tested."""
        return threshold_for(self.scores, rate)


def train(examples: Examples, out: pathlib.Path, options: Options) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Train on the examples not held out and write the model to `out`, whole or not at all.

    Returns:
        Documents trained on, by label; and (label, line) of those held out.

    Raises:
        UserError: too few documents of a label, or the model cannot be written.
    """
    counts = {GOOD: 0, BAD: 0}
    held: list[tuple[str, str]] = []
    with _lines() as (file, path):
        file.write(f"{PREFIX}{GOOD} {FOLDED}\n{PREFIX}{BAD} {FOLDED}\n" * options.min_count)
        for label, line, is_held in examples.read():
            if is_held:
                held += [(label, line)] if len(held) < MOST_TESTED else []
                continue
            counts[label] += 1
            file.write(f"{PREFIX}{label} {line}\n")
        for label, name in ((GOOD, "good"), (BAD, "bad")):
            if counts[label] < ENOUGH:
                raise UserError(f"only {counts[label]} {name} documents to train on; at least {ENOUGH} are needed")
        file.close()
        _write(_trained(path, options), out)
    return counts, held


def _trained(path: str, options: Options) -> Any:
    import fasttext

    try:
        return fasttext.train_supervised(
            input=path,
            lr=options.lr,
            dim=options.dim,
            epoch=options.epochs,
            wordNgrams=options.word_ngrams,
            bucket=options.buckets if options.word_ngrams > 1 else 0,
            minCount=options.min_count,
            seed=options.seed,
            thread=1,
            verbose=0,
        )
    except RuntimeError as error:
        raise UserError(f"training failed ({error}); a smaller --lr may help") from error


def _write(model: Any, out: pathlib.Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        os.close(handle)
        try:
            model.save_model(name)
            os.chmod(name, 0o644)
            os.replace(name, out)
        except BaseException:
            os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {out} ({error})") from error


@contextlib.contextmanager
def _lines() -> Iterator[tuple[Any, str]]:
    handle, path = tempfile.mkstemp(prefix="tokenmill-quality-", suffix=".txt")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file, path
    finally:
        os.unlink(path)


def test(model: pathlib.Path, held: list[tuple[str, str]]) -> Tested:
    """Return what the model in `model` is worth on the lines `held`."""
    scores = np.array([_score(model, line) for _, line in held], np.float64)
    good = np.array([label == GOOD for label, _ in held], bool)
    rates = at_rates(scores, good) if len(held) else []
    features = Weights.of(load(str(model))).deciding([line for _, line in held[:MOST_EXPLAINED]])
    return Tested(scores, good, auc(scores, good), rates, features)


def scores_of(model: pathlib.Path, texts: Iterable[str]) -> np.ndarray:
    """Return float64, shape (texts,): what the model in `model` says of each text."""
    scorer = Scorer(str(model), GOOD)
    return np.array([scorer.score(text) for text in texts], np.float64)


def _score(model: pathlib.Path, line: str) -> float:
    said = {label: p for p, label in load(str(model)).f.predict(line + "\n", -1, 0.0, "strict")}
    return float(said.get(PREFIX + GOOD, 0.0))
