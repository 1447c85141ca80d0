-- How people sign in. Tokens are kept as SHA-256; passwords as argon2id, outside the log.
CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    sha256 bytea NOT NULL UNIQUE,
    user_id uuid NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

CREATE TABLE sign_in_links (
    id uuid PRIMARY KEY,
    sha256 bytea NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL
);

CREATE TABLE passwords (
    user_id uuid PRIMARY KEY,
    hash text NOT NULL
);

CREATE UNLOGGED TABLE sign_in_attempts (
    what bytea PRIMARY KEY,
    count integer NOT NULL,
    since timestamptz NOT NULL
);

ALTER TABLE access_keys ADD COLUMN last_used_at timestamptz;
