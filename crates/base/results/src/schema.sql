-- The tables and views of a results database, at the version of schema.rs. docs/database.md describes every column.
-- Times are Unix nanoseconds UTC, durations nanoseconds, lengths bytes, unless the name says otherwise.
-- Readers use SELECT *: a new column comes last in its table.

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
    lost_records    INTEGER NOT NULL DEFAULT 0,
    note            TEXT    NOT NULL DEFAULT '',
    tags            TEXT    NOT NULL DEFAULT '[]'
);
CREATE INDEX runs_by_parent ON runs (parent_run_id);
CREATE INDEX runs_by_kind ON runs (kind, started_unix_ns);

-- What `weir diagnose` finds in a run, in short, so that lists need not diagnose it again.
CREATE TABLE verdicts (
    run_id       INTEGER PRIMARY KEY REFERENCES runs (run_id) ON DELETE CASCADE,
    last_unix_ns INTEGER NOT NULL,
    weir_version TEXT    NOT NULL,
    answer       TEXT,
    faults       INTEGER,
    notices      INTEGER,
    worst        TEXT
);

-- Records of measurements, one table for each kind.

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
    ecn_marked      INTEGER NOT NULL DEFAULT 0,
    ecn_cleared     INTEGER NOT NULL DEFAULT 0,
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
    id                           INTEGER PRIMARY KEY,
    run_id                       INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns                      INTEGER NOT NULL,
    side                         TEXT    NOT NULL CHECK (side IN ('local', 'remote')),
    udp_rcvbuf_errors            INTEGER NOT NULL,
    udp_in_errors                INTEGER NOT NULL,
    udp_sndbuf_errors            INTEGER NOT NULL,
    softnet_dropped              INTEGER NOT NULL,
    softnet_squeezed             INTEGER NOT NULL,
    interface_rx_dropped         INTEGER NOT NULL,
    interface_tx_dropped         INTEGER NOT NULL,
    qdisc_dropped                INTEGER NOT NULL DEFAULT 0,
    driver_rx_dropped            INTEGER NOT NULL DEFAULT 0,
    driver_tx_dropped            INTEGER NOT NULL DEFAULT 0,
    driver_rx_ring_empty         INTEGER NOT NULL DEFAULT 0,
    bw_in_allowance_exceeded     INTEGER NOT NULL DEFAULT 0,
    bw_out_allowance_exceeded    INTEGER NOT NULL DEFAULT 0,
    pps_allowance_exceeded       INTEGER NOT NULL DEFAULT 0,
    conntrack_allowance_exceeded INTEGER NOT NULL DEFAULT 0,
    linklocal_allowance_exceeded INTEGER NOT NULL DEFAULT 0,
    cpu_busy_cores               REAL,
    cpu_steal_cores              REAL,
    cpu_weir_cores               REAL,
    cpu_softirq_cores            REAL DEFAULT NULL,
    cpu_softirq_most_cores       REAL DEFAULT NULL,
    memory_bytes                 INTEGER NOT NULL
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

-- One direction of an emulated link.
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

-- Media carried by `weir send` and `weir recv`. `detail` is a sentence for people.

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
                                              'restarted', 'slow_reader', 'refused', 'key_renewed', 'residual_loss',
                                              'fec_exhausted', 'over_budget', 'flow_dark', 'rejected', 'held_up')),
    detail  TEXT    NOT NULL,
    state   TEXT    NOT NULL DEFAULT 'happened' CHECK (state IN ('happened', 'raised', 'cleared'))
);
CREATE INDEX media_events_by_run ON media_events (run_id, unix_ns);

-- Load on an origin, by `weir load`. Words of `kind` and `cause` are Weir's own; names in load_metrics are those of the
-- source.

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

-- Households of a population, played in virtual time.

