"""Small charts as inline SVG: no script, no font, no network.

They are drawn `WIDTH` units wide and shown at that size, a page beside a page of them where there is room, so that a text of
12 units is one of 12 pixels on a phone too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokenmill.report.escaping import escape

INK, SOFT, BAR, ACCENT = "var(--ink)", "var(--soft)", "var(--bar)", "var(--accent)"
COLOURS = ("var(--accent)", "var(--bar)", "var(--third)", "var(--fourth)", "var(--soft)")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4")
WIDTH = 340
MOST_TICKS = 12
"""Values of x that are marked one by one; with more, powers of ten are."""
LINE = 15
"""Units between the base lines of two texts that stand below each other."""


def text_width(text: str) -> float:
    """Return about how many units a text of 12 units takes, rather more than less; a wide character is two narrow ones."""
    return sum(12.5 if ord(c) > 0x2E7F else 7.2 for c in text)


def fitted(text: str, room: float) -> str:
    """Return `text`, cut where it takes more than `room` units."""
    if text_width(text) <= room:
        return text
    while text and text_width(text) + 7.2 > room:
        text = text[:-1]
    return f"{text}…"


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places near those `wanted`, in the same order of height, `gap` from each other and from `low` to `high`.

    Where so many do not fit between them, the gap holds and the last ones are below `high`.
    """
    order = sorted(range(len(wanted)), key=lambda n: (wanted[n], n))
    placed, floor = [0.0] * len(wanted), low
    for n in order:
        placed[n] = floor = max(wanted[n], floor)
        floor += gap
    ceiling = high
    for n in reversed(order):
        if placed[n] <= ceiling:
            break
        placed[n] = max(ceiling, low)
        ceiling = placed[n] - gap
    floor = low
    for n in order:
        placed[n] = max(placed[n], floor)
        floor = placed[n] + gap
    return placed


