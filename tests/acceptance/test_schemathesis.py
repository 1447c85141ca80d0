"""The served OpenAPI document is true: whatever it allows is answered, and answered as it says, to everybody."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig

from domain.callers import Role
from tests.acceptance.test_matrix import table
from tests.support.postgres import TestServer
from tests.support.service import Service, service

EXAMPLES = [1, pytest.param(4, marks=(pytest.mark.thorough, pytest.mark.timeout(900)))]
"""How many generated calls of each operation, and as many that it does not allow; each is made by everybody."""

_WRONG = schemathesis.GenerationMode.NEGATIVE
"""Calls that are not allowed: the tests of each operation have the worst of them, and are run each time."""

NOT_CALLED = {"/api/stream"}
"""Never ends."""


@dataclass(frozen=True)
class Api:
    """A service in the test server's event loop, and requests of every status to find in it."""

    postgres: TestServer
    service: Service
    ids: tuple[str, ...]
    clients: dict[str, httpx.AsyncClient]
    """By the names that these callers have in the matrix; none but administrator and agent has a part in a request."""

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.postgres.run(work)

    def sign_in(self) -> None:
        """Have an administrator's browser signed in anew: the calls before may have ended its session."""
        self.run(self._sign_in())

    async def _sign_in(self) -> None:
        for client in self.clients.values():
            client.cookies.clear()
        link = await self.service.app.sign_in.make_link("admin", by=None)
        browser = self.clients["session"]
        opened = await browser.post("/api/session/link", json={"token": link.token})
        assert opened.status_code == 201, opened.text
        browser.headers["X-CSRF-Token"] = opened.json()["csrf_token"]

    def send(self, client: httpx.AsyncClient, case: schemathesis.Case) -> httpx.Response:
        """Make the call that a generated case describes."""
        sent = requests.Request(**case.as_transport_kwargs(base_url="http://handraise.test")).prepare()
        own = ("authorization", "cookie", "x-csrf-token")
        headers = {name: value for name, value in sent.headers.items() if name.lower() not in own}
        assert sent.method is not None
        assert sent.url is not None
        return self.run(client.request(sent.method, sent.url, headers=headers, content=sent.body))


