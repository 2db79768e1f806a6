"""Contamination by evaluation set: its items, how many were found and in how many documents, and the evidence side by side."""

from __future__ import annotations

import json
import pathlib
import unicodedata
from dataclasses import dataclass

import numpy as np

from pipeline.corpus import rows_of
from pipeline.errors import InputError, StorageError, UserError
from pipeline.recipe import build_stage
from stages.decontamination.decontaminate import Decontaminate
from stages.decontamination.evaluation_sets import Item, read_items, set_name
from tokenmill.report import html
from tokenmill.report.escaping import escape
from tokenmill.report.ledger_facts import Leak, LedgerFacts, Row
from tokenmill.report.run_files import RunFiles

AROUND = 160
"""Characters shown on either side of what an item and a document share."""
MOST_SHARED = 900
"""Characters of it."""
SEARCHED = 300_000
"""Characters of a document in which the passage is looked for."""
SAME_ID = 20
"""Documents of one id that are looked at."""


def contamination(files: RunFiles, facts: LedgerFacts) -> str:
    """Return the section; empty where the run does not look for evaluation sets, or nothing is known of them."""
    stages = _stages(files)
    counts = {counts.name: counts for stage in stages for counts in stage.index.sets}
    if not facts.leaks and not counts:
        return ""
    rows, evidence = [], []
    secret = (files.manifest.recipe.get("ledger") or {}).get("text_characters") == 0
    for name in sorted({*facts.leaks, *counts}):
        leak, known = facts.leaks.get(name, Leak()), counts.get(name)
        most = leak.items.most_common(1)
        rows.append([
            name, f"{known.items:,}" if known else "not known", f"{known.found:,}" if known else "not known", f"{len(leak.items):,}",
            html.percent(len(leak.items), known.found) if known else "-", f"{leak.documents:,}", f"{most[0][0]} ({most[0][1]:,})" if most else "",
        ])  # fmt: skip
        if leak.examples and not secret:
            shown = "".join(_evidence(files, stages, row) for row in leak.examples)
            evidence.append(html.details(f"Evidence of {name}: {len(leak.examples)} of {leak.documents:,} documents", shown, printed=True))  # fmt: skip
    lead = "Found: items of which a document held enough to be removed. " + (
        f"From {facts.read:,} of {facts.of:,} files of the ledger." if facts.read < facts.of else "Every line of the ledger is counted.")  # fmt: skip
    head = ["evaluation set", "items", "looked for", "found", "of those", "documents hit", "found most (documents)"]
    return html.heading(_finding(facts, len(rows)), lead) + html.table(head, rows, (6,)) + "".join(evidence)


def _finding(facts: LedgerFacts, sets: int) -> str:
    total, hit = sum(leak.documents for leak in facts.leaks.values()), len(facts.leaks)
    if not total:
        return f"No document held an item of the {sets} evaluation set{'s' if sets != 1 else ''}"
    return f"{total:,} document{'s' if total != 1 else ''} held items of {hit} of {sets} evaluation set{'s' if sets != 1 else ''}"


def _stages(files: RunFiles) -> list[Decontaminate]:
    """Return the stages of the run that look for evaluation sets, of those whose files are as they were."""
    found = []
    folder = pathlib.Path(files.manifest.recipe_file).parent
    for at, table in enumerate(files.manifest.recipe.get("stage") or []):
        if table.get("use") != "decontaminate":
            continue
        try:
            stage = build_stage(table, folder, f"stages[{at}]")
            then = files.manifest.stages[at] if at < len(files.manifest.stages) else {}
            if isinstance(stage, Decontaminate) and _plain(stage.identity()) == _plain(then):
                found.append(stage)
        except (UserError, StorageError):  # its files are gone: the ledger still tells
            continue
    return found


def _plain(value: object) -> object:
    return json.loads(json.dumps(value, default=str))


def _evidence(files: RunFiles, stages: list[Decontaminate], row: Row) -> str:
    """Return one document beside the item that it gives away, what they share marked in both."""
    measured = f"holds {html.percent(row['value'], 1)} of it, removed from {html.percent(row['threshold'], 1)} on" if row["value"] is not None and row["threshold"] is not None else ""  # fmt: skip
    name, item, gram = _told(stages, row["detail"] or "")
    text = _document(files, row, gram)
    known = _item(stages, name, item, gram)
    where = shared(known or gram, text, gram)
    said = f"{escape(str(row['url'] or row['id'])[:300])} <i>{escape(measured)}</i>"
    if where is None:
        behind = "The passage lies behind the part of the text that is kept here."
        right = f"{html.excerpt(text, 2 * AROUND)}{html.paragraph(behind)}"
        left = html.excerpt(known or gram, MOST_SHARED, " ".join(gram.split()))
    else:
        left, right = _marked(known or gram, where.item), _marked(text, where.document)
    return (
        f'<div class="example">{said}<div class="pair"><div><h4>{escape(f"{name}, item {item}"[:300])}</h4>{left}</div>'
        f"<div><h4>in the document</h4>{right}</div></div></div>"
    )