def round_ticks(low: float, high: float, number: int = 4) -> list[float]:
    """Return round numbers from `low` to `high`, about `number` of them: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / number
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [(first + n) * step for n in range(int((high - first * step) / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten from `low` to `high`, the ends themselves where there are not two."""
    powers = [10.0**n for n in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
    return powers if len(powers) > 1 else [low, high]


def lines(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    x_label: str,
    y_label: str,
    width: int = WIDTH,
    height: int = 230,
    y_range: tuple[float, float] | None = None,
    marks: Sequence[tuple[float, float, str]] = (),
) -> str:
    """Return lines over a logarithmic x axis: (name, points) a line, named at its end.

    The axis is marked at the values of x where these are few, else at powers of ten.

    Args:
        y_range: of the axis, where several charts share it.
        marks: (x, y, text) of single points.
    """
    points = [point for _, line in series for point in line] + [(x, y) for x, y, _ in marks]
    if not points:
        return ""
    names = [fitted(name, 92) for name, _ in series]
    top, bottom = 28, 40
    right = 12 + (max(map(text_width, names)) if len(series) > 1 else 0)
    xs = sorted({x for x, _ in points})
    low, high = y_range or (min(y for _, y in points), max(y for _, y in points))
    pad = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
    low, high = low - (2.5 * pad if marks else pad), high + pad
    ticks = [(value, _tick(value)) for value in round_ticks(low, high)]
    left = max(46.0, 8 + max(text_width(said) for _, said in ticks))
    span = math.log(xs[-1] / xs[0]) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / xs[0]) / span if len(xs) > 1 else 0.5
        return left + across * (width - left - right), top + (1 - (y - low) / (high - low)) * (height - top - bottom)

    parts = []
    for value, said in ticks:
        _, y = place(xs[0], value)
        parts.append(
            f'<line x1="{left}" x2="{width - right:.0f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{SOFT}" opacity=".25"/>'
        )
        parts.append(_text(left - 6, y + 4, said, "end"))
    end = -math.inf
    for x in xs if len(xs) <= MOST_TICKS else decades(xs[0], xs[-1]):
        at, _ = place(x, low)
        said = _tick(x) if x < 100_000 else short(x)
        half = text_width(said) / 2
        at = min(max(at, half), width - half)
        if at - half > end + 4:
            parts.append(_text(at, height - bottom + 16, said, "middle"))
            end = at + half
    ends = []
    for index, (_, line) in enumerate(series):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        placed = [place(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        if len(placed) <= 12:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in placed]
        ends.append(placed[-1])
    if len(series) > 1:
        heights = apart([y + 4 for _, y in ends], LINE, top, height - bottom)
        for name, (x, y), at in zip(names, ends, heights, strict=True):
            parts.append(
                f'<line x1="{x + 3:.1f}" y1="{y:.1f}" x2="{width - right + 8:.1f}" y2="{at - 4:.1f}" stroke="{SOFT}" opacity=".6"/>'
            )
            parts.append(_text(width - right + 10, at, name, "start", INK))
    for x, y, said in marks:
        px, py = place(x, y)
        half = text_width(fitted(said, 180)) / 2
        parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{ACCENT}"/>')
        if px - half > left and px + half < width - right:
            parts.append(_text(px, py + 17, fitted(said, 180), "middle", INK))
        else:
            anchor, aside = ("end", -9) if px > (left + width - right) / 2 else ("start", 9)
            parts.append(_text(px + aside, max(top + 10, py + 1), fitted(said, 180), anchor, INK))
    parts.append(_text(left + (width - left - right) / 2, height - 6, x_label, "middle", INK))
    parts.append(_text(2, 12, y_label, "start", INK))
    return drawn(width, height, "".join(parts), f"{y_label} by {x_label}")


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    marks: Sequence[tuple[float, str]],
    grows: bool = False,
    dropped: Sequence[int] = (),
    width: int = WIDTH,
    height: int = 170,
) -> str:
    """Return a histogram: bars between `edges`, of equal width on the page where the edges grow by a factor.

    Args:
        counts: in each bin.
        marks: (value, text) of each line drawn across, such as a threshold.
        grows: the edges grow by a factor, so that the axis is logarithmic.
        dropped: how many of those in each bin were dropped; they stand at the foot of the bar, hatched.
    """
    left, right, bottom = 6, 6, 24
    top = 14 + LINE * len(marks)
    height += LINE * max(0, len(marks) - 1)
    space, high = width - left - right, height - bottom
    most = max(counts, default=0) or 1
    number = len(counts)

    def across(value: float) -> float:
        if grows:
            at = next((n for n in range(number) if value < edges[n + 1]), number - 1)
            part = (value - edges[at]) / ((edges[at + 1] - edges[at]) or 1)
            return left + space * (at + min(1.0, max(0.0, part))) / number
        return left + space * (value - edges[0]) / ((edges[-1] - edges[0]) or 1)

    def path(values: Sequence[int], wide: float) -> str:
        found = []
        for n, count in enumerate(values):
            if count:
                x, tall = left + space * n / number, max(3.0, (high - top) * count / most)
                found.append(f"M{x:.1f} {high}v{-tall:.1f}h{wide:.1f}v{tall:.1f}z")
        return "".join(found)

    step = space / number
    parts = [f'<path d="{path(counts, max(1.0, step - 1))}" fill="{BAR}"/>']
    if any(dropped):
        parts.append(
            f'<path d="{path(dropped, max(1.0, step - 1))}" fill="{ACCENT}" stroke="{INK}" stroke-width=".5"/>'
        )
    end = -math.inf
    ticks = [edges[round(tick * number / 4)] for tick in range(5)] if grows else round_ticks(edges[0], edges[-1])
    for value in ticks:
        said, x = _tick(value), across(value)
        wide = text_width(said)
        anchor = "start" if x - wide / 2 < 0 else "end" if x + wide / 2 > width else "middle"
        start = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
        if start > end + 4:
            parts.append(_text(x, height - 8, said, anchor))
            end = start + wide
    for line, (value, said) in enumerate(marks):
        x, y = across(value), 12 + LINE * line
        anchor = "end" if x > width / 2 else "start"
        room = (x if anchor == "end" else width - x) - 6
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{high}" stroke="{INK}" stroke-width="1.5" stroke-dasharray="4 2"/>'
        )
        parts.append(_text(x + (-5 if anchor == "end" else 5), y, fitted(said, room), anchor, INK))
    return drawn(width, height, "".join(parts), "; ".join(said for _, said in marks) or "histogram")


def short(value: float) -> str:
    """Return a number as an axis has room for: 4k, 1.5M, 20B."""
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * 0.9995:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def _tick(value: float) -> str:
    return short(value) if abs(value) >= 100_000 else f"{value:,.4g}" if abs(value) < 1e-3 and value else f"{value:,.6g}" if abs(value) >= 1000 else f"{value:.4g}"  # fmt: skip


def _text(x: float, y: float, said: str, anchor: str = "start", colour: str = SOFT) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(said)}</text>'


def drawn(width: float, height: float, body: str, label: str) -> str:
    """Return `body` as a picture of `width` times `height`, which `label` names to those who do not see it."""
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escape(label)}">{body}</svg>'
