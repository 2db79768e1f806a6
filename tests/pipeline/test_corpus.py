import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import Corpus, Shards
from pipeline.decisions import DROP_SCHEMA, DropPositions
from pipeline.documents import POSITION_BITS, Batch
from pipeline.storage import Folder, encode_table


def make_corpus(tmp_path, shards):
    folder = Folder(str(tmp_path))
    for number, texts in enumerate(shards):
        folder.put(f"part-{number:05d}.parquet", encode_table(pa.table({"text": pa.array(texts, pa.large_string())})))
    names = [f"part-{number:05d}" for number in range(len(shards))]
    return Corpus(folder, Shards.write(folder, names, [len(texts) for texts in shards]))


def test_documents_are_read_by_position_in_the_order_asked_for(tmp_path):
    corpus = make_corpus(tmp_path, [["a", "b", "c"], ["d", "e"]])
    positions = [(1 << POSITION_BITS) | 1, 0, 2, 1 << POSITION_BITS, 0]
    assert corpus.read(positions)["text"].to_pylist() == ["e", "a", "c", "d", "a"]


def test_reading_no_positions_gives_no_rows(tmp_path):
    assert make_corpus(tmp_path, [["a"]]).read([]).num_rows == 0


@given(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=12))
def test_drop_positions_drops_what_it_was_given_and_nothing_else(tmp_path_factory, wanted):
    folder = Folder(str(tmp_path_factory.mktemp("work")))
    rows = [
        {"position": (s << POSITION_BITS) | r, "rule": "r", "value": 1.0, "threshold": 0.5, "detail": "d"}
        for s, r in wanted
    ]
    stage = DropPositions.write("dedup", pa.Table.from_pylist(rows, schema=DROP_SCHEMA), folder)
    for shard in range(3):
        batch = Batch.of([str(n) for n in range(10)])
        batch.shard, batch.folder = shard, folder
        outcome = stage.apply(batch)
        gone = {row for s, row in wanted if s == shard}
        assert outcome.kept.texts == [str(n) for n in range(10) if n not in gone]
        assert [(r.row, r.rule, r.value, r.threshold, r.detail) for r in outcome.removed] == [
            (row, "r", 1.0, 0.5, "d") for row in sorted(gone)
        ]
