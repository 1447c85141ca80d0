"""Sealed content: every aggregate with content has its own data key, wrapped by the master key.

Layout of a stored event's state: the facts as one line of JSON; then, where there is content, a line feed and the
content's JSON under AES-256-GCM (12 bytes nonce first), bound to the event's id, version and topic.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from eventsourcing.persistence import (
    Compressor,
    DatetimeAsISO,
    JSONTranscoder,
    Mapper,
    MapperDeserialisationError,
    StoredEvent,
    Transcoder,
    UUIDAsHex,
)
from eventsourcing.utils import get_topic, resolve_topic

from domain.errors import Unavailable
from domain.recorded import RecordedEvent

_NONCE = 12

_CONTENT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # made once: json.dumps makes one each time


class WrongMasterKey(Exception):
    """The master key is not the one this database was sealed with."""

    def __init__(
        self,
        why: str = "the master key is not the one this database was sealed with: set HANDRAISE_SECRET_KEY, or put back "
        "the file secret.key, that was in use when it was made or last rotated",
    ) -> None:
        super().__init__(why)


class MissedRotation(Unavailable, WrongMasterKey):
    """The master key was rotated while this server was cut off from the database, so that it could not learn of it."""

    def __init__(self) -> None:
        super().__init__("the master key was rotated while this server was cut off: restart it with the new master key")


class NewerVersion(MapperDeserialisationError):
    """The event was written by a server that knows a later version of its class."""


class MasterKey:
    """Wraps and unwraps data keys; 32 bytes.

    While it is being rotated it knows more than one: it wraps under the newest, and unwraps what is under any.
    `reread` gives the key that the server would start with if it started now.
    """

    def __init__(self, key: bytes, reread: Callable[[], bytes] | None = None) -> None:
        self.reread = reread
        self.lost = False
        """Whether this server missed a rotation, and does not know the database's key."""

        self._known: dict[bytes, AESGCM] = {}
        self.renew(key)

    @property
    def id(self) -> int:
        """Names the key under which this wraps, and shows nothing of it; fits an integer of Postgres."""
        return self._id

    def renew(self, key: bytes) -> None:
        """Wrap under this key from now on; what is wrapped under the ones before still opens."""
        self.know(key)
        self._key, self._aead = key, self._known[key]
        self._id = int.from_bytes(self.derive("key id")[:4], "big") >> 1

    def know(self, key: bytes) -> None:
        """Open what is wrapped under this key, too."""
        if len(key) != 32:
            raise ValueError(f"a master key has 32 bytes, not {len(key)}")
        self._known.setdefault(key, AESGCM(key))

    def __repr__(self) -> str:
        return "MasterKey(…)"

    def wrap(self, data_key: bytes, bound_to: bytes) -> bytes:
        """The data key, encrypted; only with the same `bound_to` can it be unwrapped."""
        nonce = os.urandom(_NONCE)
        return nonce + self._aead.encrypt(nonce, data_key, bound_to)

    def unwrap(self, wrapped: bytes, bound_to: bytes) -> bytes:
        """Raises `WrongMasterKey`."""
        for key in (self._aead, *self._known.values()):
            with suppress(InvalidTag):
                return key.decrypt(wrapped[:_NONCE], wrapped[_NONCE:], bound_to)
        raise WrongMasterKey

    def derive(self, purpose: str) -> bytes:
        """32 bytes for another purpose, from which the master key cannot be found."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), 32, None, f"handraise {purpose}".encode()).derive(self._key)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A data key that is wrapped only when it is written, under what is the master key then."""

    master_key: MasterKey
    data_key: bytes
    bound_to: bytes

    def wrap(self) -> bytes:
        return self.master_key.wrap(self.data_key, self.bound_to)

    def __repr__(self) -> str:
        return "Unwrapped(…)"


def new_data_key() -> bytes:
    return os.urandom(32)


def seal_bytes(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plain, bound_to)


def open_bytes(key: bytes, sealed: bytes, bound_to: bytes) -> bytes:
    return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)


