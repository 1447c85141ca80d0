-- Routing: who is in the directory, what each level of it says, and what list decisions are taken from.
ALTER TABLE users
    ADD COLUMN slack_user_id text,
    ADD COLUMN time_zone text,
    ADD COLUMN quiet_hours jsonb,
    ADD COLUMN out_of_office jsonb,
    ADD COLUMN away_from timestamptz,
    ADD COLUMN away_until timestamptz,
    ADD COLUMN stand_in uuid,
    ADD COLUMN removed boolean NOT NULL DEFAULT false;
CREATE INDEX users_email_idx ON users (lower(email)) WHERE NOT removed;
CREATE INDEX users_slack_user_id_idx ON users (slack_user_id) WHERE NOT removed;

ALTER TABLE agents
    ADD COLUMN agent_type uuid,
    ADD COLUMN category uuid,
    ADD COLUMN removed boolean NOT NULL DEFAULT false;
CREATE INDEX agents_agent_type_idx ON agents (agent_type) WHERE agent_type IS NOT NULL;
CREATE INDEX agents_category_idx ON agents (category) WHERE category IS NOT NULL;

-- `last_turn` is the member whose turn it was last. When the list changes it moves to the nearest member before that
-- one who is still there, so that nobody's turn is lost or doubled.
CREATE TABLE lists (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    name text NOT NULL,
    last_turn uuid,
    removed boolean NOT NULL DEFAULT false
);
CREATE TABLE list_members (
    list_id uuid NOT NULL,
    place integer NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (list_id, place)
);
CREATE INDEX list_members_user_id_idx ON list_members (user_id, list_id);

CREATE TABLE agent_types (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    name text NOT NULL,
    assignment_strategy jsonb,
    removed boolean NOT NULL DEFAULT false
);

CREATE TABLE categories (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    name text NOT NULL,
    parent uuid,
    assignment_strategy jsonb,
    removed boolean NOT NULL DEFAULT false
);
CREATE INDEX categories_parent_idx ON categories (parent) WHERE parent IS NOT NULL;

CREATE TABLE request_types (
    id uuid PRIMARY KEY,
    readable_id text NOT NULL UNIQUE,
    name text NOT NULL,
    default_assignment_strategy jsonb,
    default_priority integer,
    default_expiration_minutes double precision,
    no_self_answer boolean NOT NULL DEFAULT false,
    erase_after_days double precision,
    removed boolean NOT NULL DEFAULT false
);

-- How many open requests each person has, each shared inbox, each agent, and how many there are of each type.
CREATE TABLE open_counts (
    holder_id uuid PRIMARY KEY,
    count bigint NOT NULL
) WITH (fillfactor = 50);

-- Changes with every change of the directory: what was remembered of it is true as long as this stays the same.
CREATE TABLE directory_version (
    version bigint NOT NULL
);
INSERT INTO directory_version VALUES (0);

-- Upgrading: requests that are open already count, too. A decision stands in the facts, before the line feed.
WITH open AS (
    SELECT n.request_id, n.agent_id FROM request_names n
    WHERE NOT EXISTS (
        SELECT FROM handraise_events e WHERE e.originator_id = n.request_id
        AND e.topic IN ('handraise.Request.Responded', 'handraise.Request.Cancelled', 'handraise.Request.Expired')
    )
), decisions AS (
    SELECT DISTINCT ON (e.originator_id)
        CASE position('\x0a'::bytea IN e.state) WHEN 0 THEN e.state
            ELSE substring(e.state FROM 1 FOR position('\x0a'::bytea IN e.state) - 1) END AS facts
    FROM handraise_events e JOIN open ON open.request_id = e.originator_id
    WHERE e.topic IN ('handraise.Request.Requested', 'handraise.Request.Reassigned')
    ORDER BY e.originator_id, e.originator_version DESC
), types (name, id) AS (
    VALUES -- there were no others
        ('approval', '3a358455-139a-54f6-9244-62dcd881d775'::uuid),
        ('clarification', 'bdf0135f-515f-52cb-8663-79dd48ef192e'::uuid),
        ('data-input', '381387fe-9d2c-58f1-a018-ac47b8d0efb0'::uuid),
        ('review', 'be0062b7-d6da-59b8-91aa-7f19d095d2f4'::uuid),
        ('error-resolution', 'db3e3802-4910-5835-b58c-a89ba3d17f28'::uuid)
), asked AS (
    SELECT CASE position('\x0a'::bytea IN e.state) WHEN 0 THEN e.state
        ELSE substring(e.state FROM 1 FOR position('\x0a'::bytea IN e.state) - 1) END AS facts
    FROM handraise_events e JOIN open ON open.request_id = e.originator_id
    WHERE e.topic = 'handraise.Request.Requested'
), holders AS (
    SELECT agent_id AS holder_id FROM open
    UNION ALL
    SELECT types.id FROM asked JOIN types ON types.name = convert_from(asked.facts, 'UTF8')::jsonb ->> 'request_type'
    UNION ALL
    SELECT (convert_from(facts, 'UTF8')::jsonb #>> '{assignment,chosen}')::uuid FROM decisions
)
INSERT INTO open_counts SELECT holder_id, count(*) FROM holders WHERE holder_id IS NOT NULL GROUP BY holder_id;
