"""The web interface as it was built: it is small, and kept by browsers."""

from __future__ import annotations

from tests.support.web import Web

FIRST_LOAD_BYTES = 350_000
"""Of compressed script, before the charts."""


def test_the_first_load_is_small(web: Web) -> None:
    """All script that an inbox with an open request loads, as it comes over the wire."""
    form = {"type": "object", "properties": {"a": {"type": "string"}}}
    asked = web.ask(message="Is this small?", response_schema=form)
    context = web.context()
    page = context.new_page()
    sizes: dict[str, int] = {}
    page.on(
        "requestfinished",
        lambda request: (
            sizes.update({request.url: request.sizes()["responseBodySize"]}) if request.url.endswith(".js") else None
        ),
    )
    page.goto("/inbox")
    page.get_by_role("link", name="Is this small?").wait_for()
    inbox = sum(sizes.values())
    page.goto(f"/requests/{asked['id']}")
    page.get_by_role("textbox", name="a").wait_for()
    print(f"inbox {inbox} bytes, with a form {sum(sizes.values())} bytes")
    assert inbox <= FIRST_LOAD_BYTES


def test_files_are_cached_and_pages_are_not(web: Web) -> None:
    """What carries a hash in its name is kept for ever; the page that names it is asked for each time."""
    page = web.admin.get("/inbox", headers={"Accept-Encoding": "gzip"})
    assert page.headers["cache-control"] == "no-store"
    script = next(part.partition('"')[0] for part in page.text.split('src="') if part.startswith("/assets/"))
    sent = web.admin.get(script, headers={"Accept-Encoding": "gzip"})
    assert sent.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert sent.headers["content-encoding"] == "gzip"
    assert sent.headers["content-type"] == "text/javascript; charset=utf-8"
    assert web.admin.get(script, headers={"Accept-Encoding": "identity"}).content == sent.content
    assert web.admin.get("/service-worker.js").headers["cache-control"] == "no-cache"
    for outside in ("/assets/../pages.py", "/assets/%2e%2e/pages.py", "/assets/nothing.js", "/.made-of", "/index.html"):
        assert web.admin.get(outside).status_code == 404
