"""What a fit would cost and how good the model could be: from the policy alone."""

from dataclasses import dataclass
from math import ceil

from discreet.answers.wording import charge_text, counted, epsilon_beside
from discreet.bounds.calibrate import budget_of
from discreet.learn.core.account import FitAccount
from discreet.learn.forecast.outlook import Outlook, noise_beside
from discreet.learn.plan.fit_plan import FitPlan
from discreet.learn.plan.statements import Fetched, Summed
from discreet.model.policy import Dataset
from discreet.model.privacy import Spend, amount_of
from discreet.model.query import FewRows
from discreet.release.explain import epsilon_of

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_GOOD = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FitExplanation:
    """Everything that can be said before anything is spent."""

    loss: Spend
    epsilon: float
    """The loss as ε: pure, or at the dataset's δ."""
    share: float
    """The price as a share of the whole budget."""
    model: str
    features: tuple[str, ...]
    target: str
    form: str
    """What leaves the database, in words."""
    noise_of_one_row: float

    def outlook(self, rows: int) -> Outlook:
        """The size of the noise relative to what there is to learn, for about so many rows."""
        return Outlook(noise=self.noise_of_one_row / max(1, rows))

    @property
    def rows_needed(self) -> int:
        """The number of rows at which the noise is a tenth of what there is to learn."""
        return ceil(self.noise_of_one_row / _GOOD)

    def to_dict(self) -> dict[str, object]:
        return {
            "loss": charge_text(self.loss),
            "epsilon": self.epsilon,
            "share": self.share,
            "model": self.model,
            "features": list(self.features),
            "target": self.target,
            "form": self.form,
            "noise": {str(size): self.outlook(size).noise for size in SIZES},
            "rows_needed": self.rows_needed,
        }

    def __str__(self) -> str:
        as_epsilon = epsilon_beside(self.loss, self.epsilon, digits=3)
        lines = [
            f"{self.model} of “{self.target}” by {counted(len(self.features), 'feature')}.",
            f"It costs {charge_text(self.loss)}{as_epsilon}, {self.share:.2%} of the budget.",
            f"{self.form}.",
            "How large the noise is beside what there is to learn, by the number of rows:",
            *(f"{size:>11,}  {self.outlook(size).noise:.2%}" for size in SIZES),
            f"About {self.rows_needed:,} rows make it a tenth.",
        ]
        return "\n".join(lines)


def explain_fit(plan: FitPlan, dataset: Dataset) -> FitExplanation:
    """Describe a plan."""
    account = FitAccount(plan.loss, neighbours=plan.neighbours)
    return FitExplanation(
        loss=plan.loss,
        epsilon=epsilon_of(plan.loss, dataset),
        share=float(amount_of(plan.loss) / amount_of(budget_of(dataset))),
        model=type(plan.estimator).__name__,
        features=plan.features,
        target=plan.target.name,
        form=_form(plan.data),
        noise_of_one_row=noise_beside(plan.estimator, account, len(plan.features), 1),
    )


def _form(data: Fetched | Summed) -> str:
    if isinstance(data, Summed):
        return "The database computes sums, and rows stay in it"
    if not isinstance(data.source, FewRows):
        return "Rows stay with the curator"
    return f"Rows stay with the curator; people with more than {data.source.rows:,} rows are left out"
