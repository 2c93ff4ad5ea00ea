"""What the owner wants of every question: a purpose, a number of people, a price if none is named."""

from fractions import Fraction
from typing import TypedDict

from discreet.model.declaration import nearest
from discreet.model.exact import positive_epsilon, whole
from discreet.model.policy import MOST_MIN_PEOPLE
from discreet.policy.toml_file import Section

_PURPOSES = ["required", "optional"]


class HouseRules(TypedDict):
    """As `Dataset` has them."""

    default_price: Fraction | None
    min_people: int
    purpose_required: bool


def house_rules(section: Section) -> HouseRules:
    """Those of a dataset; what is not there is not a rule."""
    price, people = section.values.get("default_price"), section.values.get("min_people", 0)
    return HouseRules(
        default_price=None
        if price is None
        else section.checked("default_price", lambda: positive_epsilon(price, "default_price")),
        min_people=section.checked("min_people", lambda: whole(people, "min_people", 0, MOST_MIN_PEOPLE)),
        purpose_required=_purpose_required(section),
    )


def _purpose_required(section: Section) -> bool:
    if "purpose" not in section.values:
        return False
    value = section.text("purpose", 'purpose = "required"')
    if value not in _PURPOSES:
        section.refuse("purpose", f"“{value}” is neither required nor optional.", nearest(value, _PURPOSES))
    return value == "required"
