"""Recall on injected leaks and false alarms on clean documents, for real evaluation sets; and the speed of the scan.

    python benchmarks/decontamination.py [--items 100] [--list]

Each sampled item is put into the middle of a real document: its main text alone, or all its texts; as it stands, wrapped
every 8 words, and in capitals with other punctuation. Clean are web pages and documents of which none is known to hold an
item; --list prints what was dropped of them, to be judged by eye. Beside the default, the rule of GPT-3 and datatrove
(any common n-gram) is measured in the same run.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from real_texts import data_folder, documents, guide_pages, web_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipeline.documents import Batch  # noqa: E402
from stages.decontamination.decontaminate import Decontaminate  # noqa: E402
from stages.decontamination.evaluation_sets import Item, read_items, set_name  # noqa: E402

MAIN = ("question", "query", "text", "prompt", "context", "context_options", "Question")
META = (
    "eval_key",
    "split",
    "config",
    "fingerprint",
    "task_id",
    "entry_point",
    "Type",
    "Category",
    "Source",
    "test_setup_code",
)
LABEL = re.compile(r"(?m)^(Question|Passage|Answer|Choices):[ \t]*")
ANY = 1e-9


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100, help="items sampled of each set")
    parser.add_argument("--list", action="store_true", help="print what was dropped of the clean documents")
    given = parser.parse_args()
    paths = sorted(str(p) for p in (data_folder() / "evalsets").iterdir() if p.suffix != ".md")
    stage = Decontaminate(evals=tuple(paths))
    stage.check()
    started = time.perf_counter()
    index = stage.index
    print(
        f"{len(paths)} files, {len(index.passages):,} passages, {len(index.gram_at):,} n-grams, {len(index.short):,} short passages;"
        f" index built in {time.perf_counter() - started:.1f} s, "
        f"{sum(v.nbytes for v in vars(index).values() if hasattr(v, 'nbytes')) / 1e6:.0f} MB"
    )
    clean = {**web_pages(), **documents()}
    guide = guide_pages()
    recall(stage, paths, list(clean.values()), given.items)
    false_alarms(stage, clean, show=given.list)
    false_alarms(stage, guide, show=given.list, name="installation guide")
    speed(stage, [*clean.values(), *guide.values()])


def leaks(item: Item) -> tuple[str, str]:
    """Return an item's main text, and all its texts, as a page would have them: without the labels of a prompt."""
    texts = [(key, LABEL.sub("", text).strip()) for key, text in item.texts if key not in META]
    main = next((text for key, text in texts if key in MAIN and text), "")
    return main, "\n".join(text for _, text in texts)


def wrapped(text: str) -> str:
    """Return `text` with a line break every 8 words."""
    words = text.split()
    return "\n".join(" ".join(words[i : i + 8]) for i in range(0, len(words), 8))


def restyled(text: str) -> str:
    """Return `text` in capitals, with other punctuation and white space."""
    return "«" + re.sub(r"[,.;:!?\"']", " — ", text.upper()).replace(" ", "  ") + "»"


FORMS: dict[str, Callable[[str], str]] = {"as is": str, "wrapped": wrapped, "restyled": restyled}


def recall(stage: Decontaminate, paths: Sequence[str], hosts: Sequence[str], items: int) -> None:
    """Print, by set, the share of leaks found in each form, of the main text alone and of all texts."""
    rng = random.Random(0)
    names = [f"{part} {form}" for part in ("main", "whole") for form in FORMS]
    print(f"\nrecall of injected leaks, {items} items a set" + " " * 9 + "".join(f"{name:>16}" for name in names))
    totals: dict[str, list[bool]] = {name: [] for name in names}
    for path in paths:
        chosen = list(read_items(path))
        chosen = rng.sample(chosen, min(items, len(chosen)))
        found: dict[str, list[bool]] = {name: [] for name in names}
        for item in chosen:
            host = rng.choice(hosts)
            half = len(host) // 2
            for part, leak in zip(("main", "whole"), leaks(item), strict=True):
                for form, set_in in FORMS.items():
                    text = f"{host[:half]}\n{set_in(leak)}\n{host[half:]}"
                    found[f"{part} {form}"].append(len(stage.apply(Batch.of([text])).removed) == 1)
        for name in names:
            totals[name] += found[name]
        print(f"  {set_name(path):<40}" + "".join(f"{sum(found[n]) / len(found[n]):>16.2f}" for n in names))
    print(f"  {'all':<40}" + "".join(f"{sum(totals[n]) / len(totals[n]):>16.3f}" for n in names))


def false_alarms(
    stage: Decontaminate, clean: Mapping[str, str], *, show: bool, name: str = "web pages and documents"
) -> None:
    """Print how many of the `clean` texts are dropped, by the default and by any common n-gram."""
    texts, ids = list(clean.values()), list(clean)
    batch = Batch.of(texts)
    removed, touched = stage.apply(batch).removed, replace(stage, min_share=ANY).apply(batch).removed
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(
        f"\n{name}, {len(texts)} texts, {size:.1f} MB: {len(removed)} dropped ({len(removed) / len(texts):.2%}); "
        f"by any common n-gram {len(touched)} ({len(touched) / len(texts):.2%})"
    )
    for removal in removed if show else ():
        print(f"  {removal.value:.2f}  {ids[removal.row]}  {removal.detail[:160]}")


def speed(stage: Decontaminate, texts: Sequence[str]) -> None:
    """Print MB of text scanned in a second, one core, best of three."""
    batch = Batch.of(list(texts))
    size = sum(len(text.encode()) for text in texts) / 1e6
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        stage.apply(batch)
        best = min(best, time.perf_counter() - started)
    print(f"\nscan: {size:.1f} MB of text at {size / best:.0f} MB/s, one core, best of three")


if __name__ == "__main__":
    main()
