-- Web Push: the key by which push services know this installation, its private half wrapped by the master key, and the
-- browsers that people want to be told in. What was heard of last stays longest.
CREATE TABLE vapid_keys (
    id uuid PRIMARY KEY,
    wrapped bytea NOT NULL
);

CREATE TABLE push_subscriptions (
    endpoint text PRIMARY KEY,
    user_id uuid NOT NULL,
    p256dh bytea NOT NULL,
    auth bytea NOT NULL,
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz NOT NULL,
    failed_at timestamptz,
    failure text
);
CREATE INDEX push_subscriptions_user_id_idx ON push_subscriptions (user_id);
