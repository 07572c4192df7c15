-- Table that POST /items fills. Besides its key, the table has the two indexes of the published experiment on batch
-- inserts. The script may run again on a database that has the table already.
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
