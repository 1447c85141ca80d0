-- Where an agent's closed requests are reported to, made from events.
CREATE TABLE webhooks (
    agent_id uuid PRIMARY KEY,
    url text NOT NULL,
    enabled boolean NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);

-- Beside the log the secrets that sign, each encrypted with the master key; one that was replaced signs until it expires.
CREATE TABLE webhook_secrets (
    id uuid PRIMARY KEY,
    agent_id uuid NOT NULL,
    made_at timestamptz NOT NULL,
    expires_at timestamptz,
    wrapped bytea NOT NULL
);
CREATE INDEX webhook_secrets_agent_id_idx ON webhook_secrets (agent_id);

-- Every attempt to report a request, for a while.
CREATE TABLE webhook_attempts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id uuid NOT NULL,
    request_id uuid NOT NULL,
    message_id text NOT NULL,
    number integer NOT NULL,
    at timestamptz NOT NULL,
    status integer,
    error text,
    duration interval NOT NULL,
    next_at timestamptz
);
CREATE INDEX webhook_attempts_agent_id_idx ON webhook_attempts (agent_id, id);
CREATE INDEX webhook_attempts_request_id_idx ON webhook_attempts (request_id);
CREATE INDEX webhook_attempts_at_idx ON webhook_attempts (at);
