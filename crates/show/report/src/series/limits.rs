//! How long a series may be. `docs/report-data.md` promises these numbers.

/// Entries of series of seconds, or of bins of them.
pub const MOST_SECONDS: u64 = 100_000;
/// Bins of a flow.
pub const MOST_FLOW_BINS: u64 = 1_000;
/// Entries of `flow_bins`, all flows together.
pub const MOST_FLOW_BIN_ENTRIES: u64 = 200_000;
/// Entries of `flow_events`.
pub const MOST_FLOW_EVENTS: usize = 200_000;
/// Entries of `flow_bursts`.
pub const MOST_FLOW_BURSTS: usize = 50_000;
/// Entries of `silences`.
pub const MOST_SILENCES: usize = 50_000;
/// Entries of `loss_windows`.
pub const MOST_LOSS_WINDOWS: usize = 100_000;
/// Entries of `tcp_seconds`.
pub const MOST_TCP_SECONDS: usize = 100_000;
/// Entries of `mtu_probes`.
pub const MOST_MTU_PROBES: usize = 100_000;
/// Entries of `rtt_by_length`.
pub const MOST_LENGTHS: u64 = 200;
/// Entries of `send_seconds`, `recv_seconds` and `frame_seconds`, each: a day is bins of five seconds.
pub const MOST_MEDIA_SECONDS: u64 = 20_000;
/// Entries of `load_seconds` and `viewer_seconds`, each.
pub const MOST_LOAD_SECONDS: u64 = 20_000;
/// Entries of `flow_changes`.
pub const MOST_FLOW_CHANGES: usize = 50_000;
/// Entries of `media_events`.
pub const MOST_MEDIA_EVENTS: usize = 2_000;
/// Characters of a `detail` of `media_events`.
pub const MOST_DETAIL_CHARACTERS: usize = 300;
/// Entries of `mesh_tests`: the pairs of 150 regions four times.
pub const MOST_MESH_TESTS: usize = 100_000;
/// Entries of `watch_history`; a path has 60 to 600.
pub const MOST_WATCH_POINTS: u64 = 12_000;
/// Entries of `watch_changes`.
pub const MOST_WATCH_CHANGES: usize = 2_000;
/// Entries of `watch_alarms`.
pub const MOST_WATCH_ALARMS: usize = 2_000;
/// Characters of a `reason` of `mesh_tests`.
pub const MOST_REASON_CHARACTERS: usize = 300;
