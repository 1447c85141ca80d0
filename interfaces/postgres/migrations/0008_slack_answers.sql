-- Which request a message in Slack shows, made from `Notified`, so that a reply to it, or a click, finds it.
CREATE TABLE slack_messages (
    channel text NOT NULL,
    ts text NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (channel, ts)
);

-- What has come in from Slack, which sends everything at least once: each is handled by one replica at a time, and once.
CREATE TABLE slack_received (
    key text PRIMARY KEY,
    received_at timestamptz NOT NULL,
    handled boolean NOT NULL DEFAULT false,
    claimed_until timestamptz NOT NULL
);
CREATE INDEX slack_received_received_at_idx ON slack_received (received_at);
