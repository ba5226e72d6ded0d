-- Version 4: media carried by `weir send` and `weir recv`.
-- Words of `state` and `event` are bounded; `detail` is a sentence for people.

CREATE TABLE send_seconds (
    id              INTEGER PRIMARY KEY,
    run_id          INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns         INTEGER NOT NULL,
    duration_ns     INTEGER NOT NULL,
    receiver_rtt_ns INTEGER,
    frames          INTEGER NOT NULL,
    frames_skipped  INTEGER NOT NULL,
    sources         INTEGER NOT NULL,
    bytes           INTEGER NOT NULL,
    repairs         INTEGER NOT NULL,
    retransmitted   INTEGER NOT NULL,
    trials          INTEGER NOT NULL,
    refused         INTEGER NOT NULL,
    unsent          INTEGER NOT NULL,
    rejected        INTEGER NOT NULL,
    fec_sources     INTEGER,
    fec_window      INTEGER,
    cpu_ns          INTEGER NOT NULL
);
CREATE INDEX send_seconds_by_run ON send_seconds (run_id, unix_ns);

CREATE TABLE recv_seconds (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns       INTEGER NOT NULL,
    duration_ns   INTEGER NOT NULL,
    sender        INTEGER NOT NULL,
    rtt_ns        INTEGER NOT NULL,
    received      INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    repairs       INTEGER NOT NULL,
    lost          INTEGER NOT NULL,
    recovered     INTEGER NOT NULL,
    retransmitted INTEGER NOT NULL,
    overtaken     INTEGER NOT NULL,
    elsewhere     INTEGER NOT NULL,
    unrepaired    INTEGER NOT NULL,
    late          INTEGER NOT NULL,
    duplicates    INTEGER NOT NULL,
    rejected      INTEGER NOT NULL,
    asked         INTEGER NOT NULL,
    socket_drops  INTEGER NOT NULL,
    cpu_ns        INTEGER NOT NULL
);
CREATE INDEX recv_seconds_by_run ON recv_seconds (run_id, sender, unix_ns);

CREATE TABLE frame_seconds (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns       INTEGER NOT NULL,
    duration_ns   INTEGER NOT NULL,
    frames        INTEGER NOT NULL,
    damaged       INTEGER NOT NULL,
    lost          INTEGER NOT NULL,
    dropped       INTEGER NOT NULL,
    verified      INTEGER NOT NULL,
    unequal       INTEGER NOT NULL,
    budget_ns     INTEGER NOT NULL,
    delay_count   INTEGER NOT NULL,
    delay_min_ns  INTEGER,
    delay_p50_ns  INTEGER,
    delay_p90_ns  INTEGER,
    delay_p99_ns  INTEGER,
    delay_p999_ns INTEGER,
    delay_max_ns  INTEGER,
    used_count    INTEGER NOT NULL,
    used_min_ns   INTEGER,
    used_p50_ns   INTEGER,
    used_p90_ns   INTEGER,
    used_p99_ns   INTEGER,
    used_p999_ns  INTEGER,
    used_max_ns   INTEGER
);
CREATE INDEX frame_seconds_by_run ON frame_seconds (run_id, unix_ns);

CREATE TABLE flow_changes (
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns INTEGER NOT NULL,
    sender  INTEGER NOT NULL,
    flow    INTEGER NOT NULL,
    state   TEXT    NOT NULL CHECK (state IN ('used', 'silent', 'losing', 'trial'))
);
CREATE INDEX flow_changes_by_run ON flow_changes (run_id, sender, flow, unix_ns);

CREATE TABLE media_events (
    id      INTEGER PRIMARY KEY,
    run_id  INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns INTEGER NOT NULL,
    sender  INTEGER,
    event   TEXT    NOT NULL CHECK (event IN ('connected', 'disconnected', 'format', 'ended', 'switched', 'stopped',
                                              'restarted', 'slow_reader', 'refused')),
    detail  TEXT    NOT NULL
);
CREATE INDEX media_events_by_run ON media_events (run_id, unix_ns);
