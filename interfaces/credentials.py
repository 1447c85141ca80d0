"""Files in the data directory that only this user may read: the master key and the first keys."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interfaces.settings import Settings

CREDENTIALS = "credentials.json"
SECRET_KEY = "secret.key"  # noqa: S105  a file name


class UnreadableFile(Exception):
    """A file of ours exists but does not hold what it should."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the server is and the keys to use it; `admin_key` None where none was to be written."""

    url: str
    admin_key: str | None
    agent_key: str | None


def read_credentials(data_dir: Path) -> Credentials | None:
    """What `serve` wrote, None if it never did. Raises `UnreadableFile`."""
    path = data_dir / CREDENTIALS
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Credentials(found["url"], found.get("admin_key"), found.get("agent_key"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise UnreadableFile(f"cannot read {path}: {error}; move it away and start the server again") from None


def write_credentials(data_dir: Path, credentials: Credentials) -> Path:
    """Write them for this user's eyes only (0600), whole or not at all."""
    path = data_dir / CREDENTIALS
    _write_private(path, json.dumps(asdict(credentials), indent=2).encode() + b"\n")
    return path


def master_key(settings: Settings) -> bytes:
    """The master key: from the settings, else from `secret.key`, made on the first start.

    Raises `UnreadableFile`.
    """
    from interfaces.settings import decode_key  # here, since the command line reads credentials without settings

    if settings.secret_key is not None:
        return decode_key(settings.secret_key.get_secret_value())
    path = settings.data_dir / SECRET_KEY
    try:
        return decode_key(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        key = os.urandom(32)
        _write_private(path, base64.urlsafe_b64encode(key) + b"\n", replace=False)
        return decode_key(path.read_text(encoding="ascii"))
    except ValueError:
        raise UnreadableFile(f"{path} does not hold a master key; put back the one that was there") from None


def write_master_key(data_dir: Path, key: bytes) -> Path:
    """Write `secret.key`, for its present owner's eyes only (0600), whole or not at all, and safe from a power cut."""
    path = data_dir / SECRET_KEY
    _write_private(path, base64.urlsafe_b64encode(key) + b"\n")
    folder = os.open(data_dir, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return path


def _write_private(path: Path, content: bytes, *, replace: bool = True) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if replace and os.geteuid() == 0 and path.exists():  # root must not lock out the server's own user
                owner = path.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.fsync(file.fileno())
        if replace:
            os.replace(temporary, path)
        else:
            try:
                os.link(temporary, path)  # whoever was first wins
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