def _told(stages: list[Decontaminate], detail: str) -> tuple[str, str, str]:
    """Return set, item and n-gram of a line of the ledger (``SET, item ITEM, KEY: WORDS``)."""
    name, _, rest = detail.partition(", item ")
    for stage in stages:
        for passage in stage.index.passages:
            begin = f"{passage.set}, item {passage.item}, {passage.field}: "
            if passage.set == name and detail.startswith(begin):
                return passage.set, passage.item, detail[len(begin) :]
    item, _, rest = rest.partition(", ")
    return name, item, rest.partition(": ")[2]


def _item(stages: list[Decontaminate], name: str, item: str, gram: str) -> str:
    """Return the text of an evaluation item that holds `gram`, or all its texts; empty where it is not to be had."""
    for stage in stages:
        for path in stage.evals:
            if set_name(path) != name:
                continue
            try:
                found = next((one for one in read_items(path, stage.fields) if one.name == item), None)
            except (InputError, StorageError):
                continue
            if found is not None:
                return _text_of(found, gram)
    return ""


def _text_of(item: Item, gram: str) -> str:
    folded = _folded(gram)[0]
    holding = [text for _, text in item.texts if folded in _folded(text)[0]]
    return holding[0] if holding else "\n".join(text for _, text in item.texts)


def _document(files: RunFiles, row: Row, gram: str) -> str:
    """Return the text of a removed document: whole, from the texts of the pass before where they hold it, else as the
    ledger does."""
    kept = str(row["text"] or "")
    wanted = _folded(gram)[0]
    if wanted in _folded(kept)[0]:
        return kept
    folder, shard = row["pass"], row["shard"]
    places = [step["folder"] for step in files.manifest.passes]
    before = places.index(folder) - 1 if folder in places else -1
    while before >= 0 and places[before] == folder:
        before -= 1
    if before < 0:
        return kept
    texts = files.out / files.manifest.passes[before]["texts"]
    if not texts.exists(shard):
        return kept
    with texts.parquet(shard) as parquet:
        ids = parquet.read(columns=["id"]).column("id").to_pylist()
    same = [n for n, one in enumerate(ids) if one == row["id"]][:SAME_ID]
    found = rows_of(texts, shard.removesuffix(".parquet"), np.array(same, np.int64), ["text"]) if same else None
    for text in found["text"].to_pylist() if found is not None else ():
        if wanted in _folded(text[:SEARCHED])[0]:
            return str(text[:SEARCHED])
    return kept


@dataclass(frozen=True)
class Shared:
    """What an item and a document have in common: (from, to) in characters of each."""

    item: tuple[int, int]
    document: tuple[int, int]


def shared(item: str, document: str, gram: str) -> Shared | None:
    """Return where `item` and `document` have in common what holds `gram`, as far as it reaches to both sides.

    Compared by letters and digits alone, without case and accents, as an evaluation item is looked for.
    """
    (a, at_a), (b, at_b), (wanted, _) = _folded(item), _folded(document), _folded(gram)
    i, j = a.find(wanted), b.find(wanted)
    if not wanted or i < 0 or j < 0:
        return None
    first = 0
    while first < min(i, j) and a[i - first - 1] == b[j - first - 1]:
        first += 1
    size = len(wanted)
    while i + size < len(a) and j + size < len(b) and a[i + size] == b[j + size]:
        size += 1
    return Shared(
        (at_a[i - first], at_a[i + size - 1] + 1),
        (at_b[j - first], at_b[j + size - 1] + 1),
    )


def _folded(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of `text`, folded, and the place in `text` of each."""
    found: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for one in unicodedata.normalize("NFKD", character.casefold()) if character > "\x7f" else character.lower():
            if one.isalnum():
                found.append(one)
                places.append(place)
    return "".join(found), places


def _marked(text: str, span: tuple[int, int]) -> str:
    start, end = span[0], min(span[1], span[0] + MOST_SHARED)
    before, inside, after = text[max(0, start - AROUND) : start], text[start:end], text[end : end + AROUND]
    cut = "…" if end < span[1] else ""
    return (
        f"<blockquote>{'… ' if start > AROUND else ''}{escape(before)}<mark>{escape(inside)}{cut}</mark>{escape(after)}"
        f"{' …' if end + AROUND < len(text) else ''}</blockquote>"
    )
