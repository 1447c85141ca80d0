-- The log. The layout is the eventsourcing library's, so that its own recorder reads this table; positions are
-- given by our writer while it holds the append lock, hence no sequence: nothing else can append.
CREATE TABLE handraise_events (
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL,
    topic text NOT NULL,
    state bytea NOT NULL,
    notification_id bigint NOT NULL,
    PRIMARY KEY (originator_id, originator_version)
) WITH (autovacuum_vacuum_threshold = 100000000, autovacuum_analyze_threshold = 1000, autovacuum_analyze_scale_factor = 0.01);
CREATE UNIQUE INDEX handraise_events_notification_id_idx ON handraise_events (notification_id);
ALTER TABLE handraise_events ALTER COLUMN state SET STORAGE EXTERNAL; -- ciphertext does not compress

-- The hash chain over the log: each link covers the one before it and the stored event. Position 0 is its anchor.
CREATE TABLE event_chain (
    position bigint PRIMARY KEY,
    hash bytea NOT NULL
);

-- One data key an aggregate, wrapped by the master key; NULL once erased.
CREATE TABLE data_keys (
    aggregate_id uuid PRIMARY KEY,
    wrapped bytea
);

-- Answers to secret requests, outside the log, each under a key of its own.
CREATE TABLE sealed_answers (
    request_id uuid PRIMARY KEY,
    wrapped_key bytea NOT NULL,
    ciphertext bytea NOT NULL
);

-- What agents called their requests, to find one by its unique_id among all agents.
CREATE TABLE request_names (
    unique_id text NOT NULL,
    agent_id uuid NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (unique_id, agent_id)
);

-- What must happen at a time. A step leaves when it is done or when its request closes.
CREATE TABLE due_steps (
    request_id uuid NOT NULL,
    step text NOT NULL,
    due_at timestamptz NOT NULL,
    leased_until timestamptz,
    PRIMARY KEY (request_id, step)
);
CREATE INDEX due_steps_due_at_idx ON due_steps (due_at);
CREATE INDEX due_steps_waiting_idx ON due_steps (due_at) WHERE leased_until IS NULL;
CREATE INDEX due_steps_leased_idx ON due_steps (leased_until) WHERE leased_until IS NOT NULL;

CREATE TABLE users (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    name text,
    email text,
    role text NOT NULL,
    active boolean NOT NULL DEFAULT true
);

CREATE TABLE agents (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    name text NOT NULL,
    owner uuid
);
CREATE INDEX agents_owner_idx ON agents (owner);

CREATE TABLE access_keys (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    sha256 bytea NOT NULL UNIQUE,
    name text NOT NULL,
    agent_id uuid,
    user_id uuid,
    run_user uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked boolean NOT NULL DEFAULT false
);

-- Facts about this installation that are not events: the proof that the master key is the right one.
CREATE TABLE installation (
    name text PRIMARY KEY,
    value bytea NOT NULL
);
