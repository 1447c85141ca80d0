"""Structured logs. What people and agents wrote is never logged, at any level."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from interfaces.settings import Settings


def configure(settings: Settings) -> None:
    """Log to standard error, as lines for a person or as JSON; the libraries' own logs in the same form."""
    level = getattr(logging, settings.log_level.upper())
    console = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if console:
        final: list[Any] = [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    else:
        final = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[*shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # The libraries speak at debug level about headers and statements, which hold what must not be logged.
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("uvicorn.error").setLevel(max(level, logging.WARNING))
