"""Answers, explanations and budgets on the terminal, as JSON and as CSV."""

import csv
import io
import json
import sys
from datetime import date

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from discreet.compile.explain import Explanation
from discreet.curator import Answer
from discreet.ledger.ledger import Balance
from discreet.model.answer import Cell, Reach, Released
from discreet.model.privacy import ConcentratedLoss, PureLoss

_BAR = 24
_MOST_ROWS = 200


def show_answer(answer: Answer, output: str) -> None:
    match output:
        case "json":
            sys.stdout.write(json.dumps(answer_json(answer), ensure_ascii=False) + "\n")
        case "csv":
            sys.stdout.write(answer_csv(answer.released))
        case _:
            _answer_table(answer)


def answer_json(answer: Answer) -> dict[str, object]:
    """One object: columns, rows, intervals, charged, left, receipt."""
    released = answer.released
    return {
        "columns": list(released.columns),
        "rows": [
            {name: _plain(released.values[name][i]) for name in released.columns}
            for i in range(len(released))
        ],
        "intervals": [
            {name: reach for name in released.columns if (reach := released.intervals[name][i]) is not None}
            for i in range(len(released))
        ],
        "confidence": released.confidence,
        "charged": _loss_json(answer.charged) if not answer.repeated else _loss_json(None),
        "left": _loss_json(answer.left),
        "receipt": {
            "number": answer.receipt.number,
            "digest": answer.receipt.digest,
            "at": answer.receipt.at.isoformat(),
            "repeated": answer.repeated,
        },
        "notes": list(released.notes),
    }


def answer_csv(released: Released) -> str:
    """Each measure with its interval in two more columns."""
    measured = [name for name in released.columns if any(reach for reach in released.intervals[name])]
    header = []
    for name in released.columns:
        header += [name, f"{name}_low", f"{name}_high"] if name in measured else [name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for i in range(len(released)):
        row: list[object] = []
        for name in released.columns:
            row.append(_plain(released.values[name][i]))
            if name in measured:
                row += released.intervals[name][i] or (None, None)
        writer.writerow(row)
    return text.getvalue()


def _answer_table(answer: Answer) -> None:
    released, console = answer.released, Console()
    table = Table(box=SIMPLE_HEAD)
    scale = _scale(released)
    for name in released.columns:
        table.add_column(name, justify="left" if _is_key(released, name) else "right")
    drawn = next((name for name in released.columns if not _is_key(released, name)), None)
    if drawn is not None and len(released) > 1:
        table.add_column(drawn, justify="left")
    for i in range(min(len(released), _MOST_ROWS)):
        cells = [_cell(released.values[name][i], released.intervals[name][i]) for name in released.columns]
        if drawn is not None and len(released) > 1:
            cells.append(_bar(released.values[drawn][i], released.intervals[drawn][i], scale))
        table.add_row(*cells)
    console.print(table)
    if len(released) > _MOST_ROWS:
        console.print(f"… and {len(released) - _MOST_ROWS:,} rows more; --format csv shows all.")
    console.print(f"± at {released.confidence:.4g} confidence, for each number. {_paid(answer)}")
    for note in released.notes:
        console.print(f"[dim]{note}[/]")


def _paid(answer: Answer) -> str:
    left = f"{show_charge(answer.left)} left"
    if answer.repeated:
        return f"Asked before: the same answer, free; {left}."
    return f"Cost {show_charge(answer.charged)}; {left}. Receipt {answer.receipt.number}."


def _is_key(released: Released, name: str) -> bool:
    return not any(released.intervals[name])


def _cell(value: Cell, reach: Reach) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool | str | date) or reach is None:
        return str(value)
    half = (reach[1] - reach[0]) / 2
    return f"{_number(float(value), half)} ± {_number(half, half)}"


def _number(value: float, error: float) -> str:
    """No more digits than the error leaves meaning to."""
    digits = 0 if error >= 2 else 1 if error >= 0.2 else 2 if error >= 0.02 else 4
    return f"{value:,.{digits}f}"


def _scale(released: Released) -> float:
    ends = [reach[1] for name in released.columns for reach in released.intervals[name] if reach is not None]
    return max(ends, default=0.0)


