//! Where a receiver gets its packets: it reads the sockets itself, or several threads do, each those of its share of the flows,
//! and hand on batches. No lock is taken for a packet: a batch is a message.

use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Scope;
use std::time::Duration;

use weir_net::{UdpSocket, clock};
use weir_wire::flows_of_share;

use super::account::StreamAccount;
use super::interleave::{Batch, Interleaver};
use super::reader::{SocketReader, Wanted};
use crate::MeasureError;

/// Packets of a full batch, and the time after which a smaller one is handed on.
const FULL: usize = 512;
const HOLD_NS: u64 = 2_000_000;
/// Batches under way, for each thread: beyond these, packets wait at the sockets.
const UNDER_WAY: usize = 64;
const PATIENCE: Duration = Duration::from_millis(1);

/// What was read in a whole test.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub buffers: u64,
    pub packets: u64,
    /// CPU time of other threads than that of the receiver, nanoseconds.
    pub cpu_ns: u64,
}

/// What a receiver took in one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// There was something.
    pub any: bool,
    /// All packets that arrived before this time are in the account, monotonic nanoseconds.
    pub until_ns: u64,
}

type FromReader = (u16, Result<(Batch, Totals), MeasureError>);

/// The source of a receiver's packets.
pub(super) enum Intake<'s> {
    /// It reads itself.
    Own(SocketReader<'s>),
    /// Others read for it.
    Threads {
        inbox: Inbox<FromReader>,
        interleaver: Interleaver,
        totals: Vec<Totals>,
    },
}

impl<'s> Intake<'s> {
    /// With so many threads, at most one for each socket, that read `sockets` until the intake is dropped.
    pub(super) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        wanted: Wanted,
        sockets: &'s [UdpSocket],
        threads: u16,
    ) -> Result<Self, MeasureError>
    where
        's: 'scope,
    {
        if threads <= 1 {
            return Ok(Intake::Own(SocketReader::new(wanted, sockets)?));
        }
        let (out, inbox) = sync_channel(UNDER_WAY * usize::from(threads));
        for thread in 0..threads {
            let own = flows_of_share(thread, threads, sockets.len() as u16);
            let own = &sockets[usize::from(own.start)..usize::from(own.end)];
            let (reader, out) = (SocketReader::new(wanted, own)?, out.clone());
            std::thread::Builder::new()
                .name("flows-read".into())
                .spawn_scoped(scope, move || read_for(reader, thread, &out))
                .map_err(|error| MeasureError::thread(&error))?;
        }
        Ok(Intake::Threads {
            inbox,
            interleaver: Interleaver::new(threads, clock::monotonic_ns()),
            totals: vec![Totals::default(); usize::from(threads)],
        })
    }

    /// Enters what has arrived into the account; waits a millisecond at most.
    pub(super) fn take(&mut self, account: &mut StreamAccount) -> Result<Taken, MeasureError> {
        match self {
            Intake::Own(reader) => {
                let any = reader.read(|read| match read {
                    Some(packet) => packet.enter(account),
                    None => account.reject(),
                })?;
                let until_ns = reader.until_ns();
                Ok(Taken { any, until_ns })
            }
            Intake::Threads {
                inbox,
                interleaver,
                totals,
            } => {
                let first = match inbox.recv_timeout(PATIENCE) {
                    Ok(first) => Some(first),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(MeasureError::Internal("the reading threads broke off".into()));
                    }
                };
                let mut any = false;
                for (thread, read) in first.into_iter().chain(inbox.try_iter()) {
                    let (batch, total) = read?;
                    any |= !batch.packets.is_empty() || batch.rejected > 0;
                    (0..batch.rejected).for_each(|_| account.reject());
                    totals[usize::from(thread)] = total;
                    interleaver.add(thread, batch);
                }
                while let Some(packet) = interleaver.next() {
                    packet.enter(account);
                }
                let until_ns = interleaver.until_ns();
                Ok(Taken { any, until_ns })
            }
        }
    }

    /// Enters what was read and waits for earlier packets of another thread, and ends.
    pub(super) fn finish(self, account: &mut StreamAccount) -> Totals {
        match self {
            Intake::Own(reader) => Totals {
                buffers: reader.buffers,
                packets: reader.packets,
                cpu_ns: 0,
            },
            Intake::Threads {
                mut interleaver,
                totals,
                ..
            } => {
                interleaver.end();
                while let Some(packet) = interleaver.next() {
                    packet.enter(account);
                }
                totals.iter().fold(Totals::default(), |sum, one| Totals {
                    buffers: sum.buffers + one.buffers,
                    packets: sum.packets + one.packets,
                    cpu_ns: sum.cpu_ns + one.cpu_ns,
                })
            }
        }
    }
}

/// Reads for a receiver until it takes nothing more.
fn read_for(mut reader: SocketReader<'_>, thread: u16, out: &SyncSender<FromReader>) {
    clock::sharpen_timers();
    let mut batch = Batch::default();
    let mut handed_on_ns = clock::monotonic_ns();
    loop {
        let read = reader.read(|read| match read {
            Some(packet) => batch.packets.push(packet),
            None => batch.rejected += 1,
        });
        let now = clock::monotonic_ns();
        if read.is_ok() && batch.packets.len() < FULL && now < handed_on_ns + HOLD_NS {
            continue;
        }
        let has_failed = read.is_err();
        let message = read.map(|_| {
            batch.until_ns = reader.until_ns();
            let total = Totals {
                buffers: reader.buffers,
                packets: reader.packets,
                cpu_ns: clock::thread_cpu_ns(),
            };
            (std::mem::take(&mut batch), total)
        });
        if out.send((thread, message)).is_err() || has_failed {
            return;
        }
        handed_on_ns = now;
    }
}
