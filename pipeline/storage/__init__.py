"""The one door to storage: a folder on this machine or an object store, opened alike. Nothing else writes files.

A file appears whole or not at all. Locally it is written under another name, synced and renamed (`local.py`); an object
store publishes an upload when it is complete (`objects.py`).
"""

from pipeline.storage.folder import Folder, Missing, digest_file, head_input, open_input
from pipeline.storage.leases import Held, Lease, lease
from pipeline.storage.local import Head, synced_together, unsynced
from pipeline.storage.objects import has_opened
from pipeline.storage.remote import expand, is_pattern, local_copy, reach
from pipeline.storage.tables import ROW_GROUP_BYTES, encode_numbers, encode_table, shard_writer, write_bounded
from pipeline.storage.temporary import temporary_folder

__all__ = [
    "ROW_GROUP_BYTES",
    "Folder",
    "Head",
    "Held",
    "Lease",
    "Missing",
    "digest_file",
    "encode_numbers",
    "encode_table",
    "expand",
    "has_opened",
    "head_input",
    "is_pattern",
    "lease",
    "local_copy",
    "open_input",
    "reach",
    "shard_writer",
    "synced_together",
    "temporary_folder",
    "unsynced",
    "write_bounded",
]
