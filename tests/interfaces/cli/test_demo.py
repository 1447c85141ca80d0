"""`handraise demo`: alive within a minute, apart from everything else, and gone without a trace."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import httpx
import psutil

from interfaces.credentials import read_credentials
from tests.support.processes import HANDRAISE, PATIENCE, ROOT, clean_environment, cli, until


def test_a_newcomer_sees_it_alive_answers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Inbox, the agent's next step, dashboard and audit; settings for a real server and a taken port do no harm."""
    environment = clean_environment() | {
        "TMPDIR": str(tmp_path),
        "HANDRAISE_DATA_DIR": str(tmp_path / "real"),
        "HANDRAISE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/real",
        "HANDRAISE_HOST": "0.0.0.0",
    }
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # somebody has it already
            stack.enter_context(socket.create_server(("127.0.0.1", 8000)))
        process = subprocess.Popen(
            [*HANDRAISE, "demo", "--pace", "20"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        stack.callback(process.kill)
        printed: list[str] = []
        listening = threading.Thread(target=_read, args=(process, printed), daemon=True)
        listening.start()
        until(lambda: "Ctrl-C ends the demo" in "".join(printed), "it serves", context=lambda: "".join(printed))
        output = "".join(printed)
        link = re.search(r"^  (http://127\.0\.0\.1:(\d+))/sign-in#(\S+)$", output, re.M)
        folder = re.search(r"--data-dir (\S+)$", output, re.M)
        assert link is not None
        assert folder is not None
        assert link[2] != "8000"
        data_dir = Path(folder[1])
        assert data_dir.parent == tmp_path
        credentials = read_credentials(data_dir)
        assert credentials is not None
        key = {"Authorization": f"Bearer {credentials.admin_key}"}
        with httpx.Client(base_url=link[1], headers=key, trust_env=False, timeout=PATIENCE) as admin:
            signed_in = admin.post("/api/session/link", json={"token": link[3]}, headers={"Authorization": ""})
            assert signed_in.json()["user"] == "admin"

            def open_ones() -> set[str]:
                return {item["unique_id"] for item in admin.get("/api/inbox?limit=200").json()["items"]}

            wanted = {"release-checkout-2041", "portal-1-code", "import-orders-north-1", "order-48213-address"}
            until(lambda: wanted <= open_ones(), "the agents have asked", context=lambda: "".join(printed))
            note = {"data": {"approved": True, "note": "Go on."}}
            assert admin.post("/api/requests/release-checkout-2041/respond", json=note).is_success
            until(lambda: "release-checkout-2041-rollout" in open_ones(), "the agent goes on")
            until(lambda: "agreed to build 2041 of checkout" in "".join(printed), "the terminal shows it")

            until(lambda: admin.get("/api/dashboard").json()["by_status"].get("Responded", 0) > 10, "others answer")
            moved = "/api/audit?type=Reassigned"
            until(lambda: bool(admin.get(moved).json()["items"]), "what nobody reacted to has moved on")
            assert len(open_ones()) <= 12
            verified = cli("verify", "--data-dir", str(data_dir))
            assert verified.code == 0, verified

        family = psutil.Process(process.pid)
        everybody = [family, *family.children(recursive=True)]
        assert any("postgres" in each.name() for each in everybody)
        assert {each.laddr.ip for each in family.net_connections() if each.status == "LISTEN"} == {"127.0.0.1"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, "".join(printed)
        listening.join(PATIENCE)
    _, alive = psutil.wait_procs(everybody, PATIENCE)
    assert not alive
    assert os.listdir(tmp_path) == []
    assert "Traceback" not in "".join(printed)


def _read(process: subprocess.Popen[str], printed: list[str]) -> None:
    assert process.stdout is not None
    printed.extend(process.stdout)
