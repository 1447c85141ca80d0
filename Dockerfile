# syntax=docker/dockerfile:1
FROM python:3.13-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /source

# What it stands on, exactly as locked: made anew only when that changes.
COPY pyproject.toml uv.lock ./
COPY interfaces/client/pyproject.toml interfaces/client/
RUN uv export --frozen --no-default-groups --no-emit-workspace --output-file /requirements.txt \
    && uv venv /opt/handraise \
    && uv pip install --python /opt/handraise --require-hashes --requirements /requirements.txt

# Server and client, with the web interface, which is built with the Node of a wheel.
COPY . .
RUN uv build --wheel --all-packages --require-hashes --build-constraints deploy/build-constraints.txt --out-dir /wheels \
    && uv pip install --python /opt/handraise --no-deps /wheels/*.whl \
    && /opt/handraise/bin/python -m compileall -q /opt/handraise/lib

FROM python:3.13-slim-bookworm
# The embedded Postgres needs a name for the user that runs it.
RUN useradd --system --user-group --uid 10001 --home-dir /var/lib/handraise --no-create-home handraise \
    && install --directory --owner 10001 --group 10001 --mode 0700 /var/lib/handraise
COPY --from=build /opt/handraise /opt/handraise
# A stop takes less than the ten seconds that Docker gives it.
ENV PATH="/opt/handraise/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HANDRAISE_DATA_DIR=/var/lib/handraise \
    HANDRAISE_STOP_SECONDS=8
VOLUME /var/lib/handraise
EXPOSE 8000
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:%s/readyz' % os.getenv('HANDRAISE_PORT', '8000'), timeout=4)"]
ENTRYPOINT ["handraise"]
CMD ["serve", "--host", "0.0.0.0"]
