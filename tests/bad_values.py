"""What people and attackers write where a number is wanted."""

from decimal import Decimal
from fractions import Fraction

NOT_NUMBERS = [None, "1", b"1", True, False, [1], (1,), {}, Ellipsis, 1j]
NOT_FINITE = [float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("Infinity"), Decimal("sNaN")]
NOT_POSITIVE = [0, 0.0, -1, -0.5, Fraction(-1, 3), Decimal(-2), -1e-320]
NOT_REASONABLE = [1e-320, 1e300, 10**300, Fraction(1, 10**400), Decimal("1e-9999"), Decimal("1e9999")]

BAD_QUANTITIES = [*NOT_NUMBERS, *NOT_FINITE, *NOT_POSITIVE, *NOT_REASONABLE]
BAD_COUNTS = [*NOT_NUMBERS, *NOT_FINITE, *NOT_POSITIVE, *NOT_REASONABLE, 1.0, 1.5, Fraction(2), Decimal(1)]
