"""What answers look like, as JSON JsonSchema."""

from typing import Any

from discreet.service.approvals import Status
from discreet.service.user_account import Role

JsonSchema = dict[str, Any]

TEXT: JsonSchema = {"type": "string"}
NUMBER: JsonSchema = {"type": "number"}
WHOLE: JsonSchema = {"type": "integer"}
FLAG: JsonSchema = {"type": "boolean"}
TIME: JsonSchema = {"type": "string", "format": "date-time"}
ANY_OBJECT: JsonSchema = {"type": "object"}


def listed(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items}


def optional(schema: JsonSchema) -> JsonSchema:
    return {**schema, "type": [schema["type"], "null"]}


def record_of(**properties: JsonSchema) -> JsonSchema:
    """An object with all of these, and nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def named(name: str) -> JsonSchema:
    return {"$ref": f"#/components/schemas/{name}"}


_ROWS = listed(ANY_OBJECT)
_NUMBERS: JsonSchema = {"type": "object", "additionalProperties": NUMBER}
_KEY: JsonSchema = {"type": ["string", "integer", "number", "boolean"]}
_COLUMN = record_of(
    name=TEXT,
    type=TEXT,
    bounds=optional(listed({"type": ["number", "string"]})),
    keys=optional(listed({"type": ["string", "integer", "boolean"]})),
    unit=optional(NUMBER),
)
_TABLE: JsonSchema = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "public": FLAG,
        "person": TEXT,
        "unique": FLAG,
        "max_rows": optional(WHOLE),
        "max_groups": optional(WHOLE),
        "limits": {"type": "string", "enum": ["facts", "choices"]},
        "columns": listed(_COLUMN),
    },
    "required": ["name", "public", "columns"],
    "additionalProperties": False,
}
_ACCOUNT = record_of(
    name=TEXT,
    role={"type": "string", "enum": [role.value for role in Role]},
    datasets=listed(TEXT),
    project=TEXT,
    identity=TEXT,
    most_epsilon=optional(NUMBER),
    default_epsilon=optional(NUMBER),
    approval_above=optional(NUMBER),
    created=TIME,
    revoked=optional(TIME),
)
_PROJECT = record_of(name=TEXT, most_epsilon=NUMBER, members=listed(TEXT))
_APPROVAL = record_of(
    id=TEXT,
    account=TEXT,
    dataset=TEXT,
    sql=TEXT,
    terms=named("Terms"),
    purpose=TEXT,
    epsilon=NUMBER,
    status={"type": "string", "enum": [status.value for status in Status]},
    asked=TIME,
    decided=optional(TIME),
    decided_by=optional(TEXT),
)
_EVENT = record_of(
    number=WHOLE, at=TIME, who=TEXT, action=TEXT, dataset=TEXT, details=optional(ANY_OBJECT), digest=TEXT
)
_ANSWER = record_of(
    columns=listed(TEXT),
    types={"type": "object", "additionalProperties": TEXT},
    measured=listed(TEXT),
    noise_measured=listed(TEXT),
    rows=_ROWS,
    intervals=_ROWS,
    noise_intervals=_ROWS,
    raw=_ROWS,
    confidence=NUMBER,
    charged=named("Loss"),
    left=named("Loss"),
    receipt=record_of(
        number=WHOLE,
        dataset=TEXT,
        version=WHOLE,
        price=named("Loss"),
        digest=TEXT,
        at=TIME,
        repeated=FLAG,
        dearer=FLAG,
        cached=FLAG,
    ),
    notes=listed(TEXT),
    ends=ANY_OBJECT,
    infinite=ANY_OBJECT,
)

_REPORT = record_of(
    charged=named("Loss"),
    left=named("Loss"),
    receipt=_ANSWER["properties"]["receipt"],
    questions=listed(record_of(title=TEXT, sql=TEXT, answer=named("Answer"))),
)

SCHEMAS: dict[str, JsonSchema] = {
    "Problem": {
        "type": "object",
        "description": "RFC 9457, with what to do about it.",
        "properties": {
            "type": TEXT,
            "title": TEXT,
            "status": WHOLE,
            "detail": TEXT,
            "remedy": TEXT,
            "approval": {"type": "string", "description": "The request that waits for the owner."},
        },
        "required": ["type", "title", "status", "detail", "remedy"],
        "additionalProperties": False,
    },
    "Loss": {
        "type": "object",
        "description": "epsilon; or rho and delta, for a dataset with a δ.",
        "properties": {"epsilon": NUMBER, "rho": NUMBER, "delta": NUMBER},
        "additionalProperties": False,
    },
    "Terms": {
        "type": "object",
        "properties": dict.fromkeys(("epsilon", "rho", "within", "confidence"), NUMBER),
        "additionalProperties": False,
    },
    "Answer": _ANSWER
    | {"properties": _ANSWER["properties"] | {"model": named("Model"), "budget": named("Loss")}},
    "Report": _REPORT | {"properties": _REPORT["properties"] | {"budget": named("Loss")}},
    "AnswerOrReport": {"oneOf": [named("Answer"), named("Report")]},
    "Model": record_of(
        kind=TEXT,
        settings=ANY_OBJECT,
        columns=listed(record_of(name=TEXT, type=optional(TEXT), values=optional(listed(_KEY)), first=WHOLE)),
        state=ANY_OBJECT,
    ),
    "SynthesisExplanation": record_of(
        loss=TEXT,
        cost=named("Loss"),
        epsilon=NUMBER,
        share=NUMBER,
        cells=WHOLE,
        form=TEXT,
        stages=listed(record_of(columns=WHOLE, tables=WHOLE, error=NUMBER, moved=_NUMBERS)),
        questions=WHOLE,
        question_error=NUMBER,
        warning=TEXT,
    ),
    "FitExplanation": record_of(
        loss=TEXT,
        cost=named("Loss"),
        epsilon=NUMBER,
        share=NUMBER,
        model=TEXT,
        features=listed(TEXT),
        target=TEXT,
        form=TEXT,
        noise=_NUMBERS,
        rows_needed=WHOLE,
    ),
    "Explanation": record_of(
        cost=named("Loss"),
        epsilon=NUMBER,
        share_of_budget=NUMBER,
        questions_left=optional(WHOLE),
        groups=optional(WHOLE),
        noise=TEXT,
        weights=TEXT,
        shares=ANY_OBJECT,
        confidence=NUMBER,
        errors=listed(record_of(measure=TEXT, each=NUMBER, all=optional(NUMBER), of=TEXT)),
        private_groups=optional(ANY_OBJECT),
        posterior_of_even_odds=NUMBER,
        posterior_but_for_a_chance_of=NUMBER,
        alternatives=listed(TEXT),
        notes=listed(TEXT),
        way=TEXT,
    ),
    "ReportExplanation": record_of(
        questions=listed(record_of(title=TEXT, sql=TEXT, explanation=named("Explanation")))
    ),
    "Names": record_of(datasets=listed(TEXT)),
    "Dataset": record_of(
        name=TEXT,
        neighbours=TEXT,
        epsilon=NUMBER,
        delta=NUMBER,
        budget=named("Loss"),
        per_analyst_epsilon=NUMBER,
        per_question_epsilon=NUMBER,
        default_price=optional(NUMBER),
        min_people=WHOLE,
        purpose_required=FLAG,
        tables=listed(_TABLE),
        left=named("Loss"),
    ),
    "Budget": record_of(
        dataset=TEXT,
        version=WHOLE,
        budget=named("Loss"),
        spent=named("Loss"),
        left=named("Loss"),
        left_for_you=named("Loss"),
        analysts={"type": "object", "additionalProperties": named("Loss")},
    ),
    "History": record_of(
        questions=listed(
            record_of(
                id=TEXT, dataset=TEXT, sql=TEXT, terms=named("Terms"), asked=TIME, receipt=optional(WHOLE)
            )
        )
    ),
    "Verified": record_of(holds=FLAG, entries=WHOLE),
    "Account": _ACCOUNT,
    "Accounts": record_of(accounts=listed(named("Account"))),
    "NewToken": record_of(account=named("Account"), token=TEXT),
    "Project": _PROJECT,
    "Projects": record_of(projects=listed(named("Project"))),
    "Approval": _APPROVAL,
    "Approvals": record_of(approvals=listed(named("Approval"))),
    "Log": record_of(events=listed(_EVENT), next=optional(WHOLE)),
}
