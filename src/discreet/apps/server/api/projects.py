"""Projects: several accounts that share a budget."""

from typing import Any

from discreet.apps.server.api.fields import ApiField, FieldKind
from discreet.apps.server.api.route import OVERSEERS, ApiCall, ApiReply, ApiRoute
from discreet.model.exact import positive_epsilon
from discreet.service.owner_rights import check_project, visible_projects
from discreet.service.user_account import Project, Role


def projects(call: ApiCall) -> ApiReply:
    found = visible_projects(call.service.accounts, call.account)
    return ApiReply(content={"projects": [_project_json(*each) for each in found.items()]})


def set_project(call: ApiCall) -> ApiReply:
    name = call.body["name"]
    people = call.service.accounts
    check_project(people, call.account, name)
    most = positive_epsilon(call.body["most_epsilon"], "most_epsilon")
    people.set_project(Project(name=name, most_epsilon=most), by=call.account.name)
    found = {each.name: (each, members) for each, members in visible_projects(people, call.account).items()}
    return ApiReply(content=_project_json(*found[name]))


def _project_json(project: Project, members: list[str]) -> dict[str, Any]:
    return {"name": project.name, "most_epsilon": float(project.most_epsilon), "members": members}


ROUTES = (
    ApiRoute(
        method="GET",
        path="/projects",
        action=projects,
        summary="Projects, their budgets, and who is in them",
        answer="Projects",
        roles=OVERSEERS,
    ),
    ApiRoute(
        method="POST",
        path="/projects",
        action=set_project,
        summary="Add a project, or change its budget",
        answer="Project",
        roles=(Role.OWNER,),
        fields=(
            ApiField(
                name="name", kind=FieldKind.TEXT, required=True, longest=64, about="The name of the project."
            ),
            ApiField(
                name="most_epsilon",
                kind=FieldKind.NUMBER,
                required=True,
                about="The most that all of them together may ever spend, of each dataset.",
            ),
        ),
        problems=(404,),
    ),
)
