-- Tables of the targets. The script may run again on a database that has the tables already.

-- Table that POST /items fills. Besides its key, the table has the two indexes of the published experiment on batch
-- inserts.
CREATE TABLE IF NOT EXISTS items (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku         uuid        NOT NULL,
    name        text        NOT NULL,
    quantity    int         NOT NULL,
    price_cents int         NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS items_sku ON items (sku);
CREATE INDEX IF NOT EXISTS items_created_at ON items (created_at);

-- Table that GET /users/ reads.
CREATE TABLE IF NOT EXISTS users (
    id       bigint PRIMARY KEY,
    username text   NOT NULL UNIQUE
);
INSERT INTO users SELECT n, 'user' || n FROM generate_series(1, 20) AS n ON CONFLICT DO NOTHING;

-- Table of the profile services. loadgen makes as many profiles as the scenario's `existing_profiles`.
CREATE TABLE IF NOT EXISTS profiles (
    id      bigint PRIMARY KEY,
    profile jsonb  NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS profiles_nickname ON profiles ((profile ->> 'nickname'));
CREATE UNIQUE INDEX IF NOT EXISTS profiles_username ON profiles ((profile ->> 'username'));

-- Token that each client of a profile service sends.
CREATE TABLE IF NOT EXISTS tokens (
    token text PRIMARY KEY
);
INSERT INTO tokens VALUES ('loadgen-token') ON CONFLICT DO NOTHING;
