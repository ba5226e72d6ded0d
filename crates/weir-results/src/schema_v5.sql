-- Version 5: tests between two places, measured by `weir mesh run` or imported from other tools.

CREATE TABLE mesh_tests (
    id                 INTEGER PRIMARY KEY,
    run_id             INTEGER NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    unix_ns            INTEGER NOT NULL,
    source             TEXT    NOT NULL,
    outcome            TEXT    NOT NULL CHECK (outcome IN ('finished', 'failed')),
    reason             TEXT,
    from_cloud         TEXT    NOT NULL,
    from_region        TEXT    NOT NULL,
    from_zone          TEXT    NOT NULL,
    from_host          TEXT    NOT NULL,
    from_latitude      REAL,
    from_longitude     REAL,
    to_cloud           TEXT    NOT NULL,
    to_region          TEXT    NOT NULL,
    to_zone            TEXT    NOT NULL,
    to_host            TEXT    NOT NULL,
    to_latitude        REAL,
    to_longitude       REAL,
    distance_m         INTEGER,
    faster_than_light  INTEGER NOT NULL,
    rtt_count          INTEGER NOT NULL,
    rtt_min_ns         INTEGER,
    rtt_mean_ns        INTEGER,
    rtt_p50_ns         INTEGER,
    rtt_p95_ns         INTEGER,
    rtt_max_ns         INTEGER,
    rtt_jitter_ns      INTEGER,
    tcp_bps            INTEGER,
    tcp_streams        INTEGER,
    tcp_streams_bps    INTEGER,
    tcp_retransmits    INTEGER,
    tcp_cwnd_bytes     INTEGER,
    tcp_rtt_ns         INTEGER,
    congestion_control TEXT,
    from_window_bytes  INTEGER,
    to_window_bytes    INTEGER,
    udp_bps            INTEGER,
    udp_sent           INTEGER,
    udp_loss           REAL,
    udp_jitter_ns      INTEGER,
    udp_pdv_ns         INTEGER,
    udp_reordered      INTEGER,
    bytes              INTEGER NOT NULL,
    details            TEXT    NOT NULL
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
