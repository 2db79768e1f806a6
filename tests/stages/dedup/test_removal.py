"""Who is kept, given the pairs alike: by parts of the corpus and in rounds as in one go."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.dedup.removal import EDGES, FATES, settle

Pair = tuple[int, int]


def plain_rule(pairs: list[Pair], same: dict[int, int]) -> dict[int, int | None]:
    """Return, for each document that resembles an earlier one, for whom it is dropped; None where it is kept."""
    fates: dict[int, int | None] = {}
    for node in sorted({node for pair in pairs for node in pair} | set(same) | set(same.values())):
        if node in same:
            first = same[node]
            fates[node] = first if fates[first] is None else fates[first]
        else:
            rivals = sorted(a for a, b in pairs if b == node)
            fates[node] = next((a for a in rivals if fates[a] is None), None)
    return fates


def frame(pairs: list[Pair], same: dict[int, int]) -> pl.DataFrame:
    rows = [(b, a, f"{a:03d}", 0.9, False) for a, b in pairs] + [(b, a, f"{a:03d}", 1.0, True) for b, a in same.items()]
    return pl.DataFrame(rows, EDGES, orient="row")


def kept(nodes: list[int]) -> pl.DataFrame:
    return pl.DataFrame([(node, True, None, None, None) for node in nodes], FATES, orient="row")


@st.composite
def graphs(draw) -> tuple[list[Pair], dict[int, int]]:
    """Documents 0 to 11; those from 8 on repeat the text of one before them."""
    pair = st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] < p[1])
    return draw(st.lists(pair, max_size=20, unique=True)), draw(st.dictionaries(st.integers(8, 11), st.integers(0, 7)))


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_all_at_once_gives_what_the_plain_rule_does(graph):
    pairs, same = graph
    expected = plain_rule(pairs, same)
    later = {b for _, b in pairs} | set(same)
    fates, left = settle(frame(pairs, same), kept([n for n in expected if n not in later]))
    assert left.height == 0
    assert {r["node"]: r["first"] for r in fates.to_dicts()} == {n: f for n, f in expected.items() if n in later}
    assert all((r["similarity"] is None) == r["kept"] for r in fates.to_dicts())


@settings(max_examples=200, deadline=None)
@given(graphs(), st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_parts_that_tell_each_other_come_to_the_same(graph, part_of):
    pairs, same = graph
    expected = plain_rule(pairs, same)
    later = {b for _, b in pairs} | set(same)
    known = kept([n for n in expected if n not in later])
    left = [
        frame([p for p in pairs if part_of[p[1]] == n], {b: a for b, a in same.items() if part_of[b] == n})
        for n in range(3)
    ]
    for _ in range(13):
        told = []
        for number in range(3):
            fates, left[number] = settle(left[number], known)
            told.append(fates)
        known = pl.concat([known, *told])
    assert not any(edges.height for edges in left)
    assert {r["node"]: r["first"] for r in known.to_dicts()} == expected


def test_a_repeated_text_leaves_for_whom_the_first_of_it_leaves():
    fates, _ = settle(frame([(1, 2)], {3: 2}), kept([1]))
    found = {r["node"]: (r["first"], r["first_id"], r["similarity"]) for r in fates.to_dicts()}
    assert found == {2: (1, "001", 0.9), 3: (1, "001", 0.9)}
