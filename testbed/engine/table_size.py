"""How much memory a table takes that somebody else wrote: a few bytes on disk may stand for gigabytes."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.errors import InputError

ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "BIT_PACKED"}
"""As Arrow writes tables; of these the memory is known before texts are repeated."""
LARGEST = 1 << 30
"""Bytes of a table in memory."""


def check_table_size(path: Path, rows: int) -> None:
    """See that a table has so many rows, and that all its values find room in memory.

    Raises:
        InputError: it has not, or they do not.
    """
    held = pq.read_metadata(path)
    groups = map(held.row_group, range(held.num_row_groups))
    chunks = [group.column(i) for group in groups for i in range(held.num_columns)]
    size = sum(8 * chunk.num_values + chunk.total_uncompressed_size for chunk in chunks)
    if held.num_rows != rows:
        raise InputError(f"{path} has {held.num_rows:,} rows, where the world's cases ask for {rows:,}")
    if others := sorted({how for chunk in chunks for how in chunk.encodings} - ENCODINGS):
        raise InputError(f"{path} is packed as {others[0]}; write it as the testbed does")
    if size <= LARGEST:
        texts = sorted({chunk.path_in_schema for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"})
        table = pq.read_table(path, read_dictionary=texts)
        size += sum(_count_text(part) for column in table.columns for part in column.chunks)
    if size > LARGEST:
        raise InputError(f"{path} takes more than {LARGEST:,} bytes of memory")


def _count_text(array: pa.Array) -> int:
    """Bytes of all texts, each as often as it stands there; within lists and structures too."""
    if isinstance(array, pa.ListArray):
        return _count_text(array.flatten())
    if isinstance(array, pa.StructArray):
        return sum(map(_count_text, array.flatten()))
    if isinstance(array, pa.DictionaryArray):
        return pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    return 0