def new_transcoder() -> JSONTranscoder:
    """The facts' transcoder: the library's JSON, with UUIDs and instants."""
    transcoder = JSONTranscoder()
    transcoder.register(UUIDAsHex())
    transcoder.register(DatetimeAsISO())
    return transcoder


class SealingMapper(Mapper[UUID]):
    """The library's mapper, with content sealed under the aggregate's data key.

    `key_of` finds the data key of an aggregate, None once it was destroyed: content then reads as None.
    """

    def __init__(
        self,
        transcoder: Transcoder | None = None,
        compressor: Compressor | None = None,
        cipher: None = None,
        *,
        key_of: Callable[[UUID], bytes | None] | None = None,
    ) -> None:
        super().__init__(transcoder or new_transcoder(), compressor, cipher)
        self._key_of = key_of

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        assert self._key_of is not None
        return self.seal(domain_event, self._key_of(domain_event.originator_id))

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        assert self._key_of is not None
        assert isinstance(stored_event.originator_id, UUID)
        return self.open(stored_event, self._key_of(stored_event.originator_id))

    def seal(self, event: RecordedEvent, key: bytes | None) -> StoredEvent:
        """The event as it is stored. `key` may be None only for events without content."""
        cls = type(event)
        facts = dict(vars(event))
        originator_id: UUID = facts.pop("originator_id")
        version: int = facts.pop("originator_version")
        class_version = getattr(cls, "class_version", 1)
        if class_version > 1:
            facts["class_version"] = class_version
        content = {name: facts.pop(name) for name in cls.CONTENT}
        topic = get_topic(cls)
        state = self.transcoder.encode(facts)
        if any(value is not None for value in content.values()):
            if key is None:
                raise ValueError(f"no data key to seal the content of {topic} with")
            plain = _CONTENT.encode(content).encode()
            state = b"%b\n%b" % (state, seal_bytes(key, plain, _bound_to(originator_id, version, topic)))
        return StoredEvent(originator_id, version, topic, state)

    def open(self, stored: StoredEvent, key: bytes | None) -> RecordedEvent:
        """The event as it was recorded; its content is None where `key` is.

        Raises the library's `TopicError` for an unknown topic and `MapperDeserialisationError` for a state that
        cannot be read, or was written by a newer version of the class.
        """
        cls = resolve_topic(stored.topic)
        originator_id = stored.originator_id
        assert isinstance(originator_id, UUID)
        facts, separator, sealed = stored.state.partition(b"\n")
        try:
            state: dict[str, Any] = dict.fromkeys(cls.CONTENT)
            state |= self.transcoder.decode(facts)
            if separator and key is not None:
                bound_to = _bound_to(originator_id, stored.originator_version, stored.topic)
                state |= json.loads(open_bytes(key, sealed, bound_to))
        except Exception as error:
            raise _unreadable(stored, f"{type(error).__name__}: {error}") from error
        class_version = getattr(cls, "class_version", 1)
        stored_version = state.pop("class_version", 1)
        if stored_version > class_version:
            raise NewerVersion(
                f"event {stored.originator_version} of {originator_id} ({stored.topic}) has version {stored_version}, "
                f"this server knows {class_version}: a newer one wrote it, upgrade this one"
            )
        for version in range(stored_version, class_version):
            getattr(cls, f"upcast_v{version}_v{version + 1}")(state)
        state["originator_id"] = originator_id
        state["originator_version"] = stored.originator_version
        event = object.__new__(cls)
        object.__setattr__(event, "__dict__", state)
        return event


def _bound_to(originator_id: UUID, version: int, topic: str) -> bytes:
    return b"%b%d %b" % (originator_id.bytes, version, topic.encode())


def _unreadable(stored: StoredEvent, why: str) -> MapperDeserialisationError:
    return MapperDeserialisationError(
        f"cannot read event {stored.originator_version} of {stored.originator_id} ({stored.topic}): {why}"
    )
