//! Puts a server further away: a TCP relay on this host that hands everything on half a round trip later, both ways, and
//! lets the first byte of a connection wait for the round trip that its handshake would take. It must not know what the
//! bytes mean.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Pieces on their way in one direction of a connection, 16 MiB: more than any rate x round trip here.
const IN_FLIGHT: usize = 256;
/// How long what the server has said last may take when the client has gone.
const REST: Duration = Duration::from_secs(5);

/// What has been handed on.
#[derive(Debug, Default)]
pub struct Carried {
    /// Connections.
    pub connections: AtomicU64,
    /// Bytes from the server, HTTP's heads included.
    pub bytes: AtomicU64,
}

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub struct Distance {
    address: SocketAddr,
    carried: Arc<Carried>,
    ending: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Distance {
    /// Puts `server` a round trip away, behind an address of this host's own. Timers count in milliseconds: a round trip
    /// is up to 2 ms longer. The relay's thread runs on the cores of the thread that calls.
    ///
    /// # Errors
    /// When there is no port or no thread.
    pub fn start(server: SocketAddr, round_trip: Duration) -> io::Result<Distance> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (carried, ending) = (Arc::<Carried>::default(), Arc::<Notify>::default());
        let (counts, end) = (carried.clone(), ending.clone());
        let thread = std::thread::Builder::new()
            .name("distance".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = relay(listener, server, round_trip, counts) => {}
                        () = end.notified() => {}
                    }
                });
            })?;
        Ok(Distance {
            address,
            carried,
            ending,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has handed on so far.
    pub fn carried(&self) -> &Carried {
        &self.carried
    }
}

impl Drop for Distance {
    fn drop(&mut self) {
        self.ending.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that broke off has said why.
            let _ = thread.join();
        }
    }
}

async fn relay(
    listener: std::net::TcpListener,
    server: SocketAddr,
    round_trip: Duration,
    carried: Arc<Carried>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    loop {
        let Ok((near, _)) = listener.accept().await else {
            // No descriptors, most likely: others will be given back.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        carried.connections.fetch_add(1, Ordering::Relaxed);
        let carried = carried.clone();
        // A connection that breaks off is the business of its two ends.
        tokio::spawn(async move { connection(near, server, round_trip, &carried).await });
    }
}

async fn connection(
    near: TcpStream,
    server: SocketAddr,
    round_trip: Duration,
    carried: &Arc<Carried>,
) -> io::Result<()> {
    let opened = Instant::now() + round_trip;
    let far = TcpStream::connect(server).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (near_reads, near_writes) = near.into_split();
    let (far_reads, far_writes) = far.into_split();
    let delay = round_trip / 2;
    let asked = carry(near_reads, far_writes, delay, opened, None);
    let answered = carry(far_reads, near_writes, delay, opened, Some(carried.clone()));
    tokio::pin!(asked, answered);
    tokio::select! {
        // The server has said all: that ends the connection.
        () = &mut answered => {}
        () = &mut asked => {
            // A client that has gone needs nothing any more, one that only said all does.
            let _ = timeout(REST, answered).await;
        }
    }
    Ok(())
}

/// Hands on what comes, each piece when its time is there.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    delay: Duration,
    opened: Instant,
    carried: Option<Arc<Carried>>,
) {
    let (sender, mut pieces) = mpsc::channel::<(Instant, Vec<u8>)>(IN_FLIGHT);
    let reading = async move {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            match from.read_buf(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let due = Instant::now().max(opened) + delay;
            if sender.send((due, piece)).await.is_err() {
                return;
            }
        }
    };
    let writing = async move {
        while let Some((due, piece)) = pieces.recv().await {
            sleep_until(due).await;
            if let Some(carried) = &carried {
                carried.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
        // It may be closed already.
        let _ = to.shutdown().await;
    };
    tokio::join!(reading, writing);
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    use super::*;

    #[test]
    fn bytes_come_whole_and_no_earlier_than_the_distance_lets_them() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let expected = content.clone();
        let serving = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut client, _) = server.accept().expect("a client");
                let mut asked = [0; 4];
                client.read_exact(&mut asked).expect("a request");
                client.write_all(&content).expect("an answer");
            }
        });
        let round_trip = Duration::from_millis(60);
        let distance = Distance::start(address, round_trip).expect("a relay");
        for _ in 0..2 {
            let began = Instant::now();
            let mut client = TcpStream::connect(distance.address()).expect("a connection");
            client.write_all(b"give").expect("sent");
            let mut first = [0; 1];
            client.read_exact(&mut first).expect("a byte");
            // One round trip for the handshake, one for the request.
            assert!(began.elapsed() >= 2 * round_trip, "{:?}", began.elapsed());
            let mut got = first.to_vec();
            client.read_to_end(&mut got).expect("the rest");
            assert!(got == expected);
        }
        serving.join().expect("served");
        assert_eq!(distance.carried().connections.load(Ordering::Relaxed), 2);
        assert_eq!(distance.carried().bytes.load(Ordering::Relaxed), 6_000_000);
    }
}
