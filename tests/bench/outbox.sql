-- What a dispatch writes, with nothing around it: run step, ledger entries, lease and attempt, in tables of their own.
CREATE TABLE bench_effect (
    id int PRIMARY KEY, run int NOT NULL, state text NOT NULL, next_at timestamptz, lease_owner text,
    lease_expires_at timestamptz, fence int NOT NULL, version int NOT NULL, because text
);
CREATE INDEX bench_effect_due ON bench_effect (next_at) WHERE next_at IS NOT NULL AND lease_owner IS NULL;
CREATE TABLE bench_attempt (
    effect int, number int, fence int, worker text, started_at timestamptz, send_by timestamptz,
    finished_at timestamptz, outcome text, provider_request_id text, detail text, PRIMARY KEY (effect, number)
);
CREATE TABLE bench_case (LIKE bench_run INCLUDING ALL);
INSERT INTO bench_case SELECT n, 1, 1, repeat('x', 300) FROM generate_series(1, 40000) AS n;
INSERT INTO bench_effect SELECT n, n, 'pending', clock_timestamp(), NULL, NULL, 0, 1, '' FROM generate_series(1, 40000) AS n;
