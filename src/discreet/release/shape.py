"""How an expression turns with the noise: what may be simulated, and what has to be pushed as an interval.

To simulate is to draw the noise of a question again, take it off the noisy sums, and keep the middle of what
the expression f then is. That is an interval for f(T), T the true sums, where all sets {f ≤ c} are
half-spaces:

AFFINE   f = L + c. The truth is below the interval only if L(N) of the real noise N is above all but α/2 of
         the L(N') of the drawn ones. They have one law, so this happens with probability α/2 at most.
SMOOTH   f = a/b of affine ones, b > 0 in truth: f(T) ≤ c is a(T) − c·b(T) ≤ 0, and so a half-space too. A
         draw with b ≤ 0 counts as one that may be anything, which makes the interval no narrower. (Fieller,
         JRSS B 16, 1954.) Averages are such. Variances, and sums and differences of these, are nearly: what
         bends them is of the order of the noise against the rows that are divided by. Their coverage is
         measured, with few rows too (`tests/release/test_intervals_hold.py`).
BENT     all else: |a − b|, squares, greatest, CASE. The middle of a simulation is no interval where f turns:
         all draws of |a − b| are above 0, where the truth may be. It is none of f monotone in each of
         several noisy numbers either: of eight equal counts the greatest noisy one is too large.

What is BENT is cut into its largest parts that are not. Each gets an interval, all of these hold at once by a
union bound, and interval arithmetic (`box`) says where the whole is. With one such part, and f monotone in
it, nothing is lost by that.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

from discreet.aggregates.shape import Shape
from discreet.model.expression import Call, Expression, Field, Literal, fields_of

LeafShape: TypeAlias = Callable[[Field], Shape]
"""The shape of a measure in its noisy sums; keys are CONSTANT."""


def shape_of(
    expression: Expression,
    leaf: LeafShape,
    never_negative: Callable[[Field], bool],
    inner: Callable[[Expression], Shape] | None = None,
) -> Shape:
    """The shape of an expression over measures; `never_negative` says which have a truth of 0 or more.

    `inner` says the shapes of its arguments; by default, this function does.
    """
    if isinstance(expression, Field):
        return leaf(expression)
    if isinstance(expression, Literal):
        return Shape.CONSTANT
    of = inner or (lambda argument: shape_of(argument, leaf, never_negative))
    shapes = [of(argument) for argument in expression.arguments]
    largest = max(shapes, default=Shape.CONSTANT)
    if largest is Shape.CONSTANT:
        return Shape.CONSTANT
    match expression.function, shapes:
        case "+" | "-" | "negate" | "cast_number", _:
            return largest
        case "*", _ if Shape.CONSTANT in shapes:
            return largest
        case "/", [_, Shape.CONSTANT]:
            return largest
        case "/", [Shape.CONSTANT | Shape.AFFINE, Shape.AFFINE]:
            return Shape.SMOOTH if is_positive(expression.arguments[1], never_negative) else Shape.BENT
    return Shape.BENT


def parts_to_simulate(
    expression: Expression, leaf: LeafShape, never_negative: Callable[[Field], bool]
) -> Iterator[Expression]:
    """The largest parts of an expression that are not BENT, and measures that are; constants are left out."""
    yield from largest_parts(expression, lambda each: shape_of(each, leaf, never_negative))


def largest_parts(
    expression: Expression, shape_of_part: Callable[[Expression], Shape]
) -> Iterator[Expression]:
    """The same for any rule of shapes."""
    shape = shape_of_part(expression)
    if shape is Shape.CONSTANT:
        return
    if shape is not Shape.BENT or not isinstance(expression, Call):
        yield expression
        return
    for argument in expression.arguments:
        yield from largest_parts(argument, shape_of_part)


def noisy_divisors(expression: Expression, measured: Callable[[Expression], bool]) -> list[Expression]:
    """All that is noisy and that something is divided by, each once."""
    return list(dict.fromkeys(_divisors(expression, measured)))


def _divisors(expression: Expression, measured: Callable[[Expression], bool]) -> Iterator[Expression]:
    if isinstance(expression, Call):
        if expression.function == "/" and measured(expression.arguments[1]):
            yield expression.arguments[1]
        for argument in expression.arguments:
            yield from _divisors(argument, measured)


def is_positive(expression: Expression, never_negative: Callable[[Field], bool]) -> bool:
    """Whether a divisor is 0 or more in truth; where it is 0, what is divided by it is NULL."""
    match expression:
        case Field():
            return never_negative(expression)
        case Literal(value=value):
            return value is None or (isinstance(value, int | Fraction) and value >= 0)
        case Call(function="+" | "*" | "/" | "cast_number", arguments=arguments):
            return all(is_positive(argument, never_negative) for argument in arguments)
        case Call(function="nullif", arguments=(value, _)):
            return is_positive(value, never_negative)
        case Call(function="case" | "coalesce" as function, arguments=arguments):
            pairs = len(arguments) // 2 * 2 if function == "case" else 0
            chosen = (*arguments[1:pairs:2], *arguments[pairs:])
            return all(is_positive(each, never_negative) for each in chosen)
    return False


def uses(expression: Expression, names: set[str]) -> bool:
    """Whether an expression reads one of these fields."""
    return any(field.name in names for field in fields_of(expression))
