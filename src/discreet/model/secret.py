"""A value that must not be seen: exact results between the engine and the noise."""

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Secret(Generic[T]):
    """Holds a value that only `reveal` gives away, so that no print, log, traceback or pickle can.

    It guards against accidents, not against code that wants to look inside.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        """The value, for whoever adds the noise. Search for callers to see all that meet exact data."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, specification: str) -> str:
        return repr(self)

    def __copy__(self) -> "Secret[T]":
        return self

    def __deepcopy__(self, memo: object) -> "Secret[T]":
        return self

    def __getstate__(self) -> NoReturn:
        raise TypeError("A secret cannot be stored or sent.")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A secret cannot be stored or sent.")
