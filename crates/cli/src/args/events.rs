//! Arguments of streams that report events and serve metrics.

use std::net::SocketAddr;

use clap::{ArgAction, Args};
use weir_alarm::Hook;

/// Where events and metrics go.
#[derive(Clone, Debug, Args)]
pub struct EventArgs {
    /// Run a shell command at each event, with the event as JSON on its standard input; may be given more than once.
    ///
    /// The main fields are in the environment as well: WEIR_EVENT, WEIR_STATE, WEIR_SENDER, WEIR_FLOW, WEIR_DETAIL,
    /// WEIR_COMMAND and WEIR_HOST. A command is killed after 10 s.
    #[arg(long, value_name = "COMMAND", action = ArgAction::Append, value_parser = command, help_heading = "Events")]
    pub on_event: Vec<Hook>,
    /// POST each event as JSON to a URL; may be given more than once.
    ///
    /// A request that fails is repeated after 1 s and 3 s. Redirects are not followed. The store keeps only the scheme,
    /// host and port of the URL.
    #[arg(long, value_name = "URL", action = ArgAction::Append, value_parser = Hook::webhook, help_heading = "Events")]
    pub webhook: Vec<Hook>,
    /// Serve metrics as OpenMetrics at http://ADDR:PORT/metrics; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Events")]
    pub metrics: Option<SocketAddr>,
}

impl EventArgs {
    /// Commands and webhooks.
    pub fn hooks(&self) -> Vec<Hook> {
        self.on_event.iter().chain(&self.webhook).cloned().collect()
    }

    /// For the store: URLs may hold secrets, their targets do not.
    pub fn parameters(&self) -> serde_json::Map<String, serde_json::Value> {
        let targets = |hooks: &[Hook]| hooks.iter().map(Hook::target).collect::<Vec<_>>().into();
        let metrics = self.metrics.map(|address| address.to_string()).into();
        [
            ("on_event", targets(&self.on_event)),
            ("webhook", targets(&self.webhook)),
            ("metrics", metrics),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
    }
}

/// Any command but one that is a URL: those are webhooks.
pub(super) fn command(text: &str) -> Result<Hook, String> {
    if Hook::webhook(text).is_ok() {
        return Err("this is a URL; give it with --webhook".into());
    }
    Ok(Hook::Command(text.to_owned()))
}
