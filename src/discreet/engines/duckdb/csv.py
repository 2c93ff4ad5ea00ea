"""A CSV file as a relation of DuckDB, in which no line can affect another.

If a file was put together carelessly, whoever writes one cell can write any bytes into their line. A CSV
reader takes an open quotation mark for a cell that goes on over the lines that follow. These rows are then
lost, whoever they are about. So a private table is read line by line, and each line is cut into cells here. A
line that is not a row is left out, and does not affect others.

    line   →  cells, if its quotation marks pair up within it  →  a row, if there are as many as in the header

A cell in quotation marks may hold line ends only if the owner vouches for the file.
"""

from collections.abc import Collection, Sequence

from discreet.engines.base.files import File, Header
from discreet.engines.duckdb.types import list_of, literal, quoted

_NO_DELIMITER = "\x1f"
"""A character that texts do not use. What follows it in a line is not read."""
_HIDDEN = "chr(31)"
"""The same character, in SQL."""


def lines_as_rows(files: Sequence[File], header: Header) -> str:
    """All columns as text: types that are guessed from rows would reveal something about them.

    `unnest` leaves out lines that are not rows. DuckDB would push a WHERE down, and cut all lines twice.
    """
    delimiter = header.delimiter
    values = [
        f"{_unquoted(f'cells[{i}]', delimiter)} AS {quoted(name)}"
        for i, name in enumerate(header.names, start=1)
    ]
    cut = f"SELECT {_cells(delimiter)} AS cells FROM {_lines(files)}"  # noqa: S608
    rows = f"SELECT unnest(CASE WHEN len(cells) = {len(header.names)} THEN [cells] END) AS cells FROM ({cut})"  # noqa: S608
    return f"(SELECT {', '.join(values)} FROM ({rows}))"  # noqa: S608


def vouched_for(files: Sequence[File], header: Header) -> str:
    """A file that the owner vouches for, by DuckDB's own reader. A torn row is left out, not an error."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header.names)
    return (
        f"read_csv({_names(files)}, columns = {{{columns}}}, header = true, auto_detect = false,"
        f" delim = {literal(header.delimiter)}, quote = '\"', escape = '\"',"
        " ignore_errors = true, strict_mode = false)"
    )


def sniffed(files: Sequence[File], header: Header, texts: Collection[str] = ()) -> str:
    """With the types that DuckDB guesses from the rows: only for tables that anybody may see.

    Columns among `texts` stay texts.
    """
    delimiter = literal(header.delimiter)
    kept = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header.names if name in texts)
    types = f", types = {{{kept}}}" if kept else ""
    return f"read_csv({_names(files)}, header = true, delim = {delimiter}, ignore_errors = true{types})"


def _lines(files: Sequence[File]) -> str:
    """A table of one column. Lines that are not UTF-8, or longer than 2 MB, are left out.

    A line ends with a line feed or a carriage return. If it has both, there is an empty line between them,
    which is not a row. If DuckDB is told that lines end with both, it loses the line after two returns. In
    its strict mode it fails on a return within a line.
    """
    return (
        f"read_csv({_names(files)}, columns = {{'line': 'VARCHAR'}}, header = true, auto_detect = false,"
        f" delim = {literal(_NO_DELIMITER)}, quote = '', escape = '', ignore_errors = true,"
        " strict_mode = false, new_line = '\\n')"
    )


def _cells(delimiter: str) -> str:
    """The cells of a line, in their quotation marks; NULL if one begins with a mark that is never closed.

    Most lines have no marks, or no delimiter between marks, and are cut at delimiters. If every mark of a
    line opens a cell, closes it or is doubled, delimiters between marks are hidden first (`_hidden`). Lines
    with marks in the middle of cells need a regular expression, which takes eight times as long.
    """
    other = f'(?:[^"{delimiter}][^{delimiter}]*)?'
    plain = f'(?:"(?:[^"{delimiter}]|"")*"|{other})'
    strict = f'(?:"(?:[^"]|"")*"|[^"{delimiter}]*)'
    any_cell = f'(?:"(?:[^"]|"")*"|{other})'
    cut = f"string_split(line, {literal(delimiter)})"
    parsed = f"regexp_extract_all(line || {literal(delimiter)}, {literal(f'({any_cell})[{delimiter}]')}, 1)"
    return (
        f"CASE WHEN NOT contains(line, '\"') OR {_is_row_of(plain, delimiter)} THEN {cut}"
        f" WHEN {_is_row_of(strict, delimiter)} THEN string_split({_hidden(delimiter)}, {literal(delimiter)})"
        f" WHEN {_is_row_of(any_cell, delimiter)} THEN {parsed} END"
    )


def _hidden(delimiter: str) -> str:
    """The line, with delimiters between marks replaced by a character that no line holds (`_lines`).

    Every second part is between marks. Of a doubled mark, the part between the two is empty.
    """
    part = f"CASE WHEN i % 2 = 0 THEN replace(part, {literal(delimiter)}, {_HIDDEN}) ELSE part END"
    return f"array_to_string(list_transform(string_split(line, '\"'), lambda part, i: {part}), '\"')"


def _is_row_of(cell: str, delimiter: str) -> str:
    return f"regexp_full_match(line, {literal(f'{cell}(?:[{delimiter}]{cell})*')})"


def _unquoted(cell: str, delimiter: str) -> str:
    """The text of a cell; NULL if it is empty."""
    inner = f"replace(replace({cell}[2:-2], '\"\"', '\"'), {_HIDDEN}, {literal(delimiter)})"
    return f"nullif(CASE WHEN starts_with({cell}, '\"') THEN {inner} ELSE {cell} END, '')"


def _names(files: Sequence[File]) -> str:
    return list_of(file.pattern for file in files)
