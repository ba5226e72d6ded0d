//! The server as a whole: what it needs to begin, and its life. It must not know what it answers.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use weir_local::{Guard, is_loopback};
use weir_report::PAGE;
use weir_results::Store;

use crate::app::{App, Limits};
use crate::error::UiError;
use crate::headers::page_policy;
use crate::routes::{RULES, router};

/// How often it is asked whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// Threads for work that blocks: beyond those that read, writers of answers to clients that take them slowly.
const THREADS: usize = 48;

/// What to serve, and where.
#[derive(Clone)]
pub struct Config {
    /// The results store.
    pub database: PathBuf,
    /// Address and port; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// What whoever asks has to know; none: whoever reaches it may ask, which only loopback allows.
    pub token: Option<Vec<u8>>,
    /// Bounds on what clients may take.
    pub limits: Limits,
}

/// A server that has its port.
pub struct Server {
    config: Config,
    listener: TcpListener,
    address: SocketAddr,
}

/// Without the token.
impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Server({})", self.address)
    }
}

impl Server {
    /// Looks into the database and takes the port.
    ///
    /// # Errors
    /// When others could reach it without a token, the database cannot be read, or the port cannot be taken.
    pub fn bind(config: Config) -> Result<Self, UiError> {
        let address = config.listen;
        if !is_loopback(address) && config.token.as_ref().is_none_or(Vec::is_empty) {
            return Err(UiError::NoToken { address });
        }
        // Finds out at once whether the database can be read.
        Store::open_read_only(&config.database)?;
        let failed = |source| UiError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server {
            config,
            listener,
            address,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` says so; answers that are on their way get a moment to arrive.
    ///
    /// # Errors
    /// When the operating system gives no threads or descriptors.
    pub fn run(self, stop: impl Fn() -> bool + Send + 'static) -> Result<(), UiError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS)
            .thread_name("weir-ui")
            .build()?;
        let result = runtime.block_on(self.serve(stop));
        // A long run that is being read for nobody any more must not keep the process.
        runtime.shutdown_background();
        result
    }

    async fn serve(self, stop: impl Fn() -> bool + Send + 'static) -> Result<(), UiError> {
        let (tell, stopping) = watch::channel(false);
        tokio::spawn(async move {
            while !stop() {
                sleep(STOP_INTERVAL).await;
            }
            // When nobody listens any more, it has ended by itself.
            let _ = tell.send(true);
        });
        let Config {
            database,
            token,
            limits,
            ..
        } = self.config;
        let app = App::new(
            database,
            Guard::new(
                self.address,
                token.as_deref().filter(|token| !token.is_empty()),
                RULES,
            ),
            limits.clone(),
            page_policy(PAGE),
            stopping.clone(),
        )?;
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        weir_local::serve(listener, router(Arc::new(app)), limits.bounds(), stopping).await;
        Ok(())
    }
}
