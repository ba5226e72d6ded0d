//! Records of populations of households that were played in virtual time. They must not know how.

use crate::rows::records;

records! {
    /// A household's session with one variant of pacing (table `household_sessions`). Its line, viewer and neighbours are the
    /// same for all variants.
    pub struct HouseholdSession {
        /// Start of the run: households have no time of their own.
        unix_ns: u64,
        /// Number of the household, from 0.
        household: u64,
        /// Name of the variant.
        variant: String,
        /// Rate of the line towards the home, bits per second.
        rate: u64,
        /// Rate of the line from the home, bits per second.
        up_rate: u64,
        /// Round-trip time of the line with empty queues.
        rtt_ns: u64,
        /// Queue of the line, as in a link file.
        queue: String,
        /// Congestion control of the servers.
        congestion: String,
        /// Name of the viewer's device.
        device: String,
        /// ABR rule of the player.
        abr: String,
        /// Length of the title.
        length_ns: u64,
        /// Whether all of it was played; a session ends after three times its length.
        finished: bool,
        /// Segments that were fetched.
        segments: u64,
        /// Median over the segments of their bits over the time from the request to the last byte.
        throughput: u64,
        /// Time in which segments were fetched.
        fetching_ns: u64,
        /// Packets that the media connection sent.
        packets: u64,
        /// Of these, retransmissions.
        retransmitted: u64,
        /// Mean of the connection's smoothed round-trip time while it delivers, at each acknowledgement.
        smoothed_rtt_mean_ns: u64,
        /// 95 % of these are at or below this.
        smoothed_rtt_p95_ns: u64,
        /// From the request to the first picture; none if there was no picture.
        startup_ns: Option<u64>,
        /// Stalls.
        stalls: u64,
        /// Total duration of the stalls.
        stalled_ns: u64,
        /// Media played.
        played_ns: u64,
        /// Mean bit rate of the rungs, weighted by the time played.
        bitrate: u64,
        /// The same over the first 20 s played.
        first_20_s_bitrate: u64,
        /// Rung switches.
        switches: u64,
        /// Mean queue of the line towards the home over the length of the title, bytes.
        queue_mean_bytes: u64,
        /// Packets that this queue dropped in that time.
        queue_dropped: u64,
        /// Packets that it marked.
        queue_marked: u64,
        /// Mean waiting time of the media connection's packets in it; none if none was sent.
        media_sojourn_mean_ns: Option<u64>,
        /// 99 % of these are at or below this.
        media_sojourn_p99_ns: Option<u64>,
        /// Packets of the media connection that it dropped.
        media_dropped: u64,
        /// Packets of the media connection that it marked.
        media_marked: u64,
        /// Highest pace of payload at which the server sent; none if it never paced.
        pace: Option<u64>,
        /// The player's last estimate of what the path would carry without a pace, of payload; none if it had none.
        capacity: Option<u64>,
    }

    /// What a neighbour of a household got beside a session (table `household_neighbours`), over the length of the title.
    pub struct HouseholdNeighbour {
        /// Start of the run.
        unix_ns: u64,
        /// Number of the household.
        household: u64,
        /// Name of the variant.
        variant: String,
        /// Name of the neighbour.
        neighbour: String,
        /// `call` or `downloads`.
        kind: String,
        /// Packets of the call that arrived, or downloads that completed.
        count: u64,
        /// Packets of the call that were lost.
        lost: u64,
        /// Mean one-way delay of the call's packets, or mean time of the downloads.
        time_mean_ns: Option<u64>,
        /// 95 % of the delays are at or below this; of downloads the median time.
        time_quantile_ns: Option<u64>,
        /// The mean over those packets, or downloads, that coincide with fetching: a packet that arrives meanwhile, a download for
        /// at least half of its time.
        beside_time_mean_ns: Option<u64>,
        /// Bits over the time of the downloads; none for a call.
        throughput: Option<u64>,
        /// The same for those that coincide with fetching.
        beside_throughput: Option<u64>,
        /// Mean waiting time of the neighbour's packets in the queue towards the home; none if none was sent.
        sojourn_mean_ns: Option<u64>,
        /// Half of these are at or below this.
        sojourn_p50_ns: Option<u64>,
        /// 99 % of these are at or below this.
        sojourn_p99_ns: Option<u64>,
        /// Packets of the neighbour that this queue dropped.
        dropped: u64,
        /// Packets of the neighbour that it marked.
        marked: u64,
    }
}
