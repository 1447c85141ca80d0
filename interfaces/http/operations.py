"""Alive, ready, measured: for load balancers, supervisors and Prometheus. No credential needed, nothing told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from interfaces.http.json_bodies import Json

Readiness = Callable[[], tuple[dict[str, bool], dict[str, Any]]]
"""Each part and whether it works; and what somebody should look at, which does not stop the work."""


def operation_routes(ready: Readiness, metrics: Callable[[], Awaitable[bytes]]) -> APIRouter:
    """`/healthz`, `/readyz`, `/metrics`."""
    router = APIRouter(tags=["operations"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", summary="Whether the process is alive")
    async def healthz() -> Json:
        return Json({"status": "alive"})

    @router.head("/readyz", include_in_schema=False)
    @router.get(
        "/readyz",
        summary="Whether this server can do its work now",
        responses={503: {"description": "Not ready; `checks` says what is missing"}},
    )
    async def readyz() -> Json:
        checks, detail = ready()
        fine = all(checks.values())
        return Json(
            {"status": "ready" if fine else "not ready", "checks": checks, "detail": detail},
            status_code=200 if fine else 503,
            headers={} if fine else {"Retry-After": "1"},
        )

    @router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
    async def metrics_() -> Response:
        return Response(await metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
