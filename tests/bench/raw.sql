-- The same safe commit with nothing around it: version step, command record, chained entry, in tables of their own.
CREATE TABLE bench_run (id int PRIMARY KEY, version int NOT NULL, head int NOT NULL, fields text NOT NULL);
CREATE TABLE bench_entry (
    run int, seq int, version int, kind text, actor text, body bytea, body_hash text, prev_hash text, hash text, at timestamptz,
    PRIMARY KEY (run, seq)
);
CREATE TABLE bench_command (run int, principal text, id text, request text, answer text, PRIMARY KEY (run, principal, id));
INSERT INTO bench_run SELECT n, 1, 1, repeat('x', 300) FROM generate_series(0, 63) AS n;
