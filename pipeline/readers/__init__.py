"""Input files in, batches of documents out: WARC, WET, ARC, Parquet and JSON lines.

Every record of a file is a document, a fault with file and offset, or counted under the reason why it is no
document. Damage costs the records it lies in, and reading goes on behind it.
"""

from pipeline.readers.contract import Fault, Ignored, InputFile, Item, Mark, ReadOptions, Split
from pipeline.readers.formats import carried_fields, detect_format, plan_splits, provides, read_split

__all__ = [
    "Fault",
    "Ignored",
    "InputFile",
    "Item",
    "Mark",
    "ReadOptions",
    "Split",
    "carried_fields",
    "detect_format",
    "plan_splits",
    "provides",
    "read_split",
]
