"""What everybody may know of a dataset: what is protected, how much was spent, and what that means."""

from starlette.requests import Request
from starlette.responses import Response

from discreet.accounting.odds import rare_chance
from discreet.answers.wording import one_case_in
from discreet.apps.server.console.made_up import limits_text, range_text
from discreet.apps.server.console.rendering import rendered
from discreet.apps.server.settings import ServerSettings
from discreet.errors import NotThere
from discreet.model.privacy import Spend, amount_of
from discreet.release.explain import epsilon_of, posterior_of
from discreet.service.served_dataset import ServedDataset
from discreet.service.service import CuratorService


def public_page(service: CuratorService, settings: ServerSettings, request: Request) -> Response:
    """The page of a dataset; the same 404 if there is none as if pages are not shown."""
    dataset = service.datasets.get(request.path_params["dataset"])
    if dataset is None or not settings.public_pages:
        raise NotThere("There is no such page.", remedy="Ask the owner of the data.")
    facts, balance = dataset.public_standing()
    return rendered(
        "public.html",
        visit=None,
        place="public",
        policy=facts,
        limits=limits_text,
        ranges=range_text,
        spent=_epsilon(dataset, balance.spent),
        total=float(dataset.policy.epsilon),
        share=float(amount_of(balance.spent) / amount_of(balance.account.budget)),
        now=_of_100(dataset, balance.spent),
        at_most=_of_100(dataset, balance.account.budget),
        rare=one_case_in(rare_chance(dataset.policy.delta)) if dataset.policy.delta else "",
    )


def _epsilon(dataset: ServedDataset, loss: Spend) -> float:
    return epsilon_of(loss, dataset.policy) if amount_of(loss) else 0.0


def _of_100(dataset: ServedDataset, loss: Spend) -> float:
    """What an even suspicion can rise to, of 100."""
    return 100 * posterior_of(loss, dataset.policy) if amount_of(loss) else 50.0
