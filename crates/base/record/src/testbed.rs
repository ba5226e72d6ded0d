//! Records of testbeds. They must not know what a task does.

use crate::rows::records;

records! {
    /// A second of a task of a testbed, by the kernel's counters (table `task_seconds`). Counts are of this second alone.
    pub struct TaskSecond {
        /// End of the second.
        unix_ns: u64 => max,
        /// Time that the counts cover.
        duration_ns: u64 => sum,
        /// Name of the task.
        task: String => same,
        /// Its function.
        function: String => same,
        /// Bytes received from its servers, link headers included.
        in_bytes: u64 => sum,
        /// Packets in them; a segment that the kernel did not cut counts as one.
        in_packets: u64 => sum,
        /// TCP payload in them.
        in_payload_bytes: u64 => sum,
        /// Bytes sent to its clients, link headers included.
        out_bytes: u64 => sum,
        /// Packets in them.
        out_packets: u64 => sum,
        /// TCP payload in them.
        out_payload_bytes: u64 => sum,
        /// CPU time of all its processes.
        cpu_ns: u64 => sum,
        /// Resident memory of all its processes at the end of the second.
        memory_bytes: u64 => later,
    }
}
