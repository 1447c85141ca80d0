"""What routing adds to a create: turns over a list of a thousand, in a large directory, against no strategy at all."""

from __future__ import annotations

from typing import Any

from tests.bench.database import Databases
from tests.bench.load import BadResponse, ask, build, rate
from tests.bench.report import Figure
from tests.bench.rounds import by_turns
from tests.bench.servers import BODY, OurServer, our_server
from tests.bench.sizes import Sizes

TARGET = 1.15

_MEMBERS_OF_OTHERS = 10
_TURNS = {"type": "List", "listID": "everybody", "listStrategy": "RoundRobin"}


async def run(databases: Databases, sizes: Sizes) -> list[Figure]:
    """The time of a create with `sizes.at_once` under way, through one list and without a strategy."""
    async with our_server(databases) as server:
        await _fill(server, sizes)
        plain = server.create()
        routed = build("POST", "/api/requests", BODY | {"assignment_strategy": _TURNS}, server.agent_key)

        async def milliseconds(request: bytes, seconds: float = sizes.seconds) -> float:
            per_second = await rate(
                server.port, lambda: request, connections=sizes.at_once, seconds=seconds, status=201
            )
            return 1000 / per_second

        for request in (routed, plain):
            await milliseconds(request, sizes.seconds / 4)
        figure, floor = await by_turns(lambda: milliseconds(routed), lambda: milliseconds(plain), sizes.rounds)
    what = (
        f"a create in turns over {sizes.members:,} members, against one without a strategy: "
        f"{sizes.people:,} users, {sizes.lists:,} lists, {sizes.at_once} connections"
    )
    return [Figure("routing", what, "ms/create", figure, floor, TARGET, "at most")]


async def _fill(server: OurServer, sizes: Sizes) -> None:
    people = [f"person-{number}" for number in range(sizes.people)]
    lists: list[dict[str, Any]] = [{"id": "everybody", "name": "Everybody", "members": people[: sizes.members]}]
    for number in range(sizes.lists - 1):
        members = [people[(number * 7 + place) % len(people)] for place in range(_MEMBERS_OF_OTHERS)]
        lists.append({"id": f"list-{number}", "name": f"List {number}", "members": sorted(set(members))})
    document = {"users": [{"id": id, "name": id.title()} for id in people], "lists": lists}
    response = await ask(server.port, build("PUT", "/api/directory", document, server.admin_key))
    if response.status != 200:
        raise BadResponse(f"the directory was not taken: {response.status} {response.body[:300]!r}")
