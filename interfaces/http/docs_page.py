"""`/docs`: the OpenAPI document as a page that needs no script and nothing from elsewhere."""

from __future__ import annotations

import json
import secrets
from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
details { border-bottom: 1px solid #8884; padding: .4rem 0; }
summary { cursor: pointer; }
code, pre { font: 0.875rem/1.5 ui-monospace, monospace; }
pre { overflow: auto; background: #8881; padding: .75rem; border-radius: .4rem; }
.method { display: inline-block; width: 4.5rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top; }
"""


def install(app: FastAPI) -> None:
    """Serve the page."""

    async def docs(request: Request) -> HTMLResponse:
        nonce = secrets.token_urlsafe(16)
        policy = f"default-src 'none'; style-src 'nonce-{nonce}'; frame-ancestors 'none'; base-uri 'none'"
        return HTMLResponse(page(app.openapi(), nonce), headers={"Content-Security-Policy": policy})

    app.add_route("/docs", docs, include_in_schema=False)


def page(document: dict[str, Any], nonce: str) -> str:
    """The whole page."""
    tags: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            tags.setdefault(tag, []).append(_operation(path, method, operation))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(parts)}" for tag, parts in tags.items())
    schemas = "".join(
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>{_json(schema)}</details>'
        for name, schema in sorted(document.get("components", {}).get("schemas", {}).items())
    )
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f'<meta name="viewport" content="width=device-width"><style nonce="{nonce}">{_STYLE}</style></head><body>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('summary', ''))}</p>"
        f'<p>As data: <a href="/openapi.json">openapi.json</a>.</p>{body}<h2>Schemas</h2>{schemas}</body></html>'
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<tr><td><code>{escape(found['name'])}</code></td><td>{escape(found['in'])}"
        f"{', required' if found.get('required') else ''}</td><td>{escape(found.get('description', ''))}</td></tr>"
        for found in operation.get("parameters", [])
    )
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = "".join(
        f"<tr><td>{escape(status)}</td><td>{escape(answer.get('description', ''))}</td>"
        f"<td>{_reference(answer)}</td></tr>"
        for status, answer in operation.get("responses", {}).items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span><code>{escape(path)}</code> '
        f"{escape(operation.get('summary', ''))}</summary><p>{escape(operation.get('description', ''))}</p>"
        + (f"<table>{parameters}</table>" if parameters else "")
        + (f"<h4>Body</h4>{_link(body) or _json(body)}" if body else "")
        + f"<h4>Answers</h4><table>{answers}</table></details>"
    )


def _reference(answer: dict[str, Any]) -> str:
    for content in answer.get("content", {}).values():
        if link := _link(content.get("schema", {})):
            return link
    return ""


def _link(schema: dict[str, Any]) -> str:
    for found in (schema, *schema.get("anyOf", ())):
        if "$ref" in found:
            name = found["$ref"].rpartition("/")[2]
            return f'<a href="#{escape(name)}"><code>{escape(name)}</code></a>'
    return ""


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"
