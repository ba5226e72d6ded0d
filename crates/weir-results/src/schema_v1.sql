-- Version 1. Never edit this file once released: add a migration.
-- Times are Unix nanoseconds UTC, durations nanoseconds, lengths bytes, unless the name says otherwise.

CREATE TABLE runs (
    -- AUTOINCREMENT so that a number that somebody wrote down never comes to mean another run.
    run_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_run_id   INTEGER REFERENCES runs (run_id) ON DELETE CASCADE,
    kind            TEXT    NOT NULL,
    target          TEXT    NOT NULL,
    started_unix_ns INTEGER NOT NULL,
    ended_unix_ns   INTEGER,
    last_unix_ns    INTEGER NOT NULL,
    outcome         TEXT    NOT NULL CHECK (outcome IN ('running', 'finished', 'interrupted', 'failed')),
    reason          TEXT,
    local_host      TEXT,
    remote_host     TEXT,
    parameters      TEXT,
    summary         TEXT,
    weir_version    TEXT    NOT NULL,
    merged_records  INTEGER NOT NULL DEFAULT 0,
    lost_records    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_parent ON runs (parent_run_id);
CREATE INDEX runs_by_kind ON runs (kind, started_unix_ns);

CREATE TABLE rtt_packets (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    sequence       INTEGER NOT NULL,
    window         INTEGER NOT NULL,
    position       INTEGER NOT NULL,
    window_size    INTEGER NOT NULL,
    length         INTEGER NOT NULL,
    sent_unix_ns   INTEGER NOT NULL,
    rtt_ns         INTEGER,
    network_rtt_ns INTEGER,
    owd_forward_ns INTEGER,
    owd_reverse_ns INTEGER,
    delta_ttl      INTEGER,
    lost           INTEGER NOT NULL,
    duplicates     INTEGER NOT NULL
);
CREATE INDEX rtt_packets_by_run ON rtt_packets (run_id, sequence);

CREATE TABLE stream_seconds (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction   TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns     INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    received    INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    lost        INTEGER NOT NULL,
    late        INTEGER NOT NULL,
    duplicates  INTEGER NOT NULL,
    reordered   INTEGER NOT NULL,
    rejected    INTEGER NOT NULL,
    owd_count   INTEGER NOT NULL,
    owd_min_ns  INTEGER,
    owd_p50_ns  INTEGER,
    owd_p90_ns  INTEGER,
    owd_p99_ns  INTEGER,
    owd_p999_ns INTEGER,
    owd_max_ns  INTEGER
);
CREATE INDEX stream_seconds_by_run ON stream_seconds (run_id, direction, unix_ns);

CREATE TABLE flow_seconds (
    id              INTEGER PRIMARY KEY,
    run_id          INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction       TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns         INTEGER NOT NULL,
    flow            INTEGER NOT NULL,
    port            INTEGER NOT NULL,
    received        INTEGER NOT NULL,
    bytes           INTEGER NOT NULL,
    lost            INTEGER NOT NULL,
    late            INTEGER NOT NULL,
    duplicates      INTEGER NOT NULL,
    reversals       INTEGER NOT NULL,
    sequence_breaks INTEGER NOT NULL,
    bursts          INTEGER NOT NULL,
    longest_burst   INTEGER NOT NULL,
    socket_drops    INTEGER NOT NULL,
    owd_count       INTEGER NOT NULL,
    owd_min_ns      INTEGER,
    owd_p50_ns      INTEGER,
    owd_p90_ns      INTEGER,
    owd_p99_ns      INTEGER,
    owd_p999_ns     INTEGER,
    owd_max_ns      INTEGER
);
CREATE INDEX flow_seconds_by_run ON flow_seconds (run_id, direction, flow, unix_ns);

CREATE TABLE stream_bursts (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction      TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns        INTEGER NOT NULL,
    first_sequence INTEGER NOT NULL,
    length_packets INTEGER NOT NULL
);
CREATE INDEX stream_bursts_by_run ON stream_bursts (run_id, direction, unix_ns);

CREATE TABLE flow_bursts (
    id              INTEGER PRIMARY KEY,
    run_id          INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction       TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns         INTEGER NOT NULL,
    flow            INTEGER NOT NULL,
    port            INTEGER NOT NULL,
    first_sequence  INTEGER NOT NULL,
    length_packets  INTEGER NOT NULL,
    received_before INTEGER NOT NULL,
    bytes_before    INTEGER NOT NULL,
    bursts_before   INTEGER NOT NULL
);
CREATE INDEX flow_bursts_by_run ON flow_bursts (run_id, direction, flow, unix_ns);

CREATE TABLE silences (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction   TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns     INTEGER NOT NULL,
    flow        INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL
);
CREATE INDEX silences_by_run ON silences (run_id, direction, flow, unix_ns);

CREATE TABLE loss_windows (
    id           INTEGER PRIMARY KEY,
    run_id       INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction    TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns      INTEGER NOT NULL,
    duration_ns  INTEGER NOT NULL,
    lost         INTEGER NOT NULL,
    flows_losing INTEGER NOT NULL,
    flows        TEXT    NOT NULL
);
CREATE INDEX loss_windows_by_run ON loss_windows (run_id, direction, unix_ns);

CREATE TABLE sender_seconds (
    id                     INTEGER PRIMARY KEY,
    run_id                 INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction              TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns                INTEGER NOT NULL,
    duration_ns            INTEGER NOT NULL,
    sent                   INTEGER NOT NULL,
    bytes                  INTEGER NOT NULL,
    sends                  INTEGER NOT NULL,
    refused                INTEGER NOT NULL,
    schedule_error_count   INTEGER NOT NULL,
    schedule_error_min_ns  INTEGER,
    schedule_error_p50_ns  INTEGER,
    schedule_error_p90_ns  INTEGER,
    schedule_error_p99_ns  INTEGER,
    schedule_error_p999_ns INTEGER,
    schedule_error_max_ns  INTEGER,
    cpu_ns                 INTEGER NOT NULL
);
CREATE INDEX sender_seconds_by_run ON sender_seconds (run_id, direction, unix_ns);

CREATE TABLE host_seconds (
    id                   INTEGER PRIMARY KEY,
    run_id               INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns              INTEGER NOT NULL,
    side                 TEXT    NOT NULL CHECK (side IN ('local', 'remote')),
    udp_rcvbuf_errors    INTEGER NOT NULL,
    udp_in_errors        INTEGER NOT NULL,
    udp_sndbuf_errors    INTEGER NOT NULL,
    softnet_dropped      INTEGER NOT NULL,
    softnet_squeezed     INTEGER NOT NULL,
    interface_rx_dropped INTEGER NOT NULL,
    interface_tx_dropped INTEGER NOT NULL,
    cpu_busy_cores       REAL,
    cpu_steal_cores      REAL,
    cpu_weir_cores       REAL,
    memory_bytes         INTEGER NOT NULL
);
CREATE INDEX host_seconds_by_run ON host_seconds (run_id, side, unix_ns);

CREATE TABLE tcp_seconds (
    id                 INTEGER PRIMARY KEY,
    run_id             INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction          TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns            INTEGER NOT NULL,
    duration_ns        INTEGER NOT NULL,
    streams            INTEGER NOT NULL,
    stream             INTEGER NOT NULL,
    bytes              INTEGER NOT NULL,
    retransmits        INTEGER NOT NULL,
    rtt_ns             INTEGER NOT NULL,
    cwnd_bytes         INTEGER NOT NULL,
    congestion_control TEXT    NOT NULL
);
CREATE INDEX tcp_seconds_by_run ON tcp_seconds (run_id, direction, streams, stream, unix_ns);

CREATE TABLE mtu_probes (
    id              INTEGER PRIMARY KEY,
    run_id          INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    direction       TEXT    NOT NULL CHECK (direction IN ('forward', 'reverse')),
    unix_ns         INTEGER NOT NULL,
    size            INTEGER NOT NULL,
    acknowledged    INTEGER NOT NULL,
    refused_locally INTEGER NOT NULL
);
CREATE INDEX mtu_probes_by_run ON mtu_probes (run_id, direction, unix_ns);

-- The views below give the columns of the Port 9 Labs cloud-video-tests databases, with run_id after them.
-- Sums run over rows, not over ranges of equal times, so that two rows of one nanosecond still count in turn;
-- they are partitioned by run_id so that a condition on run_id reads that run alone.

CREATE VIEW rtt AS
SELECT id,
       sequence                               AS sequence_number,
       CASE WHEN lost THEN NULL ELSE window_size END AS window_size,
       CASE WHEN lost THEN NULL ELSE length END      AS packet_length,
       CASE WHEN lost THEN NULL ELSE rtt_ns END      AS rtt,
       CASE WHEN lost THEN NULL ELSE delta_ttl END   AS delta_ttl,
       run_id
FROM rtt_packets;

CREATE VIEW drops AS
SELECT id                                   AS x,
       sum(lost) OVER so_far                AS packets_dropped,
       sum(received) OVER so_far            AS packets_total,
       sum(duplicates) OVER so_far          AS duplicates,
       bytes * 8.0 / nullif(duration_ns, 0) AS media_rate,
       unix_ns                              AS timestamp,
       run_id
FROM stream_seconds
WINDOW so_far AS (PARTITION BY run_id, direction ORDER BY unix_ns, id
                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY id;

CREATE VIEW bursts AS
SELECT id              AS x,
       port,
       received_before AS packets_received,
       bytes_before    AS bytes_received,
       bursts_before   AS burst_errors,
       length_packets  AS burst_length,
       unix_ns         AS timestamp,
       run_id
FROM flow_bursts;

CREATE VIEW sbursts AS
SELECT id             AS x,
       length_packets AS burst_length,
       unix_ns        AS timestamp,
       run_id
FROM stream_bursts;

CREATE VIEW flows AS
SELECT id                               AS x,
       port,
       sum(bursts) OVER so_far          AS burst_count,
       sum(reversals) OVER so_far       AS reverses,
       sum(duplicates) OVER so_far      AS duplicates,
       max(longest_burst) OVER so_far   AS longest_burst,
       sum(sequence_breaks) OVER so_far AS sequence_breaks,
       unix_ns                          AS timestamp,
       run_id
FROM flow_seconds
WINDOW so_far AS (PARTITION BY run_id, direction, flow ORDER BY unix_ns, id
                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY id;
