-- How Slack is set up: the facts, made from events, and beside them the tokens, each encrypted with the master key.
CREATE TABLE slack_configuration (
    id uuid PRIMARY KEY,
    version bigint NOT NULL,
    enabled boolean NOT NULL,
    channel_id text,
    notification_delay_seconds double precision NOT NULL
);

CREATE TABLE slack_tokens (
    id uuid PRIMARY KEY,
    wrapped bytea NOT NULL
);