def _bar(value: Cell, reach: Reach, scale: float) -> str:
    if not isinstance(value, int | float) or reach is None or scale <= 0:
        return ""
    low, middle, high = (max(0, min(_BAR, round(_BAR * x / scale))) for x in (reach[0], value, reach[1]))
    return f"[blue]{'█' * low}[/][cyan]{'▒' * max(1, high - low)}[/]" if middle else "[cyan]▒[/]"


def show_charge(loss: PureLoss | ConcentratedLoss) -> str:
    if isinstance(loss, PureLoss):
        return f"ε = {float(loss.epsilon):.4g}"
    return f"ρ = {float(loss.rho):.4g}"


def show_explanation(found: Explanation, output: str) -> None:
    if output == "json":
        sys.stdout.write(json.dumps(explanation_json(found), ensure_ascii=False) + "\n")
        return
    console = Console()
    console.print(
        f"Costs [bold]{show_charge(found.loss)}[/] (ε = {found.epsilon:.4g}),"
        f" {found.share:.1%} of the budget;"
        f" {found.questions_left:,} such questions are left. Nothing has been spent."
    )
    table = Table(box=SIMPLE_HEAD)
    table.add_column("error")
    table.add_column(f"each, at {found.confidence:.4g}", justify="right")
    if found.groups > 1:
        table.add_column(f"all {found.groups:,} at once", justify="right")
    for error in found.errors:
        suffix = " / rows" if error.of_total else ""
        cells = [f"± {_number(error.each, error.each)}{suffix}", f"± {_number(error.all, error.all)}{suffix}"]
        table.add_row(error.measure, *cells[: 2 if found.groups > 1 else 1])
    console.print(table)
    console.print(
        f"Noise: {found.noise}. An even suspicion about one person (50 %) can rise to"
        f" {found.posterior:.1%} at most."
    )
    for note in found.notes:
        console.print(f"[dim]{note}[/]")


def explanation_json(found: Explanation) -> dict[str, object]:
    return {
        "cost": _loss_json(found.loss),
        "epsilon": found.epsilon,
        "share_of_budget": found.share,
        "questions_left": found.questions_left,
        "groups": found.groups,
        "noise": found.noise,
        "confidence": found.confidence,
        "errors": [
            {"measure": e.measure, "each": e.each, "all": e.all, "divide_by_rows": e.of_total}
            for e in found.errors
        ],
        "posterior_of_even_odds": found.posterior,
        "notes": list(found.notes),
    }


def show_budget(balance: Balance, output: str) -> None:
    if output == "json":
        account = {
            "dataset": balance.account.dataset,
            "version": balance.version,
            "budget": _loss_json(balance.account.budget),
            "spent": _loss_json(balance.spent),
            "left": _loss_json(balance.left),
            "analysts": {name: _loss_json(spent) for name, spent in balance.analysts.items()},
        }
        sys.stdout.write(json.dumps(account, ensure_ascii=False) + "\n")
        return
    console = Console()
    total, spent = _amount(balance.account.budget), _amount(balance.spent)
    used = round(40 * spent / total)
    console.print(f"[bold]{balance.account.dataset}[/]  [red]{'█' * used}[/][green]{'█' * (40 - used)}[/]")
    console.print(
        f"{show_charge(balance.spent)} of {show_charge(balance.account.budget)} spent ({spent / total:.1%}),"
        f" {show_charge(balance.left)} left."
    )
    for name, loss in sorted(balance.analysts.items(), key=lambda item: -_amount(item[1])):
        console.print(f"  {name}: {show_charge(loss)}")


def _amount(loss: PureLoss | ConcentratedLoss) -> float:
    return float(loss.epsilon if isinstance(loss, PureLoss) else loss.rho)


def _loss_json(loss: PureLoss | ConcentratedLoss | None) -> dict[str, float]:
    if loss is None:
        return {"epsilon": 0.0}
    if isinstance(loss, PureLoss):
        return {"epsilon": float(loss.epsilon)}
    return {"rho": float(loss.rho), "delta": float(loss.delta)}


def _plain(cell: Cell) -> object:
    return cell.isoformat() if isinstance(cell, date) else cell
