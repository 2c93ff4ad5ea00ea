"""A CSV file as a relation of DuckDB, in which no line can do anything to another.

Whoever writes one cell of a file that was put together carelessly can write any bytes into their line. A
reader of CSV takes an open quotation mark for the beginning of a cell that goes on over the lines that
follow: they are gone, whoever they are about. So the lines of a private table are read as lines, which end
where they end, and are cut into cells here. A line that is no row is left out, and says nothing about others.

    line   →  cells, if its quotation marks pair up within it  →  a row, if there are as many as in the header

Only if the owner vouches for the file, a cell in quotation marks may hold the ends of lines.
"""

from collections.abc import Sequence

from discreet.engines.base.files import File, Header
from discreet.engines.duckdb.types import list_of, literal, quoted

_NO_DELIMITER = "\x1f"
"""A sign of no use in texts. What stands after it in a line is not read."""
_HIDDEN = "chr(31)"
"""The same sign, in SQL."""


def lines_as_rows(files: Sequence[File], header: Header) -> str:
    """All columns as text, whatever the rows hold: types that follow the rows would tell about them.

    A line that is no row becomes none by `unnest`: a WHERE is moved below, where it cuts all lines once more.
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
    """As the owner vouches for the file, by DuckDB's own reader. A torn row is left out, not an error."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header.names)
    return (
        f"read_csv({_names(files)}, columns = {{{columns}}}, header = true, auto_detect = false,"
        f" delim = {literal(header.delimiter)}, quote = '\"', escape = '\"',"
        " ignore_errors = true, strict_mode = false)"
    )


def sniffed(files: Sequence[File], header: Header) -> str:
    """With the types that DuckDB guesses from the rows: only for tables that anybody may see."""
    delimiter = literal(header.delimiter)
    return f"read_csv({_names(files)}, header = true, delim = {delimiter}, ignore_errors = true)"


def _lines(files: Sequence[File]) -> str:
    """A table of one column. Lines that are not UTF-8, or longer than 2 MB, are left out.

    A line ends with a line feed or a carriage return. Where both stand, an empty line is between them, which
    is no row: told that lines end with both, DuckDB loses the line after two returns. In its strict mode it
    fails on a return within a line.
    """
    return (
        f"read_csv({_names(files)}, columns = {{'line': 'VARCHAR'}}, header = true, auto_detect = false,"
        f" delim = {literal(_NO_DELIMITER)}, quote = '', escape = '', ignore_errors = true,"
        " strict_mode = false, new_line = '\\n')"
    )


def _cells(delimiter: str) -> str:
    """The cells of a line, in their quotation marks; NULL if one begins with a mark that is never closed.

    Most lines have no marks, or no delimiter between them, and are cut at delimiters. If every mark of a line
    opens a cell, closes it or is doubled, those between them are hidden first (`_hidden`). A regular
    expression that gives the cells takes eight times as long: for lines with marks in the middle of cells.
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
    """The line with another sign for delimiters between marks, which no line holds (`_lines`).

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
