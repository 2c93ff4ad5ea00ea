"""What synthetic tables and models begin with: a SELECT of plain rows, and one price."""

from fractions import Fraction

from discreet.bounds.calibrate import charge_of, check_cap
from discreet.curator.public_tables import PublicReading
from discreet.errors import InvalidInput
from discreet.model.exact import Number, positive_epsilon, positive_rho
from discreet.model.policy import Dataset
from discreet.model.privacy import ConcentratedLoss, PureLoss, Spend
from discreet.model.request import ByEpsilon, ByRho
from discreet.question.parse import parse_sql
from discreet.question.plain_rows import RowQuery, resolve_rows


def rows_of(sql: str, dataset: Dataset, public: PublicReading) -> RowQuery:
    return resolve_rows(parse_sql(sql), dataset, public.keys, public.fan_out)


def price_of_rows(dataset: Dataset, *, epsilon: Number | None = None, rho: Number | None = None) -> Spend:
    """The price of learning from rows. All of it is spent on noise, so its δ is 0."""
    if (epsilon is None) == (rho is None):
        raise InvalidInput("This needs one price.", remedy="Give either epsilon= or rho=.")
    price = ByRho(rho=positive_rho(rho)) if epsilon is None else ByEpsilon(epsilon=positive_epsilon(epsilon))
    loss = charge_of(price, dataset)
    check_cap(loss, dataset)
    return loss if isinstance(loss, PureLoss) else ConcentratedLoss(rho=loss.rho, delta=Fraction(0))
