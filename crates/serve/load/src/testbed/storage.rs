//! The storage that an experiment serves itself: a file server on this host, behind an emulated distance.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_origin::{Config, Limits, Server, StorageLocation};
use weir_units::TimeSpan;

use super::error::TestbedError;
use crate::distance::Distance;

/// Number of reads for the median time to first byte.
const PROBES: usize = 5;
/// Maximum time for responses in progress when it ends.
const DRAIN: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);

/// A file server and its distance; both end when this is dropped.
pub struct Storage {
    // Dropped first: connections end before their server does.
    distance: Distance,
    ending: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Storage {
    /// Serves a folder. Its threads run on the cores of the calling thread.
    ///
    /// # Errors
    /// When there is no port or no thread.
    pub fn start(
        folder: &Path,
        delay: TimeSpan,
        said: impl Fn(&str) + Send + 'static,
    ) -> Result<Storage, TestbedError> {
        let server = Server::bind(&Config {
            files: true,
            threads: Some(1),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            limits: Limits {
                drain: DRAIN,
                ..Limits::default()
            },
            ..Config::new(StorageLocation::Folder(folder.to_owned()))
        })
        .map_err(|error| TestbedError::Failed(error.to_string()))?;
        let failed = |error| TestbedError::Failed(format!("cannot start the storage: {error}"));
        let distance = Distance::start(server.address(), Duration::from_nanos(delay.0)).map_err(failed)?;
        let ending = Arc::new(AtomicBool::new(false));
        let end = ending.clone();
        let server = std::thread::Builder::new()
            .name("storage".to_owned())
            .spawn(move || {
                if let Err(error) = server.run(move || end.load(Ordering::Acquire)) {
                    said(&format!("the storage has ended: {error}"));
                }
            })
            .map_err(failed)?;
        Ok(Storage {
            distance,
            ending,
            server: Some(server),
        })
    }

    /// URL for `weir origin`.
    pub fn place(&self) -> String {
        format!("http://{}/", self.distance.address())
    }

    /// Median time to first byte of a read over an established connection, nanoseconds.
    pub fn first_byte_ns(&self, path: &str) -> Option<u64> {
        let mut connection = TcpStream::connect(self.distance.address()).ok()?;
        connection.set_read_timeout(Some(PATIENCE)).ok()?;
        let head = format!("HEAD /{path} HTTP/1.1\r\nHost: storage\r\n\r\n");
        let mut times = Vec::new();
        // The first read opens the connection.
        for number in 0..=PROBES {
            let began = Instant::now();
            connection.write_all(head.as_bytes()).ok()?;
            let mut answer = [0; 4096];
            if connection.read(&mut answer).ok()? == 0 {
                return None;
            }
            if number > 0 {
                times.push(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
        }
        times.sort_unstable();
        times.get(PROBES / 2).copied()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        if let Some(server) = self.server.take() {
            // A thread that panicked has printed its message.
            let _ = server.join();
        }
    }
}
