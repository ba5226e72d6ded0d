//! Where events go besides the log and the store.

use thiserror::Error;
use ureq::http::Uri;

/// Where to send events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A command for `sh -c`.
    Command(String),
    /// An `http://` or `https://` URL. It may hold a secret: print [`Hook::target`].
    Webhook(String),
}

/// Why a webhook's URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HookError {
    /// It is none, or of another scheme.
    #[error("a webhook is a URL such as https://alerts.example.net/weir")]
    Url,
}

impl Hook {
    /// A webhook.
    ///
    /// # Errors
    /// When the text is not an `http://` or `https://` URL with a host.
    pub fn webhook(text: &str) -> Result<Self, HookError> {
        let uri: Uri = text.parse().map_err(|_| HookError::Url)?;
        let known = matches!(uri.scheme_str(), Some("http" | "https"));
        if !known || uri.host().is_none_or(str::is_empty) {
            return Err(HookError::Url);
        }
        Ok(Hook::Webhook(text.to_owned()))
    }

    /// A webhook for [`StandingAlerts`](crate::StandingAlerts): the API v2 of the Alertmanager at this URL.
    ///
    /// # Errors
    /// As of [`webhook`](Self::webhook).
    pub fn alertmanager(text: &str) -> Result<Self, HookError> {
        Hook::webhook(&format!("{}/api/v2/alerts", text.trim_end_matches('/')))
    }

    /// A webhook for [`otlp`](crate::otlp): the metrics of the OTLP endpoint at this URL.
    ///
    /// # Errors
    /// As of [`webhook`](Self::webhook).
    pub fn otlp(text: &str) -> Result<Self, HookError> {
        Hook::webhook(&format!("{}/v1/metrics", text.trim_end_matches('/')))
    }

    /// Where it leads, for the store: the command, or scheme, host and port of the URL.
    #[must_use]
    pub fn target(&self) -> String {
        match self {
            Hook::Command(command) => command.clone(),
            Hook::Webhook(url) => origin(url),
        }
    }

    /// Its name in logs.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Hook::Command(_) => format!("command '{}'", self.target()),
            Hook::Webhook(_) => format!("webhook {}", self.target()),
        }
    }
}

/// Scheme, host and port of a URL, without its path, query and password.
fn origin(url: &str) -> String {
    let uri: Uri = url.parse().unwrap_or_default();
    let port = uri.port().map_or(String::new(), |port| format!(":{port}"));
    format!(
        "{}://{}{port}",
        uri.scheme_str().unwrap_or("http"),
        uri.host().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_urls_and_their_names_hold_no_secret() {
        let secret = Hook::webhook("https://me:pass@alerts.example.net:8443/services/T0/B1?key=x").unwrap();
        assert_eq!(secret.name(), "webhook https://alerts.example.net:8443");
        let plain = Hook::webhook("http://[::1]/x").unwrap();
        assert_eq!(plain.name(), "webhook http://[::1]");
        for text in [
            "",
            "alerts.example.net/x",
            "ftp://a/b",
            "file:///etc/passwd",
            "/x",
            "http://",
        ] {
            assert_eq!(Hook::webhook(text), Err(HookError::Url), "{text}");
        }
        let expected = Hook::Webhook("http://alerts:9093/am/api/v2/alerts".into());
        assert_eq!(Hook::alertmanager("http://alerts:9093/am/"), Ok(expected));
        let expected = Hook::Webhook("http://127.0.0.1:4318/v1/metrics".into());
        assert_eq!(Hook::otlp("http://127.0.0.1:4318"), Ok(expected));
        assert_eq!(Hook::Command("logger".into()).name(), "command 'logger'");
    }
}
