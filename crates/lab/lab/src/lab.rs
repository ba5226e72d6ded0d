//! A lab that is up: both hosts, the link between them, and what it has told so far.

use std::io;
use std::process::Command;
use std::thread::JoinHandle;

use weir_link::LinkSpec;
use weir_link::realtime::{DirectionSecond, Driver, Way};
use weir_net::namespace::{Inmate, NetworkNamespace};
use weir_results::{Direction, LinkSecond, Record};

use crate::account::Account;
use crate::hosts::{self, Host, LabError};
use crate::queues::Waiting;
use crate::waiting::QueueSecond;

/// Two hosts and the link between them. When it is dropped, the link is gone, and so are the hosts when the last
/// process on them has ended and nobody has given them a name.
pub struct Lab {
    near: NetworkNamespace,
    far: NetworkNamespace,
    driver: Driver,
    account: Account,
    waiting: Waiting,
    has_ipv6: bool,
}

impl Lab {
    /// Makes both hosts, without names, and brings the link up. `spec` must have passed [`LinkSpec::check`].
    ///
    /// # Errors
    /// When the kernel refuses a part of it; nothing is left then.
    pub fn start(spec: &LinkSpec) -> Result<Self, LabError> {
        let make = |host: Host| {
            NetworkNamespace::create().map_err(|source| LabError::Namespace {
                operation: "make",
                host: host.name(),
                source,
            })
        };
        let (near, far) = (make(Host::Near)?, make(Host::Far)?);
        let near_device = hosts::set_up(&near, Host::Near, spec)?;
        let far_device = hosts::set_up(&far, Host::Far, spec)?;
        let driver = Driver::start(spec, near_device, far_device, hosts::ROUTER).map_err(LabError::Link)?;
        Ok(Lab {
            near,
            far,
            driver,
            account: Account::default(),
            waiting: Waiting::default(),
            has_ipv6: hosts::has_ipv6(spec),
        })
    }

    pub(crate) fn namespace(&self, host: Host) -> &NetworkNamespace {
        match host {
            Host::Near => &self.near,
            Host::Far => &self.far,
        }
    }

    /// The hosts have IPv6 addresses: the kernel knows IPv6, and the link's MTU suffices for it.
    pub fn has_ipv6(&self) -> bool {
        self.has_ipv6
    }

    /// Starts a command on a host, where `near` and `far` name both.
    ///
    /// # Errors
    /// When the command does not start.
    pub fn spawn(&self, host: Host, command: Command) -> io::Result<Inmate> {
        hosts::spawn_on(self.namespace(host), command)
    }

    /// Does something on a host, on a thread of its own, and waits for its end.
    ///
    /// # Errors
    /// When the host cannot be entered.
    pub fn on<T: Send>(&self, host: Host, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.namespace(host).run(work)
    }

    /// Starts work on a host, on a thread of its own; threads that it starts are on that host, too.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn start_on<T: Send + 'static>(
        &self,
        host: Host,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<io::Result<T>>> {
        self.namespace(host).start(work)
    }

    /// Sets something of a host's network, a file below `/proc/sys/net`.
    ///
    /// # Errors
    /// When the host cannot be entered, or the kernel refuses the value.
    pub fn set(&self, host: Host, name: &str, value: &str) -> io::Result<()> {
        self.on(host, || std::fs::write(format!("/proc/sys/net/{name}"), value))?
    }

    /// Sets the congestion control of TCP on a host, for what comes and goes over IPv4.
    ///
    /// A kernel takes only some of those that it has as the default of a namespace; the others it takes for a route, which
    /// the program `ip` sets.
    ///
    /// # Errors
    /// When the kernel has none of that name, or the program is missing.
    pub fn set_congestion_control(&self, host: Host, name: &str) -> io::Result<()> {
        let as_default = self.set(host, "ipv4/tcp_congestion_control", name);
        if as_default.as_ref().map_err(io::Error::kind) != Err(io::ErrorKind::PermissionDenied) {
            return as_default;
        }
        let said = self.on(host, || {
            Command::new("ip").args(hosts::route_with(host, name)).output()
        })??;
        if said.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&said.stderr);
        Err(io::Error::other(why.trim().to_owned()))
    }

    /// The queues of every second that was taken in, both directions.
    pub fn queues(&self) -> &[QueueSecond] {
        self.waiting.seconds()
    }

    /// Takes in what the link has told since the last call, and gives it as rows of the results store.
    ///
    /// # Errors
    /// When the link has failed.
    pub fn progress(&mut self) -> Result<Vec<Record>, LabError> {
        let seconds: Vec<DirectionSecond> = self.driver.seconds().collect();
        let rows = self.take_in(&seconds);
        if self.driver.has_failed() {
            return Err(LabError::Link(io::Error::other("one of its devices went away")));
        }
        Ok(rows)
    }

    fn take_in(&mut self, seconds: &[DirectionSecond]) -> Vec<Record> {
        let mut rows = Vec::with_capacity(seconds.len());
        for second in seconds {
            self.waiting.add(second);
            let sender = match second.way {
                Way::Forward => &self.near,
                Way::Reverse => &self.far,
            };
            let (direction, row): (Direction, LinkSecond) =
                self.account.add(second, hosts::interface_counters(sender));
            rows.push(Record::LinkSecond(direction, row));
        }
        rows
    }

    /// What the link has done up to the last second that was taken in.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Ends the link and gives its last rows with the whole account.
    ///
    /// # Errors
    /// When it had failed before.
    pub fn stop(mut self) -> Result<(Vec<Record>, Account), LabError> {
        // Before the devices go, whose counters it reads.
        self.driver.finish().map_err(LabError::Link)?;
        let seconds: Vec<DirectionSecond> = self.driver.seconds().collect();
        let rows = self.take_in(&seconds);
        Ok((rows, self.account.clone()))
    }
}
