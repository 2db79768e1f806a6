"""What signals, the published rule sets, a trained classifier and our preset are worth on documents labelled by people.

    python benchmarks/quality.py [--splits 20] [--folds 10]

499 web documents of DCLM (../shared/data/quality-dclm), good or bad by the majority of their readers. AUC of every signal;
AUC of `quality train`'s classifier in cross-validation; and, chosen on one half and reported on the other, over many
splits: what share of the good and of the bad is kept by the four published rule sets in a row, by the classifier alone,
and by the preset, rules and classifier together. Nothing of a half that is reported on is seen by what is chosen or trained.
"""

import argparse
import json
import pathlib
import tempfile
import zlib

import numpy as np

from pipeline.documents import Batch, Document
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition
from stages.quality.training.examples import BAD, GOOD, Examples
from stages.quality.training.measures import auc
from stages.quality.training.train import Options, scores_of, train

DATA = pathlib.Path(__file__).resolve().parents[2] / "shared/data/quality-dclm/majority_data.jsonl"
PUBLISHED = (GopherRepetition(words="spacy"), GopherQuality(words="spacy"), C4(), FineWeb(words="spacy"))
LOOSE = (
    GopherRepetition(),
    GopherQuality(max_non_alpha_words_ratio=0.7),
    FineWeb(line_punct_thr=0.05, short_line_thr=0.8, char_duplicates_ratio=0.1),
)
RULES = {"no rules": (), "loose rules": LOOSE}
"""What the preset's rules are chosen from: none, or the published ones with room (docs/quality.md)."""


def keeps(stages, texts) -> np.ndarray:
    """Return bool: which of `texts` the rule sets keep, one after the other."""
    batch = Batch.of(texts)
    for stage in stages:
        batch = stage.apply(batch).kept
    kept = np.zeros(len(texts), bool)
    kept[[int(i) for i in batch.column("id")]] = True
    return kept


def trained(texts, good, folder: pathlib.Path) -> pathlib.Path:
    """Return the model that `quality train` makes of labelled texts."""
    examples = Examples(folder / "examples")
    examples.add(GOOD, [t for t, g in zip(texts, good, strict=True) if g])
    examples.add(BAD, [t for t, g in zip(texts, good, strict=True) if not g])
    examples.close()
    train(examples, folder / "model.bin", Options())
    return folder / "model.bin"


def fitted(texts, good, on, of) -> np.ndarray:
    """Return the scores of texts `of` by a model trained on texts `on`."""
    with tempfile.TemporaryDirectory() as name:
        model = trained([texts[i] for i in on], good[on], pathlib.Path(name))
        return scores_of(model, [texts[i] for i in of])


def crossed(texts, good, rows, folds, chance) -> np.ndarray:
    """Return a score of each of `rows` by a model that was trained on the other folds of `rows`."""
    scores = np.zeros(len(rows))
    for part in np.array_split(chance.permutation(len(rows)), folds):
        rest = np.setdiff1d(np.arange(len(rows)), part)
        scores[part] = fitted(texts, good, rows[rest], rows[part])
    return scores


def gain(kept, good) -> float:
    """Return the share of the good that is kept, minus that of the bad."""
    return float(kept[good].mean() - kept[~good].mean())


def chosen(scores, good, rules) -> tuple[str, float]:
    """Return the rules and the threshold that gain most: of equals the one with the lowest threshold."""
    options = [(gain(rules[name] & (scores >= t), good), -t, name) for name in rules for t in np.quantile(scores, np.arange(0, 1, 0.02))]  # fmt: skip
    best = max(options)
    return best[2], -best[1]


def signals(texts, good) -> list[tuple[float, str, float]]:
    """Return (AUC in the better direction, signal, share of documents for which it is measured)."""
    found = []
    extra = {
        "upper_case_share": [sum(c.isupper() for c in t) / max(1, sum(c.isalpha() for c in t)) for t in texts],
        "characters_per_line": [len(t) / max(1, len([x for x in t.splitlines() if x.strip()])) for t in texts],
        "compressed_share": [len(zlib.compress(t.encode())) / max(1, len(t.encode())) for t in texts],
    }
    columns = {f"(not a rule's) {name}": np.array(values) for name, values in extra.items()}
    for stage in (GopherRepetition(), GopherQuality(), C4(), FineWeb()):
        table = np.array([stage.measure(Document(text)) for text in texts], float)
        columns |= {f"{stage.name}.{name}": table[:, n] for n, name in enumerate(stage.signal_names)}
    for name, values in columns.items():
        known = ~np.isnan(values)
        if known.sum() > 50 and len(np.unique(values[known])) > 1:
            area = auc(values[known], good[known])[0]
            found.append((max(area, 1 - area), name, known.mean()))
    return sorted(found, reverse=True)


def told(name, gains, kept_good, kept_bad) -> None:
    low, high = np.quantile(gains, (0.025, 0.975))
    print(
        f"{name:34}{100 * np.mean(kept_good):8.1f} %{100 * np.mean(kept_bad):8.1f} %{np.mean(gains):+9.3f}   "
        f"{low:+.3f} to {high:+.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--folds", type=int, default=10)
    args = parser.parse_args()
    rows = [json.loads(line) for line in DATA.read_text().splitlines()]
    texts, good = [row["text"] for row in rows], np.array([row["label"] == 1 for row in rows])
    print(f"{len(texts)} documents, {good.sum()} of them good\n\nAUC of signals (better direction)")
    for area, name, known in signals(texts, good):
        print(f"  {area:.3f}  {name}" + (f"  (of {known:.0%})" if known < 1 else ""))

    every = np.arange(len(texts))
    scores = crossed(texts, good, every, args.folds, np.random.RandomState(0))
    area, low, high = auc(scores, good)
    print(f"\nclassifier, {args.folds}-fold: AUC {area:.3f} ({low:.3f} to {high:.3f})\n")

    published = keeps(PUBLISHED, texts)
    rules = {name: keeps(stages, texts) for name, stages in RULES.items()}
    results: dict[str, list[tuple[float, float, float]]] = {}
    picked: dict[str, int] = {}
    for split in range(args.splits):
        chance = np.random.RandomState(split)
        half, other = np.array_split(chance.permutation(len(texts)), 2)
        inside, outside = crossed(texts, good, half, 5, chance), fitted(texts, good, half, other)
        kinds = {"classifier alone": {"no rules": rules["no rules"]}, "preset: rules and classifier": rules}
        kept = {"four published sets": published[other]}
        for kind, choice in kinds.items():
            name, threshold = chosen(inside, good[half], {n: k[half] for n, k in choice.items()})
            kept[kind] = rules[name][other] & (outside >= threshold)
            if kind.startswith("preset"):
                picked[name] = picked.get(name, 0) + 1
        kept["loose rules alone"] = rules["loose rules"][other]
        for kind, mask in kept.items():
            told_good, told_bad = mask[good[other]].mean(), mask[~good[other]].mean()
            results.setdefault(kind, []).append((told_good - told_bad, told_good, told_bad))
    print(f"chosen and trained on one half, reported on the other; {args.splits} splits")
    print(f"{'':34}{'good kept':>10}{'bad kept':>10}{'gain':>9}   95 % of the splits")
    for kind, values in results.items():
        told(kind, *np.array(values).T)
    print("chosen:", ", ".join(f"{name} {n} times" for name, n in sorted(picked.items())))


if __name__ == "__main__":
    main()
