//! Downloads of one length, one after the other on a kept connection, as a page or a poll makes them.

use std::io;

use weir_control::Stop;
use weir_net::clock;
use weir_net::tcp::CongestionControl;
use weir_units::{ByteCount, TimeSpan};

use super::exchange::{Brought, Exchange};
use super::request::MOST_BYTES;
use super::{Request, check_duration, connect, sleep_until};
use crate::SAMPLE_NS;
use crate::account::{bins, difference};
use crate::distribution::Timing;
use crate::error::NeighbourError;
use crate::now::{Now, start_at};
use crate::report::{Completion, HttpFigures, HttpSample, Measured, Report, rate_of, sample_index};

/// Repeated downloads on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Size of each.
    pub bytes: ByteCount,
    /// Between the end of one and the next request.
    pub pause: TimeSpan,
    /// Congestion control of the sender; none for its default.
    pub congestion: Option<CongestionControl>,
}

/// Downloads from the server at `to` (HOST:PORT), from `start_at_unix_ns` on or at once.
///
/// # Errors
/// When nobody answers, the server refuses, or the connection fails.
pub fn measure_http(
    to: &str,
    duration_ns: u64,
    request: &HttpRequest,
    start_at_unix_ns: Option<u64>,
    stop: &Stop,
) -> Result<Measured, NeighbourError> {
    if request.bytes.0 > MOST_BYTES {
        return Err(NeighbourError::Parameters(format!(
            "--bytes {} is too large; the maximum per download is {MOST_BYTES}B",
            request.bytes.0
        )));
    }
    check_duration(duration_ns)?;
    let start_at_ns = start_at(start_at_unix_ns)?;
    let before_ns = clock::monotonic_ns();
    let stream = connect(to)?;
    let connect_ns = clock::monotonic_ns() - before_ns;
    sleep_until(start_at_ns, stop);
    let mut downloads = Downloads::new(duration_ns, request, Now::read());
    downloads.run(to, Exchange::new(stream), stop)?;
    Ok(Measured::Http(downloads.report(connect_ns, stop)))
}

/// What came so far.
struct Downloads<'a> {
    duration_ns: u64,
    request: &'a HttpRequest,
    started: Now,
    samples: Vec<HttpSample>,
    times: Vec<Completion>,
    unfinished: u64,
}

impl<'a> Downloads<'a> {
    fn new(duration_ns: u64, request: &'a HttpRequest, started: Now) -> Self {
        Downloads {
            duration_ns,
            request,
            started,
            samples: bins(duration_ns, |at_ns| HttpSample {
                at_ns,
                ..HttpSample::default()
            }),
            times: Vec::new(),
            unfinished: 0,
        }
    }

    fn offset_ns(&self) -> u64 {
        clock::monotonic_ns() - self.started.monotonic_ns
    }

    fn goes_on(&self, stop: &Stop) -> bool {
        self.offset_ns() < self.duration_ns && !stop.is_set()
    }

    fn run(&mut self, to: &str, mut exchange: Exchange, stop: &Stop) -> Result<(), NeighbourError> {
        while self.goes_on(stop) {
            let completion = self.download(to, &mut exchange, stop)?;
            let Some(completion) = completion else {
                self.unfinished = 1;
                return Ok(());
            };
            let end_ns = completion.at_ns + completion.duration_ns;
            self.times.push(completion);
            if let Some(sample) = self.sample(end_ns) {
                sample.completed += 1;
            }
            let end = self.started.monotonic_ns.saturating_add(self.duration_ns);
            let next_ns = clock::monotonic_ns().saturating_add(self.request.pause.0);
            sleep_until(next_ns.min(end), stop);
        }
        Ok(())
    }

    fn sample(&mut self, offset_ns: u64) -> Option<&mut HttpSample> {
        let index = sample_index(offset_ns, self.duration_ns)?;
        self.samples.get_mut(index)
    }

    fn count(&mut self, bytes: u64) {
        let offset_ns = self.offset_ns();
        if let Some(sample) = self.sample(offset_ns) {
            sample.bytes += bytes;
        }
    }

    /// One of them; none if the time was over before it was.
    fn download(
        &mut self,
        to: &str,
        exchange: &mut Exchange,
        stop: &Stop,
    ) -> Result<Option<Completion>, NeighbourError> {
        let fail = |source| NeighbourError::io("download from", to, source);
        let at_ns = self.offset_ns();
        let bytes = Request::Bytes {
            length: self.request.bytes.0,
            congestion: self.request.congestion,
        };
        exchange.ask(&bytes).map_err(fail)?;
        let Some((head, body)) = exchange.head(|| self.goes_on(stop)).map_err(fail)? else {
            return Ok(None);
        };
        let first_byte_ns = self.offset_ns() - at_ns;
        if head.status != 200 || head.content_length != Some(self.request.bytes.0) {
            return Err(NeighbourError::RefusedHttp {
                to: to.to_owned(),
                said: format!("{} {}", head.status, head.reason),
            });
        }
        self.count(body.len() as u64);
        let mut left = self.request.bytes.0.saturating_sub(body.len() as u64);
        while left > 0 {
            if !self.goes_on(stop) {
                return Ok(None);
            }
            match exchange.body(left).map_err(fail)? {
                Brought::Bytes(bytes) => {
                    self.count(bytes);
                    left -= bytes;
                }
                Brought::Nothing => {}
                Brought::End => return Err(fail(io::ErrorKind::UnexpectedEof.into())),
            }
        }
        Ok(Some(Completion {
            at_ns,
            first_byte_ns,
            duration_ns: self.offset_ns() - at_ns,
        }))
    }

    fn report(mut self, connect_ns: u64, stop: &Stop) -> Report<HttpSample, HttpFigures> {
        let elapsed_ns = self.offset_ns().min(self.duration_ns);
        self.samples.truncate(elapsed_ns.div_ceil(SAMPLE_NS) as usize);
        for sample in &mut self.samples {
            sample.rate = rate_of(sample.bytes, SAMPLE_NS.min(elapsed_ns - sample.at_ns));
        }
        let (mut completion, mut first_byte) = (Timing::new(), Timing::new());
        for time in &self.times {
            completion.record(difference(time.duration_ns, 0));
            first_byte.record(difference(time.first_byte_ns, 0));
        }
        let bytes = self.samples.iter().map(|sample| sample.bytes).sum();
        Report {
            kind: "http",
            seconds: elapsed_ns as f64 / 1e9,
            started_unix_ns: self.started.unix_ns,
            interrupted: stop.is_set(),
            samples: self.samples,
            figures: HttpFigures {
                length: self.request.bytes.0,
                pause_ns: self.request.pause.0,
                downloads: self.times.len() as u64,
                unfinished: self.unfinished,
                bytes,
                rate: rate_of(bytes, elapsed_ns),
                connect_ns,
                completion: completion.times(),
                first_byte: first_byte.times(),
                times: self.times,
            },
            distribution: Some(completion.into_distribution("http_completion")),
        }
    }
}
