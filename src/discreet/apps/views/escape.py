"""Safe output of text that others wrote: no terminal obeys its characters.

An attacker may choose aliases, keys and names of analysts.
"""

import sys

from rich.markup import escape

from discreet.answers.json_text import json_lines
from discreet.answers.wording import visible_text


def shown(text: str) -> str:
    """Text that others wrote, for rich: no markup, and nothing that a terminal obeys."""
    return escape(visible_text(text))


def write_json(value: object, *, indent: int | None = None) -> None:
    """One line, or several with an indent."""
    sys.stdout.writelines(json_lines(value, indent=indent))
