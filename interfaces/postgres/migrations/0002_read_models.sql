-- How far each read model is. The tables of a model are made by the model itself, since they can be made again.
CREATE TABLE read_models (
    name text PRIMARY KEY,
    version integer NOT NULL,
    position bigint NOT NULL
);

-- Aggregates that a read model could not follow, from which position on, and why.
CREATE TABLE parked_aggregates (
    read_model text NOT NULL,
    aggregate_id uuid NOT NULL,
    position bigint NOT NULL,
    error text NOT NULL,
    parked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (read_model, aggregate_id)
);
