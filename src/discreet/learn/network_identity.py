"""What a network and its loss compute, as one text: other code, weights or numbers make another.

A stored model is given for the same text again. So everything is looked at that a computation can depend on:
weights and buffers, which of them can change, attributes, hooks, and the code of functions with their
defaults, closures and the globals that they name, in other modules too. Code of torch, numpy and Python
itself goes by its name. Of what cannot be looked into the text differs each time, and then a fit is charged
anew.
"""

import functools
import hashlib
import sys
import types
import weakref
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import torch

_BY_NAME = ("torch", "numpy", "builtins", "math", "operator", "collections", "functools", "typing", "abc")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), torch.dtype, torch.device)


def identity(thing: Any) -> str:
    """The same for two things that compute the same by the same code."""
    walk = _Walk()
    walk.add(thing)
    return walk.digest.hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._seen: dict[int, tuple[int, Any]] = {}

    def _say(self, *parts: object) -> None:
        self.digest.update(repr(parts).encode("utf-8", "surrogatepass"))

    def add(self, thing: Any) -> None:
        if isinstance(thing, _PLAIN):
            self._say(type(thing).__name__, thing)
            return
        if isinstance(thing, weakref.ref):
            thing = thing()
        if id(thing) in self._seen:
            self._say("again", self._seen[id(thing)][0])
            return
        self._seen[id(thing)] = len(self._seen), thing  # held, so that its id stays its own
        self._add_new(thing)

    def _add_new(self, thing: Any) -> None:
        match thing:
            case torch.Tensor():
                self._say("tensor", thing.dtype, tuple(thing.shape), thing.requires_grad)
                self._bytes(thing.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
            case np.ndarray() if thing.dtype != object:
                self._say("array", thing.dtype.str, thing.shape)
                self._bytes(thing.tobytes())
            case types.CodeType():
                self._all("code", thing.co_code, thing.co_consts, thing.co_names, thing.co_varnames)
            case types.ModuleType():
                self._say("module", thing.__name__)
            case type():
                self._class(thing)
            case types.FunctionType():
                self._function(thing)
            case types.MethodType():
                self._all("method", thing.__self__, thing.__func__)
            case types.CellType():
                self._all("cell", *_content(thing))
            case staticmethod() | classmethod():
                self._all("wrapped", thing.__func__)
            case property():
                self._all("property", thing.fget)
            case functools.partial():
                self._all("partial", thing.func, thing.args, thing.keywords)
            case Mapping():
                self._all("mapping", type(thing), *(each for item in thing.items() for each in item))
            case Set():
                self._all("set", *sorted(thing, key=repr))
            case list() | tuple():
                self._all("sequence", type(thing), *thing)
            case _:
                self._object(thing)

    def _all(self, kind: str, *parts: Any) -> None:
        self._say(kind, len(parts))
        for part in parts:
            self.add(part)

    def _bytes(self, data: bytes) -> None:
        self._say(len(data))
        self.digest.update(data)

    def _function(self, function: types.FunctionType) -> None:
        self._say("function", function.__module__, function.__qualname__)
        if _by_name(function):
            return
        self._all("defaults", function.__defaults__, function.__kwdefaults__)
        self._all("closure", *(function.__closure__ or ()))
        self.add(function.__code__)
        self._named(_names(function.__code__), function.__globals__)

    def _named(self, names: list[str], space: Mapping[str, Any], *within: types.ModuleType) -> None:
        """What the names stand for; and in a module that is one of them, what they stand for there."""
        found = [(name, space[name]) for name in names if name in space]
        self._all("globals", *(each for pair in found for each in pair))
        for _, each in found:
            if isinstance(each, types.ModuleType) and each not in within and not _is_of_python(each):
                self._named(names, vars(each), *within, each)

    def _class(self, kind: type) -> None:
        self._say("class", kind.__module__, kind.__qualname__)
        if _by_name(kind):
            return
        own = {name: each for name, each in vars(kind).items() if not _is_bookkeeping(name, each)}
        self._all("bases", *kind.__bases__, *(part for item in own.items() for part in item))

    def _object(self, thing: Any) -> None:
        """By its kind and its attributes; one that has none goes by its name, or by what it says it is."""
        if hasattr(thing, "__dict__"):
            self._all("object", type(thing), vars(thing))
        elif isinstance(thing, types.BuiltinFunctionType):
            self._say("builtin", thing.__module__, thing.__qualname__)
        else:
            self._say("other", type(thing).__qualname__, repr(thing))


def _content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it has none yet
        return ()


def _names(code: types.CodeType) -> list[str]:
    """All names of a function and of those within it, in order."""
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return sorted({*code.co_names, *(name for each in inner for name in _names(each))})


def _by_name(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] in _BY_NAME


def _is_of_python(module: types.ModuleType) -> bool:
    """Or of torch and numpy."""
    package = module.__name__.partition(".")[0]
    return package in _BY_NAME or (package in sys.stdlib_module_names and package != "test")


def _is_bookkeeping(name: str, value: Any) -> bool:
    """What Python keeps on a class that nothing is computed with."""
    return (name.startswith("__") and not callable(value)) or isinstance(value, types.GetSetDescriptorType)
