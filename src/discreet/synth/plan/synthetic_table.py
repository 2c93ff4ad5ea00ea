"""A synthetic table in an analyst's hands: rows to draw, as many and as often as wanted, for free."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from discreet.answers.released import Released
from discreet.answers.tabular import Tabular
from discreet.answers.wording import price_text
from discreet.errors import InvalidInput
from discreet.model.exact import positive_count
from discreet.model.privacy import Spend
from discreet.model.receipt import Receipt
from discreet.synth.core.synthesis import Synthetic
from discreet.synth.plan.attributes import Attribute
from discreet.synth.plan.synthesis_plan import Advance, SynthesisPlan
from discreet.synth.report.quality import Quality

_ENDINGS = (".parquet", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticRows(Tabular):
    """Rows that belong to nobody."""

    released: Released

    @property
    def columns(self) -> tuple[str, ...]:
        return self.released.columns

    def __len__(self) -> int:
        return len(self.released)

    def write(self, path: str | Path) -> Path:
        """To a file that does not exist yet, as Parquet or CSV by its ending."""
        from discreet.answers.frames import write_file

        checked = checked_output(path)
        write_file(self.released, checked)
        return checked


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticTable:
    """What was learnt of a table, what it cost, and what is left."""

    plan: SynthesisPlan
    encoded: bytes
    charged: Spend
    left: Spend
    receipt: Receipt
    repeated: bool
    """Whether the same table had been made before: then this is the same one, and was free."""

    advance: Advance = lambda *_: None
    """Called with how far the fit is. The fit is free, and begins when it is first needed."""

    @cached_property
    def learnt(self) -> Synthetic:
        """The weights, and the noisy tables behind them."""
        return self.plan.synthetic_from(self.encoded, self.advance)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.plan.attributes

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def __len__(self) -> int:
        """About as many rows as the real table has, where rows of people with very many are weighed down."""
        return max(1, round(self.learnt.people))

    def rows(self, count: int | None = None) -> SyntheticRows:
        """Rows drawn anew: `count` of them, or about as many as the real table has."""
        wanted = len(self) if count is None else positive_count(count, "rows")
        random = np.random.default_rng()
        codes = self.learnt.rows(wanted, random)
        values = {
            attribute.name: attribute.drawn(column, random)
            for attribute, column in zip(self.attributes, codes, strict=True)
        }
        return SyntheticRows(
            released=Released(
                columns=self.columns, values=values, raw={}, low={}, high={}, confidence=0.95, notes=()
            )
        )

    def quality(self) -> Quality:
        """How good it is, from what was measured alone: free. It takes about as long as making the table."""
        return self.plan.quality(self.learnt)

    def price(self) -> str:
        """What it cost and what is left, in a sentence."""
        free = "Made before: the same table, free" if self.repeated else ""
        return price_text(self.charged, self.left, self.receipt, free=free)

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"A synthetic table of about {len(self):,} rows: {names}. {self.price()} Draw with rows()."


def checked_output(path: str | Path) -> Path:
    """Where rows can be written: a name with a known ending, that is not taken."""
    checked = Path(path)
    if checked.suffix not in _ENDINGS:
        raise InvalidInput(
            f"“{checked.name}” ends neither in {_ENDINGS[0]} nor in {_ENDINGS[1]}.",
            remedy=f"Write to {checked.with_suffix(_ENDINGS[0]).name}, for instance.",
        )
    if not checked.parent.is_dir():
        raise InvalidInput(f"There is no folder “{checked.parent}”.", remedy="Create it, or choose another.")
    if checked.exists():
        raise InvalidInput(
            f"“{checked}” exists already, and is left as it is.", remedy="Give another name, or remove it."
        )
    return checked
