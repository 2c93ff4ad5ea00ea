"""Others' words on the output: no character in them is obeyed by a terminal.

Aliases, keys and names of analysts may be chosen to be shown.
"""

import sys

from rich.markup import escape

from discreet.answers.json_text import json_lines
from discreet.answers.wording import visible_text


def shown(text: str) -> str:
    """Others' words for rich: no markup, and nothing that a terminal obeys."""
    return escape(visible_text(text))


def write_json(value: object, *, indent: int | None = None) -> None:
    """One line, or several with an indent."""
    sys.stdout.writelines(json_lines(value, indent=indent))
