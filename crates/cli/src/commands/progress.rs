//! Progress on standard error: on a terminal a bar for a running test or a line for other long work, elsewhere nothing.

use std::time::Duration;

use crate::units::{format_count, format_duration, format_rate};
use indicatif::{ProgressBar, ProgressStyle};
use weir_measure::Progress;

/// What is drawn until it is dropped; nothing when quiet or when standard error is not a terminal.
struct Drawn(ProgressBar);

impl Drawn {
    fn new(bar: ProgressBar, template: &str, quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { bar };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Drawn(bar)
    }

    /// A line above it, with `prefix` where nothing is drawn.
    fn say(&self, prefix: &str, line: &str) {
        if self.0.is_hidden() {
            super::output::say(&format!("{prefix}{line}"));
        } else {
            self.0.println(line);
        }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar for one test.
pub struct ProgressLine(Drawn);

impl ProgressLine {
    /// A bar titled `title`; hidden when `quiet` or when standard error is not a terminal.
    pub fn new(title: &str, quiet: bool) -> Self {
        let drawn = Drawn::new(ProgressBar::new(1000), "{prefix} [{bar:20}] {msg}", quiet);
        drawn.0.set_prefix(title.to_owned());
        ProgressLine(drawn)
    }

    /// Shows the progress of the test.
    pub fn show(&self, progress: &Progress) {
        let bar = &self.0.0;
        let total = progress.total_ns.max(1);
        let elapsed = progress.elapsed_ns.min(total);
        bar.set_position(elapsed.saturating_mul(1000) / total);
        let mut parts = Vec::new();
        if progress.rate > 0 {
            parts.push(format_rate(progress.rate));
        }
        if progress.expected > 0 {
            let (lost, expected) = (format_count(progress.lost), format_count(progress.expected));
            parts.push(format!("{lost} lost of {expected}"));
        }
        parts.push(format!("{} left", whole_seconds(total - elapsed)));
        bar.set_message(parts.join(", "));
    }

    /// A line above the bar.
    pub fn say(&self, line: &str) {
        self.0.say("", line);
    }
}

/// A line for work of unknown duration.
pub struct LiveLine {
    drawn: Drawn,
    quiet: bool,
}

impl LiveLine {
    /// A line titled `title`; hidden when `quiet` or when standard error is not a terminal.
    pub fn new(title: &str, quiet: bool) -> Self {
        let drawn = Drawn::new(ProgressBar::new_spinner(), "{prefix} {elapsed} {wide_msg}", quiet);
        drawn.0.set_prefix(title.to_owned());
        LiveLine { drawn, quiet }
    }

    /// Shows the current state.
    pub fn show(&self, line: &str) {
        self.drawn.0.set_message(line.to_owned());
    }

    /// A line above it, printed even where standard error is not a terminal.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            self.drawn.say("weir: ", line);
        }
    }
}

/// A bar for load on an origin, with a table below it.
pub struct LoadBar {
    drawn: Drawn,
    total_ns: u64,
}

impl LoadBar {
    /// A bar of that length; hidden when `quiet` or when standard error is not a terminal.
    pub fn new(duration: Option<Duration>, quiet: bool) -> Self {
        let total = duration.map_or(0, |duration| duration.as_nanos());
        LoadBar {
            drawn: Drawn::new(ProgressBar::new(1000), "load [{bar:20}] {msg}", quiet),
            total_ns: u64::try_from(total).unwrap_or(u64::MAX),
        }
    }

    /// Shows the progress, and the last second.
    pub fn show(&self, elapsed_ns: u64, text: &str) {
        let bar = &self.drawn.0;
        let total = self.total_ns.max(1);
        let elapsed = elapsed_ns.min(total);
        bar.set_position((u128::from(elapsed) * 1000 / u128::from(total)) as u64);
        let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
        let left = whole_seconds(total - elapsed);
        bar.set_message(format!("{line}, {left} left\n{rest}"));
    }

    /// A line above it.
    pub fn say(&self, line: &str) {
        self.drawn.say("", line);
    }
}

/// Whole seconds, because fractions would flicker.
fn whole_seconds(nanoseconds: u64) -> String {
    match nanoseconds.div_ceil(1_000_000_000) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format_duration(seconds * 1_000_000_000),
    }
}

/// Shows on a terminal what the program waits for, and since when.
pub struct Waiting(#[expect(dead_code, reason = "drawn until it is dropped")] Drawn);

impl Waiting {
    /// Shown until it is dropped.
    pub fn new(what: &str, quiet: bool) -> Self {
        let drawn = Drawn::new(ProgressBar::new_spinner(), "{spinner} {msg}, {elapsed}", quiet);
        drawn.0.set_message(what.to_owned());
        Waiting(drawn)
    }
}
