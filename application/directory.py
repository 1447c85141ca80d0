"""The use cases of the directory: who and what there is, changed by administrators, one by one or as one document.

What a change needs of the rest (a member who exists, a tree without cycles, one administrator left) is looked at
while nobody else can write, so that two replicas cannot each do half of something wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID

from application.directory_fields import KINDS, Read, Reference, defaults_of, read_fields
from application.ports import (
    AgentEntry,
    AgentTypeEntry,
    CategoryEntry,
    Clock,
    Directory,
    EventStore,
    ListEntry,
    RequestTypeEntry,
    UserEntry,
    VersionConflict,
)
from application.retries import until_saved
from domain.callers import SYSTEM, Caller, PersonCaller, Role
from domain.categories import ROOT, SEEDED, Category
from domain.directory import DirectoryEntry, check_readable_id, directory_id, is_reserved, readable_id_from
from domain.errors import AlreadyExists, Conflict, FieldError, Invalid, NotAllowed, NotFound, Unavailable
from domain.lists import MemberList
from domain.request_types import REQUEST_TYPES, RequestType
from domain.text import MAX_ERRORS
from domain.users import User

OWN_FIELDS = ("time_zone", "quiet_hours", "out_of_office", "slack_user_id")
"""What everybody may change about themselves."""

_MAX_ENTRIES = 50_000
_LOADED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Imported:
    """What a document changed; its other entries said what held already."""

    added: int
    changed: int
    position: int


class DirectoryService:
    """Changes to the directory, and looking into it."""

    def __init__(self, store: EventStore, directory: Directory, clock: Clock) -> None:
        self._store = store
        self._directory = directory
        self._clock = clock

    # -- changing

    async def add(
        self, kind: str, fields: Mapping[str, Any], *, by: Caller | None, id: str | None = None
    ) -> tuple[str, int]:
        """Add an entry; returns the readable id and the position. `by` None is the system itself.

        Raises `NotAllowed`, `Invalid` naming every failing field, or `AlreadyExists` for an id that is or was
        another's.
        """
        actor = check_administrator(by)
        read = _read(kind, defaults_of(kind) | read_fields(kind, {}).values, {"name": None} | dict(fields))
        name = read.values["name"]

        async def save(readable_id: str) -> int:
            entry = KINDS[kind].add(readable_id, actor=actor, now=self._clock.now(), **read.values)
            return await self._save([entry], read.references)

        return await self.add_named(kind, id, name, save)

    async def add_named(
        self, kind: str, given: str | None, name: str, save: Callable[[str], Awaitable[int]]
    ) -> tuple[str, int]:
        """Save under the given id, or under the first free one made from the name. Raises `AlreadyExists`."""
        if given is not None:
            try:
                return given, await save(given)
            except VersionConflict:
                what = kind.replace("_", " ")
                raise AlreadyExists(f"{what} id {given!r} is in use or was; ids are never given again") from None
        stem = readable_id_from(name) or kind
        for number in range(1, 1000):
            readable_id = stem if number == 1 else f"{stem}-{number}"
            if is_reserved(kind, readable_id):
                continue
            try:
                return readable_id, await save(readable_id)
            except VersionConflict:
                continue
        raise Unavailable(f"no free id could be made from {name!r}: give one as id")

    async def change(self, kind: str, readable_id: str, fields: Mapping[str, Any], *, by: Caller | None) -> int:
        """Change the fields given; returns the position.

        Raises `NotAllowed`, `NotFound`, `Invalid`, or `Conflict` where nobody would be left to administer.
        """
        actor = check_administrator(by)
        return await self._change(kind, readable_id, fields, actor)

    async def change_self(self, fields: Mapping[str, Any], *, by: Caller) -> int:
        """Change what everybody may about themselves; returns the position. Raises `NotAllowed` or `Invalid`."""
        me = await self.me(by)
        if not_own := [name for name in fields if name not in OWN_FIELDS]:
            raise Invalid([FieldError(name, f"only {', '.join(OWN_FIELDS)} can be changed here") for name in not_own])
        return await self._change("user", me.readable_id, fields, by.actor)

    async def _change(self, kind: str, readable_id: str, fields: Mapping[str, Any], actor: str) -> int:
        read = _read(kind, {}, _but_for_the_root(kind, readable_id, fields))

        async def attempt() -> int:
            entry = await self._present(kind, readable_id)
            values, references = await self._differing(entry, read)
            entry.change(actor=actor, now=self._clock.now(), **values)
            return await self._save([entry], references) or await self._store.head()

        return await until_saved(attempt, f"{kind} {readable_id!r}")

    async def remove(self, kind: str, readable_id: str, *, by: Caller | None) -> int:
        """Take an entry out for good; returns the position. A removed person's open requests move on.

        Raises `NotAllowed`, `NotFound`, or `Conflict` naming what still needs it.
        """
        actor = check_administrator(by)
        if kind == RequestType.KIND and readable_id in REQUEST_TYPES:
            raise Conflict(f"request type {readable_id!r} comes with the server and cannot be removed")
        if kind == Category.KIND and readable_id == ROOT:
            raise Conflict(f"category {ROOT!r} is the root of all others and cannot be removed")

        async def attempt() -> int:
            entry = await self._present(kind, readable_id)
            entry.remove(actor=actor, now=self._clock.now())
            return await self._save([entry], ())

        return await until_saved(attempt, f"{kind} {readable_id!r}")

    async def erase_person(self, readable_id: str, *, by: Caller | None) -> int:
        """Make name and addresses of a removed person unreadable for good; returns the position.

        Raises `NotAllowed`, `NotFound`, or `Conflict` for somebody who was not removed.
        """
        actor = check_administrator(by)

        async def attempt() -> int:
            person = await self._store.entry(User, directory_id(User.KIND, readable_id))
            if person is None:
                raise NotFound(f"there is no user {readable_id!r}")
            person.erase(actor=actor, now=self._clock.now())
            return await self._store.save(person) or await self._store.head()

        return await until_saved(attempt, f"user {readable_id!r}")

    async def seed(self) -> None:
        """Have the request types and categories that every installation begins with, once and for all."""
        now = self._clock.now()
        entries: list[DirectoryEntry] = [
            RequestType.add(id, actor=SYSTEM, now=now, **(RequestType.defaults() | {"name": name}))
            for id, name in REQUEST_TYPES.items()
        ]
        for id, name in {ROOT: "All", **SEEDED}.items():
            parent = None if id == ROOT else directory_id(Category.KIND, ROOT)
            values = Category.defaults() | {"name": name, "parent": parent}
            entries.append(Category.add(id, actor=SYSTEM, now=now, **values))
        if directory_id(Category.KIND, ROOT) in await self._directory.present(entry.id for entry in entries):
            return
        try:
            await self._store.save(*entries)
        except VersionConflict:  # another replica has just done it
            return

    async def import_document(self, document: Mapping[str, Any], *, by: Caller) -> Imported:
        """Add and change what the document says, all of it or nothing; what it does not name stays as it is.

        Raises `NotAllowed`, `Invalid` naming every failing field, or `Conflict`.
        """
        actor = check_administrator(by)
        return await until_saved(partial(self._import, document, actor), "the directory")

    async def _import(self, document: Mapping[str, Any], actor: str) -> Imported:
        whole = Read()
        rows = list(_rows(document, whole))
        _refuse(whole.errors)
        places: dict[UUID, str] = {}
        entries: list[DirectoryEntry] = []
        added = 0
        for (at, kind, readable_id, fields), present in zip(rows, await self._all_present(rows), strict=True):
            if present is not None and present.removed:
                whole.refuse(f"{at}/id", f"{readable_id!r} was removed; ids are never given again")
                continue
            if present is None and "name" not in fields:
                whole.refuse(f"{at}/name", "is required")
                continue
            read = read_fields(kind, _but_for_the_root(kind, readable_id, fields), f"{at}/")
            whole.errors += read.errors
            if read.errors:
                continue
            if present is None:
                values = defaults_of(kind) | read.values
                present = KINDS[kind].add(readable_id, actor=actor, now=self._clock.now(), **values)
                whole.references += read.references
                added += 1
            else:
                values, references = await self._differing(present, read, f"{at}/")
                present.change(actor=actor, now=self._clock.now(), **values)
                whole.references += references
            if present.pending_events:
                entries.append(present)
                places[present.id] = f"{at}/"
        _refuse(whole.errors)
        position = await self._save(entries, whole.references, places) if entries else await self._store.head()
        return Imported(added, len(entries) - added, position)

    async def _all_present(self, rows: Sequence[tuple[str, str, str, Any]]) -> list[DirectoryEntry | None]:
        found: list[DirectoryEntry | None] = []
        for first in range(0, len(rows), _LOADED_AT_ONCE):
            found += await asyncio.gather(
                *(
                    self._store.entry(KINDS[kind], directory_id(kind, readable_id))
                    for _, kind, readable_id, _ in rows[first : first + _LOADED_AT_ONCE]
                )
            )
        return found

    async def _differing(
        self, entry: DirectoryEntry, read: Read, at: str = ""
    ) -> tuple[dict[str, Any], list[Reference]]:
        """What would change, and whom that names.

        What holds already may name people who were removed since; a list is shown without those, and stays as it is
        when it is given like that.
        """
        values = {name: value for name, value in read.values.items() if value != getattr(entry, name)}
        if isinstance(entry, MemberList) and "members" in values:
            there = await self._directory.present(entry.members)
            if values["members"] == [member for member in entry.members if member in there]:
                del values["members"]
        references = [
            reference for reference in read.references if reference.path.removeprefix(at).partition("/")[0] in values
        ]
        return values, references

    async def _present(self, kind: str, readable_id: str) -> DirectoryEntry:
        entry = await self._store.entry(KINDS[kind], directory_id(kind, readable_id))
        if entry is None or entry.removed:
            raise NotFound(f"there is no {kind.replace('_', ' ')} {readable_id!r}")
        return entry

    # -- what must hold when it is written

    async def _save(
        self,
        entries: Sequence[DirectoryEntry],
        references: Sequence[Reference],
        places: Mapping[UUID, str] | None = None,
    ) -> int:
        """Save them all, if all holds. `places` says where in a document each stands, for the paths of errors."""
        at = places or {}

        async def check() -> None:
            await self._check_references(entries, references)
            await self._check_tree([entry for entry in entries if isinstance(entry, Category)], at)
            people = [entry for entry in entries if isinstance(entry, User)]
            await self._check_contacts(people, at)
            await self._check_administrators(people)
            for entry in entries:
                if entry.removed and (uses := await self._directory.uses_of(entry.KIND, entry.id, entry.readable_id)):
                    what = entry.KIND.replace("_", " ")
                    raise Conflict(f"{what} {entry.readable_id!r} is still in use: {_some(uses)}")

        return await self._store.save(*entries, check=check)

    async def _check_references(self, entries: Iterable[DirectoryEntry], references: Sequence[Reference]) -> None:
        if not references:
            return
        here = {entry.id for entry in entries}
        present = here | await self._directory.present({reference.id for reference in references} - here)
        _refuse([reference.missing() for reference in references if reference.id not in present])

    async def _check_tree(self, categories: Sequence[Category], at: Mapping[UUID, str]) -> None:
        """No category may stand above itself."""
        if not categories:
            return
        parents = await self._directory.category_parents()
        parents.update({category.id: category.parent for category in categories})
        errors: list[FieldError] = []
        for category in categories:
            seen: set[UUID] = set()
            above = category.parent
            while above is not None and above not in seen:
                if above == category.id:
                    message = f"would put category {category.readable_id!r} above itself"
                    errors.append(FieldError(f"{at.get(category.id, '')}parent", message))
                    break
                seen.add(above)
                above = parents.get(above)
        _refuse(errors)

    async def _check_contacts(self, people: Sequence[User], at: Mapping[UUID, str]) -> None:
        """An address or Slack id says who somebody is: no two people have the same."""
        here = {person.id: person for person in people if not person.removed}
        if all(person.email is None and person.slack_user_id is None for person in here.values()):
            return
        for field in ("email", "slack_user_id"):
            first: dict[str, User] = {}
            for person in here.values():
                contact: str | None = getattr(person, field)
                if contact is None:
                    continue
                other = first.setdefault(contact.lower() if field == "email" else contact, person)
                if other is not person:
                    where = f"{at.get(person.id, '')}{field}"
                    raise AlreadyExists(f"{where}: user {other.readable_id!r} of the document has the same")
        same = await self._directory.same_contact(
            {id: (person.email, person.slack_user_id) for id, person in here.items()}
        )
        if same:
            id, other_id, field = same[0]
            names = await self._directory.readable_ids([other_id])
            name = names.get(other_id, str(other_id))
            raise AlreadyExists(f"{at.get(id, '')}{field}: user {name!r} has this {field} already")

    async def _check_administrators(self, people: Sequence[User]) -> None:
        """Somebody must be left who can undo things."""
        if not people:
            return
        now = await self._directory.administrators()
        here = {person.id for person in people}
        staying = now - here | {person.id for person in people if person.active and person.role == Role.ADMINISTRATOR}
        if now and not staying:
            raise Conflict("nobody would be left to administer: make somebody else an administrator first")

    # -- reading

    async def me(self, by: Caller) -> UserEntry:
        """The caller's own entry. Raises `NotAllowed` to agents."""
        if not isinstance(by, PersonCaller):
            raise NotAllowed("an agent is no person; only people have this")
        me = await self._directory.user(by.id)
        if me is None:
            raise NotFound("you are not in the directory any more")
        return me

    async def users(self, *, by: Caller, after: str, limit: int) -> list[UserEntry]:
        """People, in the order of their ids. Raises `NotAllowed` to agents."""
        if not isinstance(by, PersonCaller):
            raise NotAllowed("only people may list users")
        return await self._directory.users(after, limit)

    async def lists(self, *, by: Caller, after: str, limit: int) -> list[ListEntry]:
        """Lists, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        check_reader(by)
        return await self._directory.lists(after, limit)

    async def agents(self, *, by: Caller, after: str, limit: int) -> list[AgentEntry]:
        """Agents, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        check_reader(by)
        return await self._directory.agents(after, limit)

    async def agent_types(self, *, by: Caller, after: str, limit: int) -> list[AgentTypeEntry]:
        """Agent types, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        check_reader(by)
        return await self._directory.agent_types(after, limit)

    async def categories(self, *, by: Caller, after: str, limit: int) -> list[CategoryEntry]:
        """Categories, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        check_reader(by)
        return await self._directory.categories(after, limit)

    async def request_types(self, *, by: Caller, after: str, limit: int) -> list[RequestTypeEntry]:
        """Request types, in the order of their ids. Raises `NotAllowed` to all but administrators and auditors."""
        check_reader(by)
        return await self._directory.request_types(after, limit)


