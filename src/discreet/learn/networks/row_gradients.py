"""The gradient of a network's loss for each row, from that row alone.

Privacy
    The network and its loss are run for one row at a time: `torch.func.vmap` computes many rows together, and
    means the same as a loop over rows that each stand alone. An operation that mixes rows (a mean over
    them) sees no other row. One that branches on values or draws at random is refused.

    A row's gradient must also be the same, to the last bit, wherever the row stands. Otherwise one person
    moves the gradients of all who come after. Matrix products may add in another order for another number
    of rows. So rows are always computed in blocks of one size; the last is filled up with its own rows. At
    this size a row has the same gradient at every place and beside any others: this is tried on made-up
    rows, on this machine, before the data is touched. If no larger size passes, it is one row at a time. A
    network that even then differs from call to call is refused.
    Assumed: the order in which a kernel of torch adds depends on shapes, not on values; and what the network
    computes depends on its weights, its buffers and the row, not on what it was called with before.

    Made-up rows cannot show everything: what an operation does with many rows together may depend on their
    values. `one_row_at_a_time` needs no trial. Each row is computed in a call of its own, by a fresh copy of
    the network, from the same state of torch's generator. So its gradient is a function of weights and row,
    whatever the operations do. It takes many times as long.
    Assumed: a kernel of torch gives the same for the same input on one machine, and the code keeps nothing
    outside of the network.

    A row on which the network fails (an index beyond an embedding) has the gradient zero, as has one whose
    gradient is not finite (`own_loss`): an error would tell that there is such a row.
"""

import copy
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from torch.func import functional_call, grad, vmap
from torch.nn import GRU, RNN

from discreet.arrays import Floats, Labels, RowValues
from discreet.errors import InvalidInput
from discreet.learn.descent.own_loss import block_rows
from discreet.learn.networks.checks import at_random

