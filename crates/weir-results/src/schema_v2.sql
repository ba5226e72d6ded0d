-- Version 2: the account of an emulated link.

CREATE TABLE link_seconds (
    id                  INTEGER PRIMARY KEY,
    run_id              INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction           TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns             INTEGER NOT NULL,
    duration_ns         INTEGER NOT NULL,
    offered             INTEGER NOT NULL,
    offered_bytes       INTEGER NOT NULL,
    delivered           INTEGER NOT NULL,
    delivered_bytes     INTEGER NOT NULL,
    dropped_too_big     INTEGER NOT NULL,
    dropped_long_packet INTEGER NOT NULL,
    dropped_flow_rate   INTEGER NOT NULL,
    dropped_packet_rate INTEGER NOT NULL,
    dropped_extra_flow  INTEGER NOT NULL,
    dropped_dark        INTEGER NOT NULL,
    dropped_loss        INTEGER NOT NULL,
    dropped_queue       INTEGER NOT NULL,
    duplicated          INTEGER NOT NULL,
    corrupted           INTEGER NOT NULL,
    own_losses          INTEGER NOT NULL,
    most_queued_bytes   INTEGER NOT NULL,
    lateness_count      INTEGER NOT NULL,
    lateness_min_ns     INTEGER,
    lateness_p50_ns     INTEGER,
    lateness_p90_ns     INTEGER,
    lateness_p99_ns     INTEGER,
    lateness_p999_ns    INTEGER,
    lateness_max_ns     INTEGER,
    cpu_ns              INTEGER NOT NULL
);
CREATE INDEX link_seconds_by_run ON link_seconds (run_id, direction, unix_ns);
