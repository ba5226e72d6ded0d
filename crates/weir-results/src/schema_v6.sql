-- Version 6: load on an origin, by `weir load`; what senders of several TCP connections between two places say.
-- Words of `kind` and `cause` are Weir's own; names in load_metrics are those of whoever told them.

CREATE TABLE load_seconds (
    id                     INTEGER PRIMARY KEY,
    run_id                 INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns                INTEGER NOT NULL,
    duration_ns            INTEGER NOT NULL,
    kind                   TEXT    NOT NULL,
    requests               INTEGER NOT NULL,
    failed                 INTEGER NOT NULL,
    body_bytes             INTEGER NOT NULL,
    all_bytes              INTEGER NOT NULL,
    connections            INTEGER NOT NULL,
    first_byte_count       INTEGER NOT NULL,
    first_byte_min_ns      INTEGER,
    first_byte_p50_ns      INTEGER,
    first_byte_p90_ns      INTEGER,
    first_byte_p99_ns      INTEGER,
    first_byte_p999_ns     INTEGER,
    first_byte_max_ns      INTEGER,
    last_byte_count        INTEGER NOT NULL,
    last_byte_min_ns       INTEGER,
    last_byte_p50_ns       INTEGER,
    last_byte_p90_ns       INTEGER,
    last_byte_p99_ns       INTEGER,
    last_byte_p999_ns      INTEGER,
    last_byte_max_ns       INTEGER
);
CREATE INDEX load_seconds_by_run ON load_seconds (run_id, kind, unix_ns);

CREATE TABLE load_failures (
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    cause   TEXT    NOT NULL,
    count   INTEGER NOT NULL
);
CREATE INDEX load_failures_by_run ON load_failures (run_id, kind, cause, unix_ns);

CREATE TABLE viewer_seconds (
    id                     INTEGER PRIMARY KEY,
    run_id                 INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns                INTEGER NOT NULL,
    duration_ns            INTEGER NOT NULL,
    viewers                INTEGER NOT NULL,
    arrivals               INTEGER NOT NULL,
    sessions               INTEGER NOT NULL,
    gave_up                INTEGER NOT NULL,
    played_ns              INTEGER NOT NULL,
    stalls                 INTEGER NOT NULL,
    stalled_ns             INTEGER NOT NULL,
    switches               INTEGER NOT NULL,
    startup_count          INTEGER NOT NULL,
    startup_min_ns         INTEGER,
    startup_p50_ns         INTEGER,
    startup_p90_ns         INTEGER,
    startup_p99_ns         INTEGER,
    startup_p999_ns        INTEGER,
    startup_max_ns         INTEGER,
    schedule_error_count   INTEGER NOT NULL,
    schedule_error_min_ns  INTEGER,
    schedule_error_p50_ns  INTEGER,
    schedule_error_p90_ns  INTEGER,
    schedule_error_p99_ns  INTEGER,
    schedule_error_p999_ns INTEGER,
    schedule_error_max_ns  INTEGER,
    cpu_ns                 INTEGER NOT NULL
);
CREATE INDEX viewer_seconds_by_run ON viewer_seconds (run_id, unix_ns);

CREATE TABLE load_metrics (
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns INTEGER NOT NULL,
    source  TEXT    NOT NULL CHECK (source IN ('scrape', 'host')),
    name    TEXT    NOT NULL,
    value   REAL
);
CREATE INDEX load_metrics_by_run ON load_metrics (run_id, source, name, unix_ns);

CREATE TABLE load_histograms (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns     INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    time        TEXT    NOT NULL,
    count       INTEGER NOT NULL,
    min_ns      INTEGER NOT NULL,
    max_ns      INTEGER NOT NULL,
    sum_ns      INTEGER NOT NULL,
    buckets     TEXT    NOT NULL
);
CREATE INDEX load_histograms_by_run ON load_histograms (run_id, kind, time, unix_ns);

ALTER TABLE mesh_tests ADD COLUMN tcp_streams_retransmits INTEGER;
ALTER TABLE mesh_tests ADD COLUMN tcp_streams_cwnd_bytes INTEGER;
ALTER TABLE mesh_tests ADD COLUMN tcp_streams_rtt_ns INTEGER;
