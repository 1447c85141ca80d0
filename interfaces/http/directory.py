"""The directory, over HTTP: people, lists, agents, agent types, categories, request types; oneself; all at once."""

# No postponed annotations here: each collection has its own models, and FastAPI reads them from the signatures.
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel

from application.directory import DirectoryService
from application.ports import (
    AgentEntry,
    AgentTypeEntry,
    CategoryEntry,
    EventStore,
    ListEntry,
    RequestTypeEntry,
    UserEntry,
)
from application.sign_in import SignIn
from domain.callers import PersonCaller
from domain.errors import FieldError, Invalid
from interfaces.http import directory_models as models
from interfaces.http.callers import Authenticate, authenticated_route
from interfaces.http.json_bodies import Json
from interfaces.http.models import Body, Written
from interfaces.http.reading import Cursor, Limit, MinPosition, Reads, encode_cursor, other_list, place_in
from interfaces.http.representations import Names, Representations
from interfaces.http.requests import By, refusals

EntryId = Annotated[str, Path(alias="id", max_length=64, description="The readable id.")]

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Collection:
    """One kind of entry: where it is served, how it is written, read and shown."""

    path: str
    kind: str
    what: str
    new: type[Body]
    patch: type[Body]
    page: type[BaseModel]
    read: Callable[..., Awaitable[Sequence[Any]]]
    ids: Callable[[Any], Iterable[UUID | None]]
    show: Callable[[Any, Names], dict[str, Any]]


def collections(directory: DirectoryService) -> tuple[Collection, ...]:
    """All kinds, in the order in which a document has them."""
    return (
        Collection(
            *("users", "user", "a person", models.NewUser, models.PatchUser, models.UserPage),
            *(directory.users, _ids_of_user, show_user),
        ),
        Collection(
            *("lists", "list", "a list", models.NewList, models.PatchList, models.ListPage),
            *(directory.lists, lambda entry: entry.members, _show_list),
        ),
        Collection(
            *("agents", "agent", "an agent", models.NewAgent, models.PatchAgent, models.AgentPage),
            *(directory.agents, lambda entry: (entry.owner, entry.agent_type, entry.category), _show_agent),
        ),
        Collection(
            *("agent-types", "agent_type", "an agent type"),
            *(models.NewAgentType, models.PatchAgentType, models.AgentTypePage),
            *(directory.agent_types, lambda entry: (), _show_agent_type),
        ),
        Collection(
            *("categories", "category", "a category"),
            *(models.NewCategory, models.PatchCategory, models.CategoryPage),
            *(directory.categories, lambda entry: (entry.parent,), _show_category),
        ),
        Collection(
            *("request-types", "request_type", "a request type"),
            *(models.NewRequestType, models.PatchRequestType, models.RequestTypePage),
            *(directory.request_types, lambda entry: (), _show_request_type),
        ),
    )


def directory_routes(
    directory: DirectoryService,
    sign_in: SignIn,
    store: EventStore,
    represent: Representations,
    authenticate: Authenticate,
    reads: Reads,
) -> APIRouter:
    """`/api/users` and the other collections, `/api/me`, `/api/directory`."""
    router = APIRouter(prefix="/api", tags=["directory"], route_class=authenticated_route(authenticate))
    pages = Pages(reads, store)
    kinds = collections(directory)
    for collection in kinds:
        _add_collection(router, collection, directory, represent, pages)

    @router.post(
        "/users/{id}/erase",
        operation_id="erase_user",
        response_model=Written,
        summary="Make name and addresses of a removed person unreadable for good",
        responses=refusals(403, 404, 409, 422),
    )
    async def erase_person(id: EntryId, by: By) -> Json:
        return Json({"position": await directory.erase_person(id, by=by)})

    @router.get("/me", response_model=models.MeView, summary="Who one is", responses=refusals(403, 404, 422))
    async def me(by: By, min_position: MinPosition = None) -> Json:
        await reads.check(min_position)
        position = await store.head()
        entry = await directory.me(by)
        return Json(show_user(entry, await represent.names(_ids_of_user(entry))) | {"position": position})

    @router.patch(
        "/me",
        response_model=Written,
        summary="Change one's own time zone, quiet hours, absence, Slack id or password",
        description="With another password all other sessions end.",
        responses=refusals(403, 404, 409, 422, 429),
    )
    async def change_me(body: models.PatchMe, by: By) -> Json:
        fields = _given(body)
        password, current = fields.pop("password", None), fields.pop("current_password", None)
        if password is None:
            return Json({"position": await directory.change_self(fields, by=by)})
        if fields:  # of two changes one could fail
            raise Invalid([FieldError(name, "cannot be changed together with the password") for name in fields])
        return Json({"position": await sign_in.set_password(password, by=by, current=current)})

    @router.get(
        "/directory",
        response_model=models.DirectoryView,
        summary="The whole directory but for keys, as one document",
        responses=refusals(403, 422),
    )
    async def export(by: By, min_position: MinPosition = None) -> Json:
        await reads.check(min_position)
        document: dict[str, Any] = {}
        for collection in kinds:
            items: list[dict[str, Any]] = []
            after = ""
            while entries := await collection.read(by=by, after=after, limit=_PAGE):
                names = await represent.names(id for entry in entries for id in collection.ids(entry))
                items += [collection.show(entry, names) for entry in entries]
                after = entries[-1].readable_id
            document[collection.path.replace("-", "_")] = items
        return Json(document)

    @router.put(
        "/directory",
        response_model=models.ImportedView,
        summary="Add and change all that a document says, or nothing of it",
        responses=refusals(403, 409, 413, 422),
    )
    async def import_(body: models.DirectoryDocument, by: By) -> Json:
        done = await directory.import_document(_given(body), by=by)
        return Json({"added": done.added, "changed": done.changed, "position": done.position})

    return router


