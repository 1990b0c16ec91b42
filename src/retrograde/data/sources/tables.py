"""Files of tables: Parquet and Arrow, read with pyarrow."""

from pathlib import Path

from ...errors import DataError
from ...extras import optional
from .made import Columns, columns_of


def parquet(path, columns=None):
    """The rows of a Parquet file as dictionaries, or of all such files of a folder; `columns` names those to read. Needs pyarrow.

    The columns are read into memory now. Numbers become arrays, texts lists of them.
    """
    reader = optional("pyarrow.parquet", "data")
    return _table(path, lambda: reader.read_table(path, columns=columns), columns)


def arrow(path, columns=None):
    """The rows of an Arrow file (Feather, version 2) as dictionaries; numbers without gaps stay where they are in the file's map.

    Needs pyarrow.
    """
    feather = optional("pyarrow.feather", "data")
    return _table(path, lambda: feather.read_table(path, columns=columns, memory_map=True), columns)


def _table(path, read, columns):
    library = optional("pyarrow", "data")
    if not Path(path).exists():
        raise DataError(f"{path}: there is no such file or folder")
    try:
        table = read()
        # A damaged file may hold places that lie outside of it, which pyarrow looks at here alone.
        table.validate(full=True)
        found = columns_of(table)
    except (library.ArrowException, OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} cannot be read: {str(error)[:200]!r}") from None
    missing = [name for name in columns or () if name not in table.schema.names]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}; it has {', '.join(table.schema.names)}")
    return Columns(found, str(path))
