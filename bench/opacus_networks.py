"""The gradient of each row by the hooks of Opacus and by torch.func, which discreet uses, and beside both the
plain gradient of the same network.

Both give one table of doubles for the same block of rows, as large as discreet holds at once; Opacus takes
the loss of each row from the same function. One thread, processor time. Without torch and Opacus there is
nothing to compare with.
"""

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from timing import CONSOLE, Figure, best_of_rounds, for_information, judge, show

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Case:
    """A network, its loss, and rows."""

    name: str
    network: Any
    loss: Callable[[Any, Any], Any]
    x: Any
    y: Any


def figures() -> list[Figure]:
    if find_spec("torch") is None or find_spec("opacus") is None:
        CONSOLE.print("Opacus is not installed: the comparison of networks is left out.")
        return []
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(case, _seconds(case)) for case in _cases()]
    show(
        "Gradients of rows, beside the plain gradient of all",
        ("network", "rows", "torch.func", "Opacus", "Opacus / torch.func"),
        [(case.name, f"{len(case.x):,}", *_texts(seconds)) for case, seconds in found],
    )
    both = [each["Opacus"] / each["torch.func"] for _, each in found if len(each) == 3]
    return [
        for_information(
            "networks: gradients of rows by Opacus / by torch.func",
            f"{min(both):.1f} to {max(both):.1f} times",
        )
    ]


def _seconds(case: Case) -> dict[str, float]:
    """The least of several rounds, for what runs at all."""
    calls = {"plain": _plain(case)}
    for name, prepare in (("torch.func", _by_func), ("Opacus", _by_opacus)):
        try:
            call = prepare(case)
            call()
        except Exception:  # noqa: S112  which layers a rival cannot do is what is asked here
            continue
        calls[name] = call
    return best_of_rounds(ROUNDS, calls)


def _texts(seconds: dict[str, float]) -> Iterator[str]:
    plain = seconds["plain"]
    for name in ("torch.func", "Opacus"):
        yield f"{seconds[name] / plain:.1f}" if name in seconds else "no"
    yield f"{seconds['Opacus'] / seconds['torch.func']:.2f}" if len(seconds) == 3 else ""


def _plain(case: Case) -> Callable[[], object]:
    network = copy.deepcopy(case.network)

    def gradient() -> None:
        network.zero_grad()
        case.loss(_outputs(network, case.x), case.y).backward()

    return gradient


def _by_func(case: Case) -> Callable[[], object]:
    from discreet.learn.networks.row_gradients import RowGradients

    x, y = case.x.numpy(), case.y.numpy()
    rows = RowGradients(case.network, case.loss, x, y)
    step = rows_at_once(case)

    def gradients() -> None:
        for start in range(0, len(x), step):
            rows(rows.start, x[start : start + step], y[start : start + step])

    return gradients


def _by_opacus(case: Case) -> Callable[[], object]:
    import torch
    from opacus import GradSampleModule

    hooked = GradSampleModule(copy.deepcopy(case.network), loss_reduction="sum", strict=True)
    losses = torch.func.vmap(lambda outputs, y: case.loss(outputs[None], y[None]))
    size, step = sum(each.numel() for each in hooked.parameters()), rows_at_once(case)

    def gradients() -> None:
        for x, y in zip(case.x.split(step), case.y.split(step), strict=True):
            hooked.zero_grad()
            losses(_outputs(hooked, x), y).sum().backward()
            parts = [each.grad_sample.reshape(len(x), -1) for each in hooked.parameters()]
            torch.cat(parts, dim=1, out=torch.empty((len(x), size), dtype=torch.float64))

    return gradients


def rows_at_once(case: Case) -> int:
    from discreet.learn.descent.own_loss import block_rows

    return block_rows(sum(each.numel() for each in case.network.parameters()))


def _outputs(network: Any, x: Any) -> Any:
    found = network(x)
    return found[:, 0] if found.shape[1] == 1 else found


def _cases() -> list[Case]:
    import torch
    from opacus.layers import DPGRU, DPLSTM, DPMultiheadAttention
    from torch import nn
    from torch.nn import functional

    class Mean(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.mean(1)

    class Last(nn.Module):
        def forward(self, states: Any) -> Any:
            return states[0][:, -1]

    class Attention(nn.Module):
        def __init__(self, kind: Any) -> None:
            super().__init__()
            self.layer, self.out = kind(16, 2, batch_first=True), nn.Linear(16, 2)

        def forward(self, x: Any) -> Any:
            return self.out(self.layer(x, x, x, need_weights=False)[0].mean(1))

    def labelled(name: str, network: Any, x: Any, classes: int) -> Case:
        return Case(name, network, functional.cross_entropy, x, torch.arange(len(x)) % classes)

    picture = nn.Sequential(
        *(nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1)),
        *(nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1)),
        *(nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10)),
    )
    one_output = nn.Sequential(nn.Linear(50, 64), nn.Tanh(), nn.Linear(64, 1))
    many_weights = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    words = nn.Sequential(nn.Embedding(1000, 16), Mean(), nn.Linear(16, 2))
    two = torch.arange(8192) % 2
    sequences = torch.randn(512, 10, 16)
    return [
        Case(
            "dense 50-64-1",
            one_output,
            functional.binary_cross_entropy_with_logits,
            torch.randn(8192, 50),
            two.float(),
        ),
        labelled("dense 784-256-10", many_weights, torch.randn(256, 784), 10),
        labelled("two convolutions, 28 × 28", picture, torch.randn(512, 1, 28, 28), 10),
        labelled("mean of 20 words of 1,000", words, torch.randint(0, 1000, (512, 20)), 2),
        *(
            labelled(
                f"{kind.__name__}, 10 steps",
                nn.Sequential(kind(16, 32, batch_first=True), Last(), nn.Linear(32, 2)),
                sequences,
                2,
            )
            for kind in (nn.LSTM, DPLSTM, nn.GRU, DPGRU)
        ),
        *(
            labelled(f"{kind.__name__}, 10 steps", Attention(kind), sequences, 2)
            for kind in (nn.MultiheadAttention, DPMultiheadAttention)
        ),
    ]


if __name__ == "__main__":
    sys.exit(judge(figures()))
