"""Refuse networks that mix rows, or that release more than their weights, before any row is read."""

import torch
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy

from discreet.errors import InvalidInput


def check_network(network: object) -> None:
    """Refuse what cannot be trained privately, and say what to write instead."""
    if not isinstance(network, torch.nn.Module):
        raise InvalidInput("That is not a network.", remedy="Give a torch.nn.Module.")
    for module in network.modules():
        _check_module(module)
    parameters = list(network.parameters())
    if any(is_lazy(each) for each in (*parameters, *network.buffers())):
        raise InvalidInput(
            "Some weights of the network have no shape yet.", remedy="Run it once, on a row of zeros."
        )
    if {each.device.type for each in (*parameters, *network.buffers())} - {"cpu"}:
        raise InvalidInput(
            "The network is on another device, where the order of additions is not fixed.",
            remedy="Move it: network.cpu().",
        )
    _check_weights([each for each in parameters if each.requires_grad])


def _check_weights(trainable: list[torch.Tensor]) -> None:
    if not sum(each.numel() for each in trainable):
        raise InvalidInput("No weight of the network can change.", remedy="Set requires_grad on some.")
    if any(each.is_complex() for each in trainable):
        raise InvalidInput("Some weights of the network are complex.", remedy="Give real ones.")
    if not all(bool(torch.isfinite(each).all()) for each in trainable):
        raise InvalidInput("Some weights of the network are not finite.", remedy="Initialise them anew.")


def _check_module(module: torch.nn.Module) -> None:
    if isinstance(module, _DropoutNd) and module.training and module.p > 0:
        raise at_random()
    if isinstance(module, _BatchNorm) and (module.training or not module.track_running_stats):
        raise InvalidInput(
            "Batch normalisation mixes rows, so that one person would move every row's gradient.",
            remedy="Use GroupNorm or LayerNorm, or call eval() on it to use its stored means.",
        )
    if isinstance(module, _NormBase) and module.training and module.track_running_stats:
        raise InvalidInput(
            "The network keeps means of its rows, without noise.", remedy="Set track_running_stats=False."
        )


def at_random() -> InvalidInput:
    """The error for random draws: with a known generator, one row more changes those of all rows after it."""
    return InvalidInput(
        "The network draws at random from a generator that is not secret, on which privacy cannot rest.",
        remedy="Leave dropout out (the noise regularises as well), or call eval() on it.",
    )