class Pages:
    """Pages of the directory: never behind, in the order of the readable ids."""

    def __init__(self, reads: Reads, store: EventStore) -> None:
        self._reads = reads
        self._store = store

    async def begin(self, kind: str, cursor: list[str] | None, min_position: int | None) -> tuple[str, int]:
        """After which id a page begins, and the position that it shows at least."""
        await self._reads.check(min_position)
        place = place_in(kind, cursor)
        if place is not None and len(place) != 1:
            raise other_list()
        return "" if place is None else place[0], await self._store.head()

    def page(self, kind: str, entries: Sequence[Any], limit: int, items: list[dict[str, Any]], position: int) -> Json:
        """The page; of one entry more than the limit it is known that there is another."""
        last = [entries[limit - 1].readable_id] if len(entries) > limit else None
        return Json({"items": items[:limit], "next_cursor": encode_cursor(kind, last), "position": position})


def _add_collection(
    router: APIRouter,
    collection: Collection,
    directory: DirectoryService,
    represent: Representations,
    pages: Pages,
) -> None:
    path, kind, what = f"/{collection.path}", collection.kind, collection.what
    plural = collection.path.replace("-", " ").replace("users", "people")

    @router.get(
        path,
        operation_id=f"list_{collection.kind}",
        response_model=collection.page,
        summary=f"List {plural}",
        responses=refusals(403, 422),
    )
    async def page(by: By, limit: Limit = 50, cursor: Cursor = None, min_position: MinPosition = None) -> Json:
        after, position = await pages.begin(collection.path, cursor, min_position)
        entries = await collection.read(by=by, after=after, limit=limit + 1)
        names = await represent.names(id for entry in entries for id in collection.ids(entry))
        items = [_seen_by(by, kind, collection.show(entry, names)) for entry in entries]
        return pages.page(collection.path, entries, limit, items, position)

    @router.post(
        path,
        operation_id=f"add_{collection.kind}",
        status_code=201,
        response_model=models.CreatedEntry,
        summary=f"Add {what}",
        responses=refusals(403, 409, 422),
    )
    async def add(body: collection.new, by: By) -> Json:  # pyright: ignore[reportInvalidTypeForm]
        fields = _given(body)
        id, position = await directory.add(kind, fields, by=by, id=fields.pop("id", None))
        return Json({"id": id, "position": position}, status_code=201)

    @router.patch(
        f"{path}/{{id}}",
        operation_id=f"change_{collection.kind}",
        response_model=Written,
        summary=f"Change {what}; what is not given stays",
        responses=refusals(403, 404, 409, 422),
    )
    async def change(id: EntryId, body: collection.patch, by: By) -> Json:  # pyright: ignore[reportInvalidTypeForm]
        return Json({"position": await directory.change(kind, id, _given(body), by=by)})

    @router.delete(
        f"{path}/{{id}}",
        operation_id=f"remove_{collection.kind}",
        response_model=Written,
        summary=f"Remove {what} for good",
        responses=refusals(403, 404, 409, 422),
    )
    async def remove(id: EntryId, by: By) -> Json:
        return Json({"position": await directory.remove(kind, id, by=by)})


def _given(body: BaseModel) -> dict[str, Any]:
    """The fields that were sent, under the names they were sent by."""
    return body.model_dump(exclude_unset=True, by_alias=True)


def _seen_by(by: Any, kind: str, item: dict[str, Any]) -> dict[str, Any]:
    """Of other people, members see who there is and no more."""
    if kind == "user" and not (isinstance(by, PersonCaller) and by.sees_everything):
        return {"id": item["id"], "name": item["name"]}
    return item


def _ids_of_user(user: UserEntry) -> list[UUID]:
    stand_in = (user.out_of_office or {}).get("stand_in")
    return [] if stand_in is None else [UUID(stand_in)]


def show_user(user: UserEntry, names: Names) -> dict[str, Any]:
    """A person, in full."""
    away = user.out_of_office
    return {
        "id": user.readable_id,
        "name": user.name,
        "email": user.email,
        "role": user.role,
        "active": user.active,
        "slack_user_id": user.slack_user_id,
        "time_zone": user.time_zone,
        "quiet_hours": user.quiet_hours,
        "out_of_office": None
        if away is None
        else {"from": away["from"], "to": away["to"], "stand_in": names.of(away["stand_in"])},
    }


def _show_list(entry: ListEntry, names: Names) -> dict[str, Any]:
    members = [names.of(member) for member in entry.members]
    return {"id": entry.readable_id, "name": entry.name, "members": members}


def _show_agent(entry: AgentEntry, names: Names) -> dict[str, Any]:
    return {
        "id": entry.readable_id,
        "name": entry.name,
        "owner": names.of(entry.owner),
        "agent_type": names.of(entry.agent_type),
        "category": names.of(entry.category),
    }


def _show_agent_type(entry: AgentTypeEntry, names: Names) -> dict[str, Any]:
    return {"id": entry.readable_id, "name": entry.name, "assignment_strategy": entry.assignment_strategy}


def _show_category(entry: CategoryEntry, names: Names) -> dict[str, Any]:
    return {
        "id": entry.readable_id,
        "name": entry.name,
        "parent": names.of(entry.parent),
        "assignment_strategy": entry.assignment_strategy,
    }


def _show_request_type(entry: RequestTypeEntry, names: Names) -> dict[str, Any]:
    return {
        "id": entry.readable_id,
        "name": entry.name,
        "default_assignment_strategy": entry.default_assignment_strategy,
        "default_priority": entry.default_priority,
        "default_expiration_minutes": entry.default_expiration_minutes,
        "no_self_answer": entry.no_self_answer,
        "erase_after_days": entry.erase_after_days,
    }