CREATE TABLE household_sessions (
    id                   INTEGER PRIMARY KEY,
    run_id               INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns              INTEGER NOT NULL,
    household            INTEGER NOT NULL,
    variant              TEXT    NOT NULL,
    rate                 INTEGER NOT NULL,
    up_rate              INTEGER NOT NULL,
    rtt_ns               INTEGER NOT NULL,
    queue                TEXT    NOT NULL,
    congestion           TEXT    NOT NULL,
    device               TEXT    NOT NULL,
    abr                  TEXT    NOT NULL,
    length_ns            INTEGER NOT NULL,
    finished             INTEGER NOT NULL CHECK (finished IN (0, 1)),
    segments             INTEGER NOT NULL,
    throughput           INTEGER NOT NULL,
    fetching_ns          INTEGER NOT NULL,
    packets              INTEGER NOT NULL,
    retransmitted        INTEGER NOT NULL,
    smoothed_rtt_mean_ns INTEGER NOT NULL,
    smoothed_rtt_p95_ns  INTEGER NOT NULL,
    startup_ns           INTEGER,
    stalls               INTEGER NOT NULL,
    stalled_ns           INTEGER NOT NULL,
    played_ns            INTEGER NOT NULL,
    bitrate              INTEGER NOT NULL,
    first_20_s_bitrate   INTEGER NOT NULL,
    switches             INTEGER NOT NULL,
    queue_mean_bytes     INTEGER NOT NULL,
    queue_dropped        INTEGER NOT NULL,
    queue_marked         INTEGER NOT NULL,
    media_sojourn_mean_ns INTEGER DEFAULT NULL,
    media_sojourn_p99_ns INTEGER DEFAULT NULL,
    media_dropped        INTEGER NOT NULL DEFAULT 0,
    media_marked         INTEGER NOT NULL DEFAULT 0,
    pace                 INTEGER DEFAULT NULL,
    capacity             INTEGER DEFAULT NULL
);
CREATE INDEX household_sessions_by_run ON household_sessions (run_id, household, variant);