@pytest.fixture(scope="module")
def api(postgres: TestServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The service that all generated calls go to."""
    stack = AsyncExitStack()
    database = postgres.run(postgres.create_database(template))
    made = postgres.run(stack.enter_async_context(service(database, tmp_path_factory.mktemp("service"))))
    yield Api(postgres, made, postgres.run(populated(made)), postgres.run(everybody(made)))
    postgres.run(stack.aclose())


async def everybody(made: Service) -> dict[str, httpx.AsyncClient]:
    """A client of each kind."""
    return {
        "administrator": made.admin,
        "auditor": await made.person("auditor", Role.AUDITOR),
        "other person": await made.person("other"),
        "the agent": made.agent,
        "nobody": made.nobody,
        "session": await made.client(None),
    }


async def populated(made: Service) -> tuple[str, ...]:
    """Requests of every kind and status; their ids and unique_ids."""
    form = {"type": "object", "properties": {"a": {"type": "integer"}}}
    names = []
    for kind, body in enumerate(
        ({}, {"options": ["a", "b"]}, {"response_schema": form}, {"request_type": "approval"}, {"secret": True})
    ):
        for status in ("open", "answered", "cancelled", "erased"):
            asked = await made.ask(unique_id=f"{status}-{kind}", **body)
            path = f"/api/requests/{asked['id']}"
            if status in ("answered", "erased"):
                answer = {"data": {"a": 1}} if "response_schema" in body else {"text": "yes" if kind == 3 else "a"}
                assert (await made.admin.post(f"{path}/respond", json=answer)).status_code == 200
            if status == "cancelled":
                await made.agent.post(f"{path}/cancel")
            if status == "erased":
                await made.admin.post(f"{path}/erase")
            names += [asked["id"], asked["unique_id"]]
    return tuple(names)


@pytest.fixture(scope="module")
def served_schema(api: Api) -> schemathesis.BaseSchema:
    """The document as it is served; half of the calls are about requests that are there, and waits are short."""
    document = api.run(api.service.nobody.get("/openapi.json")).json()
    document["paths"] = {path: item for path, item in document["paths"].items() if path not in NOT_CALLED}
    generation = GenerationConfig(with_security_parameters=False, deterministic=True)
    config = SchemathesisConfig(projects=ProjectsConfig(default=ProjectConfig(generation=generation)))
    schema = schemathesis.openapi.from_dict(document, config=config)
    numbers, names = count(), api.ids[1::2]

    @schema.hook
    def map_path_parameters(context: schemathesis.HookContext, path_parameters: Any) -> Any:
        number = next(numbers)
        if path_parameters and "name" in path_parameters and number % 2:
            path_parameters["name"] = ("human_feedback", "cancel_human_feedback")[number // 2 % 2]
        if path_parameters and "id" in path_parameters and "/requests/" in context.operation.path and number % 2:
            path_parameters["id"] = api.ids[number * 7 % len(api.ids)]
        return path_parameters

    @schema.hook
    def map_query(context: schemathesis.HookContext, query: Any) -> Any:
        if context.operation.path.endswith("/wait"):
            query = {"timeout_seconds": 0} | (query or {})
            given = query["timeout_seconds"]
            if isinstance(given, int | float) and 0.05 < given <= 600:
                query["timeout_seconds"] = 0.01
        return query

    @schema.hook
    def map_body(context: schemathesis.HookContext, body: Any) -> Any:
        number = next(numbers)
        if context.operation.path.endswith("/submit") and isinstance(body, dict) and number % 2:
            body = {**body, "unique_id": names[number * 7 % len(names)], "agent": None}
        if "/tools/" in context.operation.path and isinstance(body, dict):  # it would wait for half a minute
            body = {"message_for_user": "May I?", "unique_id": f"tool-{number}", **body, "expires_in_seconds": 0.01}
        return body

    return schema


load_all_checks()
CHECKED = CHECKS.get_by_names(
    ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
)


def check(api: Api, case: schemathesis.Case) -> None:
    """Have everybody make this call, and look at each answer."""
    statuses = table()[f"{case.operation.method.upper()} {case.operation.path}"][1]
    for who, client in api.clients.items():
        response = api.send(client, case)
        try:
            case.validate_response(response, checks=CHECKED)
            assert response.status_code >= 400 or statuses[who] < 400, "a success where the matrix says no"
        except BaseException as error:
            error.add_note(f"called by: {who}, answered {response.status_code}")
            raise


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(mode, id=mode.value, marks=pytest.mark.thorough if mode is _WRONG else ())
        for mode in schemathesis.GenerationMode
    ],
)
def test_everybody_is_answered_as_documented(
    api: Api,
    served_schema: schemathesis.BaseSchema,
    subtests: pytest.Subtests,
    mode: schemathesis.GenerationMode,
    examples: int,
) -> None:
    """Never a failure of the server, only documented statuses and bodies, and no success where the matrix says no."""
    operations = [found.ok() for found in served_schema.get_all_operations()]
    assert len(operations) > 60
    for operation in operations:

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def is_answered_as_documented(case: schemathesis.Case) -> None:
            check(api, case)

        api.sign_in()
        # A call that takes nothing has nothing that it does not allow.
        nothing = Unsatisfiable if mode is schemathesis.GenerationMode.NEGATIVE else ()
        with subtests.test(f"{operation.label}, {mode.value}"), suppress(nothing):
            is_answered_as_documented()


def test_the_matrix_says_no_to_some() -> None:
    """What the calls are held against is not empty: for each of these callers there is much that is refused."""
    for who in ("administrator", "auditor", "other person", "the agent", "nobody", "session"):
        refused = [operation for operation, (_, cells) in table().items() if cells[who] >= 400]
        assert len(refused) >= 3, who
