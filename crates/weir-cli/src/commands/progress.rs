//! Progress of a running test on standard error: a bar on a terminal, nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use weir_cli::units::{format_count, format_duration, format_rate};
use weir_measure::Progress;

/// A bar for one test.
pub struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    /// A bar titled `title`; hidden when `quiet` or when standard error is no terminal.
    pub fn new(title: &str, quiet: bool) -> Self {
        let bar = if quiet {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(1000)
        };
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:20}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(title.to_owned());
        bar.enable_steady_tick(Duration::from_millis(500));
        ProgressLine { bar }
    }

    /// Shows how far the test is.
    pub fn show(&self, progress: &Progress) {
        let total = progress.total_ns.max(1);
        let elapsed = progress.elapsed_ns.min(total);
        self.bar.set_position(elapsed.saturating_mul(1000) / total);
        let mut parts = Vec::new();
        if progress.rate > 0 {
            parts.push(format_rate(progress.rate));
        }
        if progress.expected > 0 {
            let (lost, expected) = (format_count(progress.lost), format_count(progress.expected));
            parts.push(format!("{lost} lost of {expected}"));
        }
        let left = (total - elapsed) / 1_000_000_000;
        parts.push(format!("{} left", format_duration(left * 1_000_000_000)));
        self.bar.set_message(parts.join(", "));
    }

    /// A line above the bar.
    pub fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            super::output::say(line);
        } else {
            self.bar.println(line);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
