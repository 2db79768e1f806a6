"""A number that can say where it comes from, and the answers made of such numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.estimate.uncertainty import Interval
from planner.units import GIB, big, duration, money, plain

Value = int | float | str | bool | Interval | None


@dataclass(frozen=True)
class Quantity:
    """One printed number: value, unit, and its formula, inputs and source.

    `name` with `unit` behind it is the key in JSON (`peak_memory` in `bytes` -> `peak_memory_bytes`);
    a count or a name has no unit.
    """

    name: str
    value: Value
    unit: str
    label: str
    formula: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    @property
    def key(self) -> str:
        """The JSON key: name and unit, the unit once."""
        if not self.unit or self.name == self.unit or self.name.endswith(f"_{self.unit}"):
            return self.name
        return f"{self.name}_{self.unit}"

    def text(self) -> str:
        """The value for people, unit included."""
        if isinstance(self.value, Interval):
            return _interval_text(self.value, self.unit)
        return write(self.value, self.unit)


def _interval_text(v: Interval, unit: str) -> str:
    """`57 days (43 to 75)`: the unit's words once, where all three have the same; a known number without a range."""
    middle, low, high = (write(x, unit) for x in (v.p50, v.p10, v.p90))
    if v.p10 == v.p90:
        return middle
    words = unit.replace("_", " ")
    word = words if middle.endswith(f" {words}") else middle.rpartition(" ")[2]
    if len(word) > 2 and all(t.endswith(f" {word}") for t in (low, high)):
        low, high = low[: -len(word) - 1], high[: -len(word) - 1]
    return f"{middle} ({low} to {high})"


def write(value: Value, unit: str) -> str:
    """`value` in `unit`, as a person writes it. Bytes become GiB, seconds become days."""
    if value is None:
        return "unknown"
    if isinstance(value, str | bool | Interval):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if unit == "bytes":
        return f"{plain(value / GIB)} GiB" if value >= 0.01 * GIB else f"{plain(value / 2**20)} MiB"
    if unit == "seconds":
        return duration(value)
    if unit == "usd":
        return money(value)
    if unit in ("tokens", "parameters", "gpu_hours", "cpu_hours"):
        return f"{big(value)} {unit.replace('_', '-')}"
    if unit == "share":
        return f"{100 * value:.3g} %"
    if unit == "flop":
        return f"{value:.4g} FLOP"
    if unit == "flop_per_s":
        return f"{value / 1e12:.4g} TFLOP/s"
    if unit == "bytes_per_s":
        return f"{value / 1e9:.4g} GB/s"
    return f"{plain(value)} {unit.replace('_', ' ')}".rstrip()


@dataclass(frozen=True)
class Table:
    """Rows of a comparison; a column is (key with unit, heading)."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    formulas: tuple[tuple[str, str], ...] = ()
    """(column key, formula) of columns that are computed."""

    def records(self) -> list[dict[str, Any]]:
        """One dict per row, keyed by the columns' keys."""
        return [{key: value for (key, _), value in zip(self.columns, row, strict=True)} for row in self.rows]


@dataclass(frozen=True)
class Section:
    """A titled group of quantities, with an optional table and notes."""

    name: str
    title: str
    quantities: tuple[Quantity, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready: quantities by key, the table's rows, the notes."""
        out: dict[str, Any] = {q.key: plain_value(q.value) for q in self.quantities}
        if self.table is not None:
            out["rows"] = [{k: plain_value(v) for k, v in r.items()} for r in self.table.records()]
        if self.notes:
            out["notes"] = list(self.notes)
        return out

    def lines(self, explain: bool = False) -> list[str]:
        """The section as text, one quantity a line; with `explain`, its formula, inputs and source below it."""
        out = [self.title]
        width = max((len(q.label) for q in self.quantities), default=0)
        for q in self.quantities:
            out.append(f"  {q.label.ljust(width)}  {q.text()}")
            out += explanation(q) if explain else []
        if self.table is not None:
            out += ["  " + line for line in table_lines(self.table)]
            out += formula_lines(self.table) if explain else []
        out += [f"  {note}" for note in self.notes]
        return out


@dataclass(frozen=True)
class Answer:
    """The answer to one question: headline first, details after."""

    question: str
    headline: tuple[str, ...]
    sections: tuple[Section, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, every key with its unit."""
        return {
            "question": self.question,
            "answer": list(self.headline),
            **{s.name: s.as_dict() for s in self.sections},
        }

    def explanations(self) -> dict[str, dict[str, Any]]:
        """Formula, inputs and source of every number, by `section.key`."""
        return {
            f"{s.name}.{q.key}": {"formula": q.formula, "inputs": dict(q.inputs), "source": q.source}
            for s in self.sections
            for q in s.quantities
            if q.formula or q.source
        } | {
            f"{s.name}.rows.{key}": {"formula": formula, "inputs": {}, "source": ""}
            for s in self.sections
            if s.table is not None
            for key, formula in s.table.formulas
        }

    def lines(self, explain: bool = False) -> list[str]:
        """The answer as text."""
        out = list(self.headline)
        for section in self.sections:
            out += ["", *section.lines(explain)]
        return out


def explanation(q: Quantity) -> list[str]:
    """Indented lines: formula, inputs, source."""
    inputs = ", ".join(f"{k} = {_input(v)}" for k, v in q.inputs.items())
    pairs = (("=", q.formula), ("with", inputs), ("from", q.source))
    return [f"      {word} {text}" for word, text in pairs if text]


def formula_lines(table: Table) -> list[str]:
    """Indented lines: the formula of each computed column, by its heading."""
    headings = dict(table.columns)
    return [f"      {headings[key]} = {formula}" for key, formula in table.formulas if key in headings]


def _input(value: Any) -> str:
    return plain(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def plain_value(value: Any) -> Any:
    """Intervals become dicts; everything else JSON already knows."""
    if isinstance(value, Interval):
        return {"p10": value.p10, "p50": value.p50, "p90": value.p90}
    return value


def table_lines(table: Table) -> list[str]:
    """The table as aligned text; numbers right, words left."""
    cells = [[heading for _, heading in table.columns]]
    cells += [[cell(v, key) for v, (key, _) in zip(row, table.columns, strict=True)] for row in table.rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.columns))]
    left = [all(isinstance(r[i], str) for r in table.rows) for i in range(len(table.columns))]
    return [
        "  ".join(
            c.ljust(w) if is_left else c.rjust(w) for c, w, is_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in cells
    ]


_KEY_UNITS: Sequence[str] = (
    "gpu_hours",
    "bytes_per_s",
    "flop",
    "bytes",
    "seconds",
    "usd",
    "tokens",
    "parameters",
    "share",
)


def cell(value: Any, key: str) -> str:
    """A table cell: the unit is the end of the column's key."""
    if value is None:
        return "-"
    if isinstance(value, Interval):
        return f"{cell(value.p50, key)} ({cell(value.p10, key)} to {cell(value.p90, key)})"
    unit = next((u for u in _KEY_UNITS if key == u or key.endswith("_" + u)), "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) or not unit:
        return plain(value) if isinstance(value, float) else str(value)
    if unit in ("tokens", "parameters", "gpu_hours"):
        return big(value)
    return f"{value:.3g}" if unit == "flop" else write(value, unit)
