"""Tables as Parquet files: one way to write them, in which the same tables give the same bytes."""

from __future__ import annotations

import io
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_BYTES = 32 << 20
"""Text per row group: a reader of one shard needs no more than about twice this."""


def encode_table(table: pa.Table) -> bytes:
    """Return `table` as a Parquet file: zstd 3, text without dictionary, row groups bounded by bytes."""
    sink = io.BytesIO()
    with shard_writer(sink, table.schema) as writer:
        write_bounded(writer, table)
    return sink.getvalue()


def encode_numbers(table: pa.Table) -> bytes:
    """Return `table`, of columns with many equal values, as a Parquet file: zstd 3, with dictionaries."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", compression_level=3, use_dictionary=True)
    return sink.getvalue()


def shard_writer(sink: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """Return a Parquet writer with the project's settings."""
    return pq.ParquetWriter(sink, schema, compression="zstd", compression_level=3, use_dictionary=False)


def write_bounded(writer: pq.ParquetWriter, table: pa.Table) -> None:
    """Write `table` in row groups of at most about `ROW_GROUP_BYTES`."""
    rows = max(1, table.num_rows)
    per_row = max(1, table.nbytes // rows)
    writer.write_table(table, row_group_size=max(1, ROW_GROUP_BYTES // per_row))
