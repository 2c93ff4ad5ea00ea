"""What a synthetic table will be made from, and its price: no data is read, and nothing is spent."""

from dataclasses import dataclass

from discreet.compile.bound import Bounded
from discreet.compile.calibrate import Charge
from discreet.compile.exact import Results
from discreet.compile.rows import RowQuery
from discreet.model.policy import Dataset
from discreet.model.sensitivity import Sensitivity
from discreet.synth.attributes import Attribute, domain_of
from discreet.synth.counting import Counted, counting, sets_of, table_sensitivity, unit_of
from discreet.synth.domain import Domain
from discreet.synth.synthesis import MOST_CELLS, Progress, synthesise


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPlan:
    """The columns, what is counted, and the whole price."""

    attributes: tuple[Attribute, ...]
    bounded: Bounded
    loss: Charge

    def synthesised(self, exact: Results, progress: Progress = lambda *_: None) -> bytes:
        """Measure and fit. Exact numbers live in this call alone; what is given costs `loss`."""
        learnt = synthesise(
            self.domain,
            Counted(self.domain, self.bounded, exact),
            loss=self.loss,
            sensitivity=self.sensitivity,
            unit=self.unit,
            progress=progress,
        )
        return learnt.encode()

    @property
    def domain(self) -> Domain:
        return domain_of(self.attributes)

    @property
    def sensitivity(self) -> Sensitivity:
        return table_sensitivity(self.bounded)

    @property
    def unit(self) -> int:
        return unit_of(self.bounded)


def plan_synthesis(
    rows: RowQuery, attributes: tuple[Attribute, ...], loss: Charge, dataset: Dataset
) -> SynthesisPlan:
    wide = domain_of(attributes).cells > MOST_CELLS
    return SynthesisPlan(
        attributes=attributes,
        bounded=counting(rows, attributes, dataset, sets=sets_of(len(attributes), wide=wide)),
        loss=loss,
    )