TensorRows: TypeAlias = tuple[torch.Tensor, ...]
"""x and y."""
NamedWeights: TypeAlias = dict[str, torch.Tensor]
RowLoss: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(outputs, targets) of one row → one number."""


class RowGradients:
    """A network's gradients as descent wants them: (weights, x, y) → a gradient for each row.

    Of the `x` and `y` that it is made with, only shapes and kinds are looked at.
    """

    def __init__(
        self,
        network: torch.nn.Module,
        loss: RowLoss,
        x: RowValues,
        y: Labels,
        *,
        one_row_at_a_time: bool = False,
    ) -> None:
        self._network = copy.deepcopy(network)
        self._loss = loss
        weights = trainable(network)
        self._shapes = {name: (each.shape, each.dtype) for name, each in weights.items()}
        flat = [each.detach().reshape(-1).double() for each in weights.values()]
        self.start: Floats = torch.cat(flat).numpy()
        float_kind = next(iter(weights.values())).dtype
        self._kinds = [float_kind if each.dtype.kind == "f" else torch.int64 for each in (x, y)]
        together = partial(self._loss_of_row, self._network)
        self._each = self._alone if one_row_at_a_time else vmap(grad(together), in_dims=(None, 0, 0))
        most = 1 if one_row_at_a_time else block_rows(self.start.size)
        self._block = self._largest_block(most, x.shape[1:], y.shape[1:])

    def __call__(self, weights: Floats, x: RowValues, y: Labels) -> Floats:
        """A row of gradients for each row."""
        named, rows = self.named(weights), (torch.from_numpy(x), torch.from_numpy(y))
        parts = [
            self._safely(named, tuple(each[start : start + self._block] for each in rows))
            for start in range(0, len(x), self._block)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, self.start.size)), *parts])

    def named(self, weights: Floats) -> NamedWeights:
        """A flat vector as the network's own weights."""
        parts = np.split(weights, np.cumsum([shape.numel() for shape, _ in self._shapes.values()])[:-1])
        return {
            name: torch.tensor(part).reshape(shape).to(dtype)
            for part, (name, (shape, dtype)) in zip(parts, self._shapes.items(), strict=True)
        }

    def _alone(self, named: NamedWeights, x: torch.Tensor, y: torch.Tensor) -> NamedWeights:
        """The gradient of the only row, by a network that has seen no other."""
        loss = partial(self._loss_of_row, copy.deepcopy(self._network))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            before = torch.get_rng_state()
            found: NamedWeights = grad(loss)(named, x[0], y[0])
            if not torch.equal(before, torch.get_rng_state()):
                raise RuntimeError("randomness")
        return found

    def _loss_of_row(
        self, network: torch.nn.Module, named: NamedWeights, x: torch.Tensor, y: torch.Tensor
    ) -> torch.Tensor:
        outputs = functional_call(network, named, (x[None],))
        if outputs.dim() == 2 and outputs.shape[1] == 1 and y.dim() == 0:
            outputs = outputs[:, 0]  # one unit, one target
        return self._loss(outputs, y[None]).reshape(())

    def _safely(self, named: NamedWeights, rows: TensorRows) -> Floats:
        """Zero for a row on which the network fails: whether it does depends on that row alone."""
        try:
            return self._gradients(named, rows, self._block)
        except Exception:
            if len(rows[0]) == 1:
                return np.zeros((1, self.start.size))
            each = [tuple(part[i : i + 1] for part in rows) for i in range(len(rows[0]))]
            return np.concatenate([self._safely(named, one) for one in each])

    def _gradients(self, named: NamedWeights, rows: TensorRows, block: int) -> Floats:
        """The gradients of at most `block` rows. Rows are repeated to fill the block."""
        count = len(rows[0])
        repeated = torch.arange(block) % count
        filled = [each[repeated].to(kind) for each, kind in zip(rows, self._kinds, strict=True)]
        found = self._each(named, *filled)
        parts = [found[name].detach().reshape(block, -1)[:count] for name in self._shapes]
        gradients = torch.empty((count, self.start.size), dtype=torch.float64)
        out: Floats = torch.cat(parts, dim=1, out=gradients).numpy()
        return out

    def _largest_block(self, most: int, *shapes: tuple[int, ...]) -> int:
        """The largest block in which a row has the same gradient at every place."""
        before = [each.clone() for each in self._network.buffers()]
        block = most
        try:
            while block > 1 and not self._same_everywhere(shapes, block):
                block //= 2
            steady = block > 1 or self._same_everywhere(shapes, 1)
        except Exception as failure:
            raise _refusal(failure, self._network) from failure
        if not steady:
            raise InvalidInput(
                "The network gives another gradient for the same row when it is asked again, so that one"
                " person would move those of all who come after.",
                remedy="Let it draw nothing at random, and count or remember nothing between calls.",
            )
        if not all(map(torch.equal, before, self._network.buffers())):
            raise InvalidInput(
                "The network changes a buffer while it computes.", remedy="Keep its buffers as they are."
            )
        return block

    def _same_everywhere(self, shapes: tuple[tuple[int, ...], ...], block: int) -> bool:
        """One made-up row at all places, and different ones forwards and backwards."""
        named, rows = self._made_up(shapes, block)
        alike = self._gradients(named, _chosen(rows, [0] * block), block)
        forwards = self._gradients(named, rows, block)
        backwards = self._gradients(named, _chosen(rows, range(block - 1, -1, -1)), block)
        everywhere = alike.tobytes() == forwards[0].tobytes() * block
        return everywhere and bool(backwards[::-1].tobytes() == forwards.tobytes())

    def _made_up(self, shapes: tuple[tuple[int, ...], ...], count: int) -> tuple[NamedWeights, TensorRows]:
        """Weights and rows. Whole numbers are zero, which every embedding and every class has."""
        chance = np.random.default_rng(1)
        named = self.named(self.start + chance.normal(scale=0.1, size=self.start.size))
        x, y = (
            torch.tensor(chance.normal(size=(count, *shape)) * kind.is_floating_point).to(kind)
            for shape, kind in zip(shapes, self._kinds, strict=True)
        )
        return named, (x, y)


def trainable(network: torch.nn.Module) -> NamedWeights:
    """The weights that descent may change, by name."""
    return {name: each for name, each in network.named_parameters() if each.requires_grad}


def outputs_for(network: torch.nn.Module, x: RowValues) -> int:
    """How many numbers the network gives for a row of zeros; 0 if its output has more dimensions."""
    kind = next(each.dtype for each in network.parameters() if each.requires_grad)
    row = torch.zeros((1, *x.shape[1:]), dtype=kind if x.dtype.kind == "f" else torch.int64)
    try:
        with torch.no_grad():
            found = copy.deepcopy(network)(row)
    except Exception as failure:
        raise _refusal(failure, network) from failure
    if not isinstance(found, torch.Tensor) or found.shape[:1] != (1,):
        raise InvalidInput(
            "The network does not give one row of numbers for each row.",
            remedy="Let it return one tensor whose first dimension is that of its input.",
        )
    return 1 if found.dim() == 1 else int(found.shape[1]) if found.dim() == 2 else 0


def _chosen(rows: TensorRows, places: Iterable[int]) -> TensorRows:
    x, y = (each[list(places)] for each in rows)
    return x, y


def _refusal(failure: Exception, network: torch.nn.Module) -> InvalidInput:
    if "randomness" in str(failure):
        return at_random()
    if "broadcast" in str(failure) and any(isinstance(each, GRU | RNN) for each in network.modules()):
        return InvalidInput(
            "torch computes GRU and RNN for all rows together, not for each alone.",
            remedy="Use DPGRU or DPRNN of opacus.layers, which have the same settings and weights; or LSTM.",
        )
    return InvalidInput(
        "The network and its loss do not run on a made-up row of this shape and kind.",
        remedy="Check shapes and kinds, that the loss gives one number, and that nothing branches on values.",
    )
