"""The API as OpenAPI 3.1 describes it, from the table that its routes are made of."""

import re
from collections.abc import Sequence
from typing import Any

from discreet import __version__
from discreet.apps.server.api.fields import ApiField
from discreet.apps.server.api.route import ApiRoute
from discreet.apps.server.api.schemas import SCHEMAS, named
from discreet.apps.server.api.table import API_ROUTES, PREFIX
from discreet.apps.server.problems import MEDIA_TYPE

_USUAL_PROBLEMS = (400, 401, 403, 500, 503)
_WITH_BODY = (408, 413, 415)
_MEANINGS = {
    400: "The request is not as it should be",
    401: "No token, or one that does not work",
    403: "The role of this account may not do this",
    404: "Not there, or somebody else's",
    408: "The body took too long to arrive",
    409: "The budget does not allow it, or the owner has to approve it first. Nothing was spent",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "The question has no private answer as it stands. Nothing was spent",
    500: "It failed. What was charged stays charged",
    501: "Something is not installed where the service runs",
    503: "The ledger is busy or closed, or there is too much to do",
    504: "It took too long. What was charged stays charged",
}


def openapi_document() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in API_ROUTES:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "discreet",
            "version": __version__,
            "description": "Ask questions about people's data, and learn nothing about any one of them.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: ApiRoute) -> dict[str, Any]:
    has_body = route.method == "POST"
    statuses = {*_USUAL_PROBLEMS, *route.problems, *(_WITH_BODY if has_body else ())}
    found: dict[str, Any] = {
        "operationId": route.action.__name__,
        "summary": route.summary,
        "description": f"For: {', '.join(role.value for role in route.roles)}.",
        "parameters": [*_path_parameters(route), *map(_query_parameter, route.query)],
        "responses": {str(route.status): _answer(route)}
        | {str(status): _problem(status) for status in sorted(statuses)},
    }
    if has_body:
        found["requestBody"] = {
            "required": any(field.required for field in route.fields),
            "content": {"application/json": {"schema": _body_schema(route.fields)}},
        }
    return found


def _path_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", route.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameter(field: ApiField) -> dict[str, Any]:
    return {"name": field.name, "in": "query", "required": field.required, "schema": field.schema()}


def _body_schema(fields: Sequence[ApiField]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field.name: _or_null(field) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def _or_null(field: ApiField) -> dict[str, Any]:
    """A value that may be left out may also be null."""
    schema = field.schema()
    if field.required:
        return schema
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return schema | {"type": [*types, "null"]}


def _answer(route: ApiRoute) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": named(route.answer)}}
    content |= {media: _other_content(media) for media in route.other_media}
    return {"description": route.summary, "content": content}


def _other_content(media: str) -> dict[str, Any]:
    """Bytes have no schema."""
    return {"schema": {"type": "string"}} if media.startswith("text/") else {}


def _problem(status: int) -> dict[str, Any]:
    return {"description": _MEANINGS[status], "content": {MEDIA_TYPE: {"schema": named("Problem")}}}
