"""The directory's bodies and answers, as OpenAPI shows them. What the values mean is checked by the use cases."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from domain.callers import Role
from interfaces.http.models import Body, Instant, Written

NewId = Annotated[
    str | None, Field(description="The readable id; made from the name if not given, never given to another.")
]
Strategy = Annotated[Any, Field(description="An assignment strategy, as an object or its JSON text; null for none.")]
Entries = list[dict[str, Any]]
ARole = Annotated[Role, Field(strict=False)]


class QuietHours(Body):
    """From when until when no notice is wanted, in the person's own time zone."""

    from_: str = Field(alias="from", description="HH:MM")
    to: str = Field(description="HH:MM")


class OutOfOffice(Body):
    """From which day until the end of which day somebody is away, in their own time zone, and who stands in."""

    from_: str = Field(alias="from", description="YYYY-MM-DD")
    to: str = Field(description="YYYY-MM-DD")
    stand_in: str | None = None


class OwnFields(Body):
    """What everybody may change about themselves."""

    time_zone: str | None = Field(None, description="Such as Europe/Berlin; UTC if not given.")
    quiet_hours: QuietHours | None = None
    out_of_office: OutOfOffice | None = None
    slack_user_id: str | None = None


class PatchMe(OwnFields):
    """The fields to change; what is not given stays. Who has a password already gives it to set another."""

    password: str = Field("", max_length=2000)
    current_password: str | None = Field(None, max_length=2000)


class UserFields(OwnFields):
    """What can be said of it, besides its name."""

    email: str | None = None
    role: ARole = Role.MEMBER
    active: bool = True


class NewUser(UserFields):
    """A person for the directory."""

    name: str
    id: NewId = None


class PatchUser(UserFields):
    """The fields to change; what is not given stays."""

    name: str = ""


class ListFields(Body):
    """What can be said of it, besides its name."""

    members: list[str] = Field(default_factory=list, description="User ids, in the order in which they take turns.")


class NewList(ListFields):
    """A list for the directory."""

    name: str
    id: NewId = None


class PatchList(ListFields):
    """The fields to change; what is not given stays."""

    name: str = ""


class AgentFields(Body):
    """What can be said of it, besides its name."""

    owner: str | None = Field(None, description="The user who owns the agent and may read what it asks.")
    agent_type: str | None = None
    category: str | None = None


class NewAgent(AgentFields):
    """An agent for the directory."""

    name: str
    id: NewId = None


class PatchAgent(AgentFields):
    """The fields to change; what is not given stays."""

    name: str = ""


class AgentTypeFields(Body):
    """What can be said of it, besides its name."""

    assignment_strategy: Strategy = None


class NewAgentType(AgentTypeFields):
    """An agent type for the directory."""

    name: str
    id: NewId = None


class PatchAgentType(AgentTypeFields):
    """The fields to change; what is not given stays."""

    name: str = ""


class CategoryFields(Body):
    """What can be said of it, besides its name."""

    parent: str | None = Field(None, description="The category above; the root, `all`, if not given.")
    assignment_strategy: Strategy = None


class NewCategory(CategoryFields):
    """A category for the directory."""

    name: str
    id: NewId = None


class PatchCategory(CategoryFields):
    """The fields to change; what is not given stays."""

    name: str = ""


class RequestTypeFields(Body):
    """What can be said of it, besides its name."""

    default_assignment_strategy: Strategy = None
    default_priority: int | None = None
    default_expiration_minutes: float | None = None
    no_self_answer: bool = Field(False, description="The run user may not answer, and has to be named.")
    erase_after_days: float | None = Field(
        None, description="Content is erased so many days after a request closed: more than 0, at most 3650."
    )


class NewRequestType(RequestTypeFields):
    """A request type for the directory."""

    name: str
    id: NewId = None


class PatchRequestType(RequestTypeFields):
    """The fields to change; what is not given stays."""

    name: str = ""


class PatchKey(Body):
    """The fields to change; what is not given stays."""

    name: str = ""
    expires_at: Instant | None = None


class NewKeyBody(Body):
    """A key for exactly one agent or one person."""

    name: str
    id: NewId = None
    agent: str | None = None
    user: str | None = None
    run_user: str | None = Field(None, description="Binds an agent's key to runs of this one person.")
    expires_at: Instant | None = None


class DirectoryDocument(Body):
    """The whole directory but for keys. Each entry has its `id`; fields not given stay as they are."""

    users: Entries = Field(default_factory=list)
    lists: Entries = Field(default_factory=list)
    agents: Entries = Field(default_factory=list)
    agent_types: Entries = Field(default_factory=list)
    categories: Entries = Field(default_factory=list)
    request_types: Entries = Field(default_factory=list)


# -- answers


class CreatedEntry(Written):
    """The readable id of the new entry."""

    id: str


class CreatedKey(CreatedEntry):
    """The key itself, shown this once."""

    key: str


class UserView(BaseModel):
    """A person. Only administrators, auditors and they themselves see more than id and name."""

    id: str
    name: str | None
    email: str | None = None
    role: str | None = None
    active: bool | None = None
    slack_user_id: str | None = None
    time_zone: str | None = None
    quiet_hours: dict[str, Any] | None = None
    out_of_office: dict[str, Any] | None = None


class ListView(BaseModel):
    """A list of people, in their order."""

    id: str
    name: str
    members: list[str]


class AgentView(BaseModel):
    """An agent."""

    id: str
    name: str
    owner: str | None
    agent_type: str | None
    category: str | None


class AgentTypeView(BaseModel):
    """An agent type."""

    id: str
    name: str
    assignment_strategy: dict[str, Any] | None


class CategoryView(BaseModel):
    """A category; only the root has no parent."""

    id: str
    name: str
    parent: str | None
    assignment_strategy: dict[str, Any] | None


class RequestTypeView(BaseModel):
    """A request type."""

    id: str
    name: str
    default_assignment_strategy: dict[str, Any] | None
    default_priority: int | None
    default_expiration_minutes: float | None
    no_self_answer: bool
    erase_after_days: float | None


class KeyView(BaseModel):
    """A key, without the key itself."""

    id: str
    name: str
    agent: str | None
    user: str | None
    run_user: str | None
    expires_at: str | None
    revoked: bool
    created_at: str
    last_used_at: str | None = Field(description="To the minute.")


class UserPage(BaseModel):
    items: list[UserView]
    next_cursor: str | None
    position: int


class ListPage(BaseModel):
    items: list[ListView]
    next_cursor: str | None
    position: int


class AgentPage(BaseModel):
    items: list[AgentView]
    next_cursor: str | None
    position: int


class AgentTypePage(BaseModel):
    items: list[AgentTypeView]
    next_cursor: str | None
    position: int


class CategoryPage(BaseModel):
    items: list[CategoryView]
    next_cursor: str | None
    position: int


class RequestTypePage(BaseModel):
    items: list[RequestTypeView]
    next_cursor: str | None
    position: int


class KeyPage(BaseModel):
    items: list[KeyView]
    next_cursor: str | None
    position: int


class MeView(UserView):
    """The caller."""

    position: int


class DirectoryView(DirectoryDocument):
    """The whole directory but for keys, as an import takes it."""


class ImportedView(Written):
    """How many entries were added and changed; the others were as the document says already."""

    added: int
    changed: int
