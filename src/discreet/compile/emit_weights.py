"""The weight of a person as SQL."""

from discreet.compile.dialects.dialect import Dialect
from discreet.compile.weights import Norm, Unit, Weight


def by_squares(weight: Weight) -> bool:
    """Whether a person's weight follows from the squares of their counts; pairs of people count once each."""
    return weight.norm is Norm.L2 and weight.unit is Unit.ROWS


def most_of_whole(weight: Weight) -> int:
    """Who has at most this much of n counts fully."""
    return weight.limit if weight.norm is Norm.L1 else weight.square


def weight_sql(weight: Weight, n: str, dialect: Dialect) -> str:
    """⌊2^s·L/‖n‖⌋ where ‖n‖ > L: n is ‖n‖, an integer, in ℓ₁; in ℓ₂ its square, a double.

    A sum of squares is exact in doubles below 2⁵³, and weights are zero long before.
    """
    if weight.norm is Norm.L1:
        share = dialect.integer_quotient(str(weight.limit * weight.whole), n)
    else:
        scaled = dialect.double(float(weight.square * weight.whole**2))  # below 2⁵², as is its root
        share = f"CAST(floor(sqrt(floor({scaled} / {n}))) AS BIGINT)"
    return share if weight.least == 1 else f"CASE WHEN {n} <= {weight.most} THEN {share} ELSE 0 END"
