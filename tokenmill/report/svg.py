"""Small charts as inline SVG: no script, no font, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokenmill.report.escaping import escape

INK, SOFT, BAR, ACCENT = "var(--ink)", "var(--soft)", "var(--bar)", "var(--accent)"


def bars(rows: Sequence[tuple[str, float, str]], width: int = 720) -> str:
    """Return horizontal bars: (label, value, text at the end of the bar) a row."""
    largest = max((value for _, value, _ in rows), default=1) or 1
    step, left, right = 26, 170, 190
    space = width - left - right
    parts = []
    for index, (label, value, said) in enumerate(rows):
        y = index * step
        length = max(1.0, space * value / largest) if value else 0.0
        parts.append(
            f'<text x="{left - 8}" y="{y + 16}" text-anchor="end" fill="{INK}">{escape(label)}</text>'
            f'<rect x="{left}" y="{y + 4}" width="{length:.1f}" height="16" rx="2" fill="{BAR}"/>'
            f'<text x="{left + length + 8:.1f}" y="{y + 16}" fill="{SOFT}">{escape(said)}</text>'
        )
    return _svg(width, len(rows) * step + 4, "".join(parts))


def lines(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    x_label: str,
    y_label: str,
    width: int = 720,
    height: int = 300,
) -> str:
    """Return lines over a logarithmic x axis: (name, points) a line; each x that occurs is a tick."""
    points = [point for _, line in series for point in line]
    if not points:
        return ""
    left, right, top, bottom = 70, 150, 30, 44
    xs = sorted({x for x, _ in points})
    low, high = min(y for _, y in points), max(y for _, y in points)
    pad = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
    low, high = low - pad, high + pad
    span = math.log(xs[-1] / xs[0]) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / xs[0]) / span if len(xs) > 1 else 0.5
        return left + across * (width - left - right), top + (1 - (y - low) / (high - low)) * (height - top - bottom)

    parts = []
    for tick in range(5):
        value = low + (high - low) * tick / 4
        _, y = place(xs[0], value)
        parts.append(
            f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{SOFT}" opacity=".25"/>'
        )
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{SOFT}">{value:.4g}</text>')
    for x in xs:
        at, _ = place(x, low)
        parts.append(
            f'<text x="{at:.1f}" y="{height - bottom + 18}" text-anchor="middle" fill="{SOFT}">{x:,.0f}</text>'
        )
    colours = ["var(--accent)", "var(--bar)", "var(--third)", "var(--fourth)", "var(--soft)"]
    for index, (name, line) in enumerate(series):
        colour = colours[index % len(colours)]
        placed = [place(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in placed]
        x, y = placed[-1]
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    middle = left + (width - left - right) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height - 6}" text-anchor="middle" fill="{INK}">{escape(x_label)}</text>')
    parts.append(f'<text x="4" y="{top - 16}" fill="{INK}">{escape(y_label)}</text>')
    return _svg(width, height, "".join(parts))


def _svg(width: int, height: int, body: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="100%" style="max-width:{width}px" role="img">{body}</svg>'


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    marks: Sequence[tuple[float, str]],
    grows: bool = False,
    width: int = 720,
    height: int = 190,
) -> str:
    """Return a histogram: bars between `edges`, of equal width on the page where the edges grow by a factor.

    Args:
        marks: (value, text) of each line drawn across, such as a threshold.
        grows: the edges grow by a factor, so that the axis is logarithmic.
    """
    left, right, bottom = 8, 8, 24
    top = 14 + 15 * len(marks)
    space, high = width - left - right, height - bottom
    most = max(counts, default=0) or 1
    number = len(counts)

    def across(value: float) -> float:
        if grows:
            at = next((n for n in range(number) if value < edges[n + 1]), number - 1)
            part = (value - edges[at]) / ((edges[at + 1] - edges[at]) or 1)
            return left + space * (at + min(1.0, max(0.0, part))) / number
        return left + space * (value - edges[0]) / ((edges[-1] - edges[0]) or 1)

    parts = []
    for n, count in enumerate(counts):
        x, end = left + space * n / number, left + space * (n + 1) / number
        tall = (high - top) * count / most
        parts.append(
            f'<rect x="{x:.1f}" y="{high - tall:.1f}" width="{max(1.0, end - x - 1):.1f}" height="{tall:.1f}" fill="{BAR}"/>'
        )
    for tick in range(5):
        value = edges[round(tick * number / 4)]
        anchor = "start" if tick == 0 else "end" if tick == 4 else "middle"
        parts.append(
            f'<text x="{left + space * tick / 4:.1f}" y="{height - 8}" text-anchor="{anchor}" fill="{SOFT}">{value:.4g}</text>'
        )
    for line, (value, said) in enumerate(marks):
        x, y = across(value), 12 + 15 * line
        anchor = "end" if x > width / 2 else "start"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{high}" stroke="{ACCENT}" stroke-width="1.5"/>'
            f'<text x="{x + (-5 if anchor == "end" else 5):.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ACCENT}">{escape(said)}</text>'
        )
    return _svg(width, height, "".join(parts))
