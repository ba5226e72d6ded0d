//! Alarms: the hysteresis between raised and cleared, a limit on the rate of events, their delivery to commands, webhooks and
//! Alertmanager, and counters as OpenMetrics text with a server for it, and for OpenTelemetry's protocol. It must not know what
//! is measured, or what an event is about.
//!
//! [`Alarm`], [`Gate`] and [`StandingAlerts`] have no clock. [`Deliveries`] and [`MetricsServer`] have threads of their own: no call of theirs
//! waits for a command, a webhook or a client.

mod alarm;
mod alertmanager;
mod deliver;
mod gate;
mod hook;
mod openmetrics;
mod otlp;
mod server;

pub use alarm::{Alarm, Change, Hold};
pub use alertmanager::{Alert, Labels, StandingAlerts};
pub use deliver::{Deliveries, Message};
pub use gate::Gate;
pub use hook::{Hook, HookError};
pub use openmetrics::{CONTENT_TYPE, Exposition, Family};
pub use otlp::{Exporter, otlp};
pub use server::MetricsServer;