CREATE TABLE household_neighbours (
    id                  INTEGER PRIMARY KEY,
    run_id              INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns             INTEGER NOT NULL,
    household           INTEGER NOT NULL,
    variant             TEXT    NOT NULL,
    neighbour           TEXT    NOT NULL,
    kind                TEXT    NOT NULL CHECK (kind IN ('call', 'downloads')),
    count               INTEGER NOT NULL,
    lost                INTEGER NOT NULL,
    time_mean_ns        INTEGER,
    time_quantile_ns    INTEGER,
    beside_time_mean_ns INTEGER,
    throughput          INTEGER,
    beside_throughput   INTEGER,
    sojourn_mean_ns     INTEGER DEFAULT NULL,
    sojourn_p50_ns      INTEGER DEFAULT NULL,
    sojourn_p99_ns      INTEGER DEFAULT NULL,
    dropped             INTEGER NOT NULL DEFAULT 0,
    marked              INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX household_neighbours_by_run ON household_neighbours (run_id, household, variant, neighbour);

-- A second of a task of `weir testbed`.
CREATE TABLE task_seconds (
    id                INTEGER PRIMARY KEY,
    run_id            INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns           INTEGER NOT NULL,
    duration_ns       INTEGER NOT NULL,
    task              TEXT    NOT NULL,
    function          TEXT    NOT NULL,
    in_bytes          INTEGER NOT NULL,
    in_packets        INTEGER NOT NULL,
    in_payload_bytes  INTEGER NOT NULL,
    out_bytes         INTEGER NOT NULL,
    out_packets       INTEGER NOT NULL,
    out_payload_bytes INTEGER NOT NULL,
    cpu_ns            INTEGER NOT NULL,
    memory_bytes      INTEGER NOT NULL
);
CREATE INDEX task_seconds_by_run ON task_seconds (run_id, task, unix_ns);

-- Tests between two places, measured by `weir mesh run` or imported from other tools.

CREATE TABLE mesh_tests (
    id                      INTEGER PRIMARY KEY,
    run_id                  INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns                 INTEGER NOT NULL,
    source                  TEXT    NOT NULL,
    outcome                 TEXT    NOT NULL CHECK (outcome IN ('finished', 'failed')),
    reason                  TEXT,
    from_cloud              TEXT    NOT NULL,
    from_region             TEXT    NOT NULL,
    from_zone               TEXT    NOT NULL,
    from_host               TEXT    NOT NULL,
    from_latitude           REAL,
    from_longitude          REAL,
    to_cloud                TEXT    NOT NULL,
    to_region               TEXT    NOT NULL,
    to_zone                 TEXT    NOT NULL,
    to_host                 TEXT    NOT NULL,
    to_latitude             REAL,
    to_longitude            REAL,
    distance_m              INTEGER,
    faster_than_light       INTEGER NOT NULL,
    rtt_count               INTEGER NOT NULL,
    rtt_min_ns              INTEGER,
    rtt_mean_ns             INTEGER,
    rtt_p50_ns              INTEGER,
    rtt_p95_ns              INTEGER,
    rtt_max_ns              INTEGER,
    rtt_jitter_ns           INTEGER,
    tcp_bps                 INTEGER,
    tcp_streams             INTEGER,
    tcp_streams_bps         INTEGER,
    tcp_retransmits         INTEGER,
    tcp_cwnd_bytes          INTEGER,
    tcp_rtt_ns              INTEGER,
    congestion_control      TEXT,
    from_window_bytes       INTEGER,
    to_window_bytes         INTEGER,
    udp_bps                 INTEGER,
    udp_sent                INTEGER,
    udp_loss                REAL,
    udp_jitter_ns           INTEGER,
    udp_pdv_ns              INTEGER,
    udp_reordered           INTEGER,
    bytes                   INTEGER NOT NULL,
    details                 TEXT    NOT NULL,
    tcp_streams_retransmits INTEGER,
    tcp_streams_cwnd_bytes  INTEGER,
    tcp_streams_rtt_ns      INTEGER
);
CREATE INDEX mesh_tests_by_run ON mesh_tests (run_id, unix_ns);
CREATE INDEX mesh_tests_by_pair ON mesh_tests (from_cloud, from_region, to_cloud, to_region);

CREATE VIEW mesh_pairs AS
SELECT from_cloud, from_region, to_cloud, to_region,
       count(*) AS tests,
       max(unix_ns) AS last_unix_ns,
       max(distance_m) AS distance_m,
       avg(coalesce(rtt_p50_ns, rtt_mean_ns)) AS rtt_ns,
       avg(tcp_bps) AS tcp_bps,
       avg(tcp_streams_bps) AS tcp_streams_bps,
       avg(udp_loss) AS udp_loss
FROM mesh_tests
WHERE outcome = 'finished'
GROUP BY from_cloud, from_region, to_cloud, to_region;

-- What `weir watch` keeps of paths over months; not part of a run.

CREATE TABLE watch_paths (
    path_id INTEGER PRIMARY KEY,
    near    TEXT    NOT NULL,
    far     TEXT    NOT NULL,
    UNIQUE (near, far)
);

CREATE TABLE watch_cells (
    path_id    INTEGER NOT NULL REFERENCES watch_paths (path_id) ON DELETE CASCADE,
    span_s     INTEGER NOT NULL,
    start_s    INTEGER NOT NULL,
    sent       INTEGER NOT NULL,
    lost       INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    hops       INTEGER,
    rtt        BLOB    NOT NULL,
    PRIMARY KEY (path_id, span_s, start_s)
) WITHOUT ROWID;

CREATE TABLE watch_changes (
    path_id       INTEGER NOT NULL REFERENCES watch_paths (path_id) ON DELETE CASCADE,
    metric        TEXT    NOT NULL,
    found_unix_ns INTEGER NOT NULL,
    since_unix_ns INTEGER NOT NULL,
    before        REAL    NOT NULL,
    after         REAL    NOT NULL,
    low           REAL    NOT NULL,
    high          REAL    NOT NULL,
    detail        TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (path_id, metric, found_unix_ns)
) WITHOUT ROWID;

CREATE TABLE watch_counts (
    path_id   INTEGER NOT NULL REFERENCES watch_paths (path_id) ON DELETE CASCADE,
    event     TEXT    NOT NULL,
    day_s     INTEGER NOT NULL,
    watched_s INTEGER NOT NULL,
    events    INTEGER NOT NULL,
    PRIMARY KEY (path_id, event, day_s)
) WITHOUT ROWID;

-- Seconds in which a watcher's own host was disturbed.
CREATE TABLE watch_excluded (
    near    TEXT    NOT NULL,
    start_s INTEGER NOT NULL,
    cause   TEXT    NOT NULL,
    value   REAL    NOT NULL,
    PRIMARY KEY (near, start_s)
) WITHOUT ROWID;

-- run_id is no reference: events stay when a run is deleted.
CREATE TABLE watch_events (
    id      INTEGER PRIMARY KEY,
    path_id INTEGER NOT NULL REFERENCES watch_paths (path_id) ON DELETE CASCADE,
    unix_ns INTEGER NOT NULL,
    event   TEXT    NOT NULL,
    state   TEXT    NOT NULL CHECK (state IN ('happened', 'raised', 'cleared')),
    subject TEXT    NOT NULL,
    run_id  INTEGER,
    detail  TEXT    NOT NULL
);
CREATE INDEX watch_events_by_path ON watch_events (path_id, unix_ns);

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
