"""An explanation as text and in notebooks: what a question would cost, and how accurate it would be."""

from typing import TYPE_CHECKING

from discreet.answers.plain_html import html_block, html_line, html_rows
from discreet.answers.wording import confidence_text, full_loss_text, key_text, number_text
from discreet.model.privacy import PureLoss

if TYPE_CHECKING:
    from discreet.answers.explanation import ErrorStatement, Explanation

_SUFFIX = {"value": "", "total": " / rows", "rank": " rows in rank"}


def explanation_text(found: "Explanation") -> str:
    """Price, errors, what private keys mean, and every hint."""
    rows = error_rows(found)
    wide = max((len(row[0]) for row in rows), default=0)
    every = [f" each, {{}} for {told}" for told in all_groups(found)] or [""]
    errors = [f"  {name.ljust(wide)}  {each}{every[0].format(*rest)}" for name, each, *rest in rows]
    if rows:
        errors.insert(0, f"Errors, at {confidence_text(found.confidence)} confidence:")
    return "\n".join([price_line(found), *errors, *_hints(found)])


def explanation_html(found: "Explanation") -> str:
    headings = ("", f"error, each, at {confidence_text(found.confidence)}", *all_groups(found))
    return html_block(
        html_line(price_line(found), strong=True),
        html_rows(headings, error_rows(found)),
        *map(html_line, _hints(found)),
    )


def price_line(found: "Explanation") -> str:
    own = "" if isinstance(found.loss, PureLoss) else f" ({full_loss_text(found.loss)})"
    left = "" if found.questions_left is None else f"; {found.questions_left:,} such questions are left"
    return (
        f"Costs ε = {found.epsilon:.4g}, {found.share:.1%} of the budget{own}{left}. Nothing has been spent."
    )


def error_rows(found: "Explanation") -> list[tuple[str, ...]]:
    """The name of each measure, its error, and that of all groups at once if there are several."""
    return [
        (
            key_text(error.measure),
            _error(error, error.each),
            *(_error(error, error.all) for _ in all_groups(found)),
        )
        for error in found.errors
    ]


def all_groups(found: "Explanation") -> tuple[str, ...]:
    """How the errors of all groups at once are headed, if there are several groups."""
    return (f"all {found.groups:,} at once",) if (found.groups or 1) > 1 else ()


def _error(error: "ErrorStatement", size: float) -> str:
    return f"± {number_text(size, size)}{_SUFFIX[error.of]}"


def _hints(found: "Explanation") -> list[str]:
    lines = [found.way] if found.way else []
    lines += private_hint(found)
    lines += [f"→ {text}" for text in found.alternatives]
    return [key_text(line) for line in (*lines, *found.notes)]


def private_hint(found: "Explanation") -> list[str]:
    """How large a group has to be, if keys are private."""
    if found.private_groups is None:
        return []
    people = found.private_groups.people
    return [f"The keys are private: a group of {people:,} people is shown in half of all cases."]
