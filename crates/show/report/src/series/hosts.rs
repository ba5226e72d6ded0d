//! What the hosts did, second by second. It must not know what was measured meanwhile.

use weir_results::{Record, StoreError, Table};

use super::bins::{Binner, Layout, Name, Rule};
use super::streams::bins_for;
use super::{Named, Source};

const SECOND_NS: u64 = 1_000_000_000;

const HOST: Layout = Layout {
    subject: &[Name::Word("side")],
    values: &[
        ("udp_rcvbuf_errors", Rule::Sum),
        ("udp_in_errors", Rule::Sum),
        ("udp_sndbuf_errors", Rule::Sum),
        ("softnet_dropped", Rule::Sum),
        ("softnet_squeezed", Rule::Sum),
        ("interface_rx_dropped", Rule::Sum),
        ("interface_tx_dropped", Rule::Sum),
        ("cpu_busy_cores", Rule::Mean),
        ("cpu_steal_cores", Rule::Mean),
        ("cpu_weir_cores", Rule::Mean),
        ("memory_bytes", Rule::Largest),
    ],
};

pub(super) fn host_seconds(source: Source<'_>, rows: u64) -> Result<Named, StoreError> {
    let table = Table::HostSeconds;
    let bin_ns = bins_for(source, table, rows)?;
    let series = Binner::read(source, table, HOST, bin_ns, |binner, record| {
        let Record::HostSecond(row) = record else { return };
        binner.add(
            (row.side.as_str(), 0),
            source.began(row.unix_ns, SECOND_NS),
            &[
                row.udp_rcvbuf_errors.into(),
                row.udp_in_errors.into(),
                row.udp_sndbuf_errors.into(),
                row.softnet_dropped.into(),
                row.softnet_squeezed.into(),
                row.interface_rx_dropped.into(),
                row.interface_tx_dropped.into(),
                row.cpu_busy.into(),
                row.cpu_steal.into(),
                row.cpu_weir.into(),
                row.memory_bytes.into(),
            ],
        );
    })?;
    Ok(series.map(|series| ("host_seconds", series)))
}