def _read(kind: str, defaults: Mapping[str, Any], fields: Mapping[str, Any]) -> Read:
    read = read_fields(kind, fields)
    _refuse(read.errors)
    read.values = {**defaults, **read.values}
    return read


def _rows(document: Mapping[str, Any], whole: Read) -> Iterable[tuple[str, str, str, dict[str, Any]]]:
    """(where, kind, readable id, fields) of every entry, in an order in which one may need those before it."""
    sections = {f"{kind}s".replace("categorys", "categories"): kind for kind in KINDS}
    for name in document.keys() - sections.keys():
        whole.refuse(name, f"is no part of a directory; there are {', '.join(sections)}")
    count = 0
    for section, kind in sections.items():
        found: object = document.get(section) or []
        if not isinstance(found, list):
            whole.refuse(section, "must be a list")
            continue
        seen: set[str] = set()
        for place, given in enumerate(cast("list[Any]", found)):
            at = f"{section}/{place}"
            count += 1
            if count > _MAX_ENTRIES:
                whole.refuse(section, f"a document may have at most {_MAX_ENTRIES} entries")
                return
            if not isinstance(given, dict):
                whole.refuse(at, "must be an object")
                continue
            fields = dict(cast("dict[str, Any]", given))
            readable_id = fields.pop("id", None)
            if not isinstance(readable_id, str):
                whole.refuse(f"{at}/id", "is required, as text")
                continue
            try:
                check_readable_id(kind, readable_id)
            except Invalid as error:
                whole.refuse(f"{at}/id", error.errors[0].message)
                continue
            if readable_id in seen:
                whole.refuse(f"{at}/id", f"{readable_id!r} stands here twice")
                continue
            seen.add(readable_id)
            yield at, kind, readable_id, fields


def _but_for_the_root(kind: str, readable_id: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The root alone has no parent: for it, none is what it has, and not the root."""
    if (kind, readable_id) == (Category.KIND, ROOT) and fields.get("parent", ROOT) is None:
        return {name: value for name, value in fields.items() if name != "parent"}
    return fields


def _refuse(errors: Sequence[FieldError]) -> None:
    """Raises `Invalid` where there are errors; it names at most `MAX_ERRORS` of them."""
    if errors:
        named = Invalid(list(errors))
        raise Invalid(list(errors[:MAX_ERRORS]), named.detail)


def _some(uses: Sequence[str]) -> str:
    shown = ", ".join(uses[:5])
    return shown if len(uses) <= 5 else f"{shown} and {len(uses) - 5} more"


def check_administrator(by: Caller | None) -> str:
    if by is None:
        return SYSTEM
    if not (isinstance(by, PersonCaller) and by.administers):
        raise NotAllowed("only an administrator may change the directory")
    return by.actor


def check_reader(by: Caller) -> None:
    """Raises `NotAllowed` to all but administrators and auditors."""
    if not (isinstance(by, PersonCaller) and by.sees_everything):
        raise NotAllowed("only administrators and auditors may read this")
