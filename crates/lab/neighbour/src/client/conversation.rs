//! The client's side of datagrams: asking, starting, receiving, the end. Packets and times go in, packets and at last a
//! report come out; it must not know sockets.

use crate::account::DelayAccount;
use crate::game::GameAccount;
use crate::now::Now;
use crate::packet::{Refusal, ToClient, ToServer};
use crate::report::Measured;
use crate::traffic::{Asked, Ending, INPUT_INTERVAL_NS, SECOND_NS, Traffic};

/// A question is asked again this often.
const AGAIN_NS: u64 = 200_000_000;
/// Nobody answers if no answer came for so long.
pub(super) const ANSWER_LIMIT_NS: u64 = 5 * SECOND_NS;
/// What has not come when nothing came for so long will not come.
const SILENCE_NS: u64 = 10 * SECOND_NS;
/// Packets that were overtaken by the word that all have been sent may come for so long.
const STRAGGLERS_NS: u64 = 100_000_000;

/// Why there is nothing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Nobody is there, or what is sent does not come.
    NoAnswer,
    /// The server does not want to.
    Refused(Refusal),
}

#[derive(Debug)]
enum Account {
    Delay(Box<DelayAccount>),
    Game(Box<GameAccount>),
}

/// One request and all that comes of it.
#[derive(Debug)]
pub struct Conversation {
    asked: Asked,
    nonce: u64,
    began_ns: u64,
    start_at_ns: u64,
    answer_limit_ns: u64,
    token: Option<u64>,
    first_start_ns: Option<u64>,
    first_data: Option<Now>,
    last_heard_ns: u64,
    next_send_ns: u64,
    refusal: Option<Refusal>,
    done_ns: Option<u64>,
    ending: Ending,
    account: Account,
    packet: Vec<u8>,
}

impl Conversation {
    /// Asks at `now`, and has the traffic start at `start_at_ns` of the monotonic clock or as soon as it can be.
    /// `nonce` is random.
    pub fn new(asked: Asked, nonce: u64, start_at_ns: u64, now: Now) -> Self {
        let account = match asked.traffic {
            Traffic::Game { .. } => Account::Game(Box::new(GameAccount::new(asked))),
            Traffic::Voice | Traffic::Even { .. } => Account::Delay(Box::new(DelayAccount::new(asked))),
        };
        Conversation {
            asked,
            nonce,
            began_ns: now.monotonic_ns,
            start_at_ns,
            answer_limit_ns: ANSWER_LIMIT_NS,
            token: None,
            first_start_ns: None,
            first_data: None,
            last_heard_ns: now.monotonic_ns,
            next_send_ns: now.monotonic_ns,
            refusal: None,
            done_ns: None,
            ending: Ending::default(),
            account,
            packet: Vec::new(),
        }
    }

    /// The same, that gives up after so long if nobody answers the question.
    pub(super) fn with_answer_limit(self, answer_limit_ns: u64) -> Self {
        Conversation {
            answer_limit_ns,
            ..self
        }
    }

    /// Takes a datagram that came at `received_unix_ns`, which is read at `now`.
    pub fn on_datagram(&mut self, datagram: &[u8], received_unix_ns: u64, now: Now) {
        let Ok(packet) = ToClient::decode(datagram) else {
            return;
        };
        let nonce = match packet {
            ToClient::Token { nonce, .. }
            | ToClient::Refused { nonce, .. }
            | ToClient::Done { nonce, .. } => nonce,
            ToClient::Data(data) => data.nonce,
            ToClient::Frame(frame) => frame.data.nonce,
        };
        if nonce != self.nonce {
            return;
        }
        match packet {
            ToClient::Token { token, .. } => {
                if self.token.is_none() {
                    self.token = Some(token);
                    self.next_send_ns = self.start_at_ns.max(now.monotonic_ns);
                }
            }
            ToClient::Refused { refusal, .. } => self.refusal = self.refusal.or(Some(refusal)),
            ToClient::Data(data) => {
                if let Account::Delay(account) = &mut self.account {
                    account.take(&data, datagram.len(), received_unix_ns);
                    self.heard(now);
                }
            }
            ToClient::Frame(frame) => {
                if let Account::Game(account) = &mut self.account {
                    account.take(&frame, datagram.len(), received_unix_ns);
                    self.heard(now);
                }
            }
            ToClient::Done {
                packets,
                frames,
                refused,
                ..
            } => {
                // Even if nothing else came: then all was lost.
                self.heard(now);
                self.ending.packets_sent = Some(packets.into());
                self.ending.frames_sent = Some(frames.into());
                self.ending.refused_by_sender = refused.into();
                self.done_ns = self.done_ns.or(Some(now.monotonic_ns));
                self.next_send_ns = now.monotonic_ns;
            }
        }
    }

    fn heard(&mut self, now: Now) {
        self.last_heard_ns = now.monotonic_ns;
        if self.first_data.is_none() {
            self.first_data = Some(now);
            self.next_send_ns = now.monotonic_ns;
        }
    }

    /// Hands what is due to `send`.
    pub fn wake(&mut self, now: Now, send: &mut impl FnMut(&[u8])) {
        if self.next_send_ns > now.monotonic_ns {
            return;
        }
        let nonce = self.nonce;
        let (packet, again_ns) = match (self.token, self.first_data, self.done_ns) {
            (None, _, _) => (ToServer::Ask { nonce }, AGAIN_NS),
            (Some(token), None, _) => {
                self.first_start_ns = self.first_start_ns.or(Some(now.monotonic_ns));
                let asked = self.asked;
                (ToServer::Start { nonce, token, asked }, AGAIN_NS)
            }
            (Some(token), Some(_), None) => match &mut self.account {
                Account::Delay(_) => (
                    ToServer::Here {
                        nonce,
                        token,
                        input: 0,
                    },
                    AGAIN_NS,
                ),
                Account::Game(account) => {
                    let input = account.send_input(now.unix_ns);
                    (ToServer::Here { nonce, token, input }, INPUT_INTERVAL_NS)
                }
            },
            (Some(token), Some(_), Some(_)) => (ToServer::Bye { nonce, token }, AGAIN_NS),
        };
        packet.encode(&mut self.packet);
        send(&self.packet);
        // Evenly, but nothing is made up for.
        let next_ns = self.next_send_ns.saturating_add(again_ns);
        self.next_send_ns = if next_ns > now.monotonic_ns {
            next_ns
        } else {
            now.monotonic_ns + again_ns
        };
    }

    /// When to call [`Conversation::wake`] next.
    pub fn next_wake(&self) -> u64 {
        self.next_send_ns
    }

    /// It is over: nothing more will come, or nothing came at all.
    pub fn is_over(&self, now: Now) -> bool {
        let passed = |since_ns: u64, limit_ns: u64| now.monotonic_ns.saturating_sub(since_ns) >= limit_ns;
        if self.refusal.is_some() {
            return true;
        }
        match (self.first_data, self.done_ns) {
            (_, Some(done_ns)) => passed(done_ns, STRAGGLERS_NS),
            (Some(_), None) => passed(self.last_heard_ns, SILENCE_NS),
            (None, None) if self.token.is_none() => passed(self.began_ns, self.answer_limit_ns),
            (None, None) => self
                .first_start_ns
                .is_some_and(|since_ns| passed(since_ns, ANSWER_LIMIT_NS)),
        }
    }

    /// Ends it before its time, and says goodbye.
    pub fn interrupt(&mut self, send: &mut impl FnMut(&[u8])) {
        self.ending.interrupted = true;
        let nonce = self.nonce;
        if let Some(token) = self.token {
            ToServer::Bye { nonce, token }.encode(&mut self.packet);
            send(&self.packet);
        }
    }

    /// As far as it is measured at `now`, under the name `kind`; none if there is nothing. `dropped_here` datagrams
    /// were dropped by this host.
    pub fn measured(self, kind: &'static str, dropped_here: u64, now: Now) -> Option<Measured> {
        self.finish(kind, dropped_here, now).ok()
    }

    /// The report, as kind `kind`; `dropped_here` datagrams were dropped by this host.
    pub(crate) fn finish(
        mut self,
        kind: &'static str,
        dropped_here: u64,
        now: Now,
    ) -> Result<Measured, Failed> {
        if let Some(refusal) = self.refusal {
            return Err(Failed::Refused(refusal));
        }
        let Some(first) = self.first_data.or(self.ending.interrupted.then_some(now)) else {
            return Err(Failed::NoAnswer);
        };
        self.ending.dropped_here = dropped_here;
        self.ending.started_unix_ns = first.unix_ns;
        self.ending.elapsed_ns = match self.done_ns {
            Some(_) => self.asked.duration_ns,
            None => now
                .monotonic_ns
                .saturating_sub(first.monotonic_ns)
                .min(self.asked.duration_ns),
        };
        Ok(match self.account {
            Account::Delay(account) => Measured::Delay(account.finish(kind, &self.ending)),
            Account::Game(account) => Measured::Game(account.finish(&self.ending)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::{Limits, Sessions};
    use std::net::SocketAddr;
    use weir_units::Rate;

    const MS: u64 = 1_000_000;

    fn at(monotonic_ns: u64) -> Now {
        Now {
            monotonic_ns,
            unix_ns: 1_000_000_000_000 + monotonic_ns,
        }
    }

    /// A server and a client over a path of 10 ms each way, in steps of 0.1 ms; `lose` says which datagrams to the
    /// client do not come, by their number.
    fn converse(asked: Asked, start_at_ns: u64, lose: impl Fn(u64) -> bool) -> Result<Measured, Failed> {
        let address = SocketAddr::from(([192, 0, 2, 1], 1));
        let mut server = Sessions::new([7; 16], Limits::default());
        let mut client = Conversation::new(asked, 5, start_at_ns, at(0));
        let (mut up, mut down, mut number) = (Vec::new(), Vec::new(), 0_u64);
        for step in 0..1_000_000_u64 {
            let now = at(step * MS / 10);
            let due = now.monotonic_ns;
            client.wake(now, &mut |packet| up.push((due + 10 * MS, packet.to_vec())));
            let mut answers = Vec::new();
            for (_, packet) in up.extract_if(.., |(at_ns, _)| *at_ns <= due) {
                if let Some(answer) = server.on_datagram(address, &packet, now) {
                    let mut bytes = Vec::new();
                    answer.encode(&mut bytes);
                    answers.push(bytes);
                }
            }
            server.wake(now, &mut |_, packet| {
                answers.push(packet.to_vec());
                true
            });
            for bytes in answers {
                number += 1;
                if !lose(number) {
                    down.push((due + 10 * MS, bytes));
                }
            }
            for (at_ns, packet) in down.extract_if(.., |(at_ns, _)| *at_ns <= due) {
                client.on_datagram(&packet, at(at_ns).unix_ns, now);
            }
            if client.is_over(now) {
                return client.finish("udp", 0, now);
            }
        }
        panic!("it never ends");
    }

    fn even(ms: u64) -> Asked {
        Asked {
            traffic: Traffic::Even {
                rate: Rate(800_000),
                length: 1_000,
            },
            duration_ns: ms * MS,
        }
    }

    #[test]
    fn the_delay_of_the_path_is_what_is_measured() {
        let Ok(Measured::Delay(report)) = converse(even(2_000), 0, |_| false) else {
            panic!("no report")
        };
        assert_eq!((report.figures.packets_sent, report.figures.lost), (200, 0));
        assert_eq!(report.figures.rate, 800_000);
        let owd = report.figures.owd.unwrap();
        assert_eq!((owd.min, owd.max), (10_000_000, 10_000_000));
        assert_eq!(report.figures.jitter_ns, 0.0);
        assert_eq!((report.samples.len(), report.seconds), (20, 2.0));
        // Asked at 0 ms, answered at 20, started at 30, all of it in steps.
        let started_ns = report.started_unix_ns - at(0).unix_ns;
        assert!((30 * MS..31 * MS).contains(&started_ns), "{started_ns}");
    }

    #[test]
    fn it_starts_when_it_is_told_to() {
        let Ok(Measured::Delay(report)) = converse(even(100), 700 * MS, |_| false) else {
            panic!("no report")
        };
        let started_ns = report.started_unix_ns - at(0).unix_ns;
        assert!((710 * MS..711 * MS).contains(&started_ns), "{started_ns}");
    }

    #[test]
    fn what_is_lost_is_counted_and_asked_for_again_where_it_has_to_be() {
        // The first three: two tokens, and the first datagram; then every tenth; and two of the ends.
        let lose = |number: u64| number <= 3 || number.is_multiple_of(10);
        let Ok(Measured::Delay(report)) = converse(even(1_000), 0, lose) else {
            panic!("no report")
        };
        let figures = &report.figures;
        assert_eq!((figures.packets_sent, figures.sent_is_known), (100, true));
        // Datagram 0 is the third; 100 of them are numbers 4 to 103.
        assert!((10..=11).contains(&figures.lost), "{figures:?}");
        assert_eq!(figures.packets_received + figures.lost, 100);
    }

    #[test]
    fn nobody_there_and_a_server_that_vanishes() {
        assert_eq!(converse(even(1_000), 0, |_| true).unwrap_err(), Failed::NoAnswer);
        let Ok(Measured::Delay(report)) = converse(even(1_000), 0, |number| number > 50) else {
            panic!("no report")
        };
        assert!(!report.figures.sent_is_known && report.figures.lost == 0);
        let wanted = Asked {
            traffic: Traffic::Even {
                rate: Rate(1_000_000_000),
                length: 1_000,
            },
            duration_ns: MS,
        };
        let refused = Failed::Refused(Refusal::Rate(Limits::default().max_rate));
        assert_eq!(converse(wanted, 0, |_| false).unwrap_err(), refused);
    }

    #[test]
    fn a_game_is_answered_within_a_frame_and_the_round_trip() {
        let asked = Asked {
            traffic: Traffic::Game {
                rate: Rate(4_000_000),
                frames_per_second: 50,
                length: 1_000,
            },
            duration_ns: 2_000 * MS,
        };
        let Ok(Measured::Game(report)) = converse(asked, 0, |_| false) else {
            panic!("no report")
        };
        let figures = &report.figures;
        assert_eq!(
            (figures.frames_complete, figures.late, figures.incomplete),
            (100, 0, 0)
        );
        assert!((3_900_000..4_100_000).contains(&figures.rate), "{figures:?}");
        assert!(
            figures.inputs_sent >= 245 && figures.inputs_answered >= 240,
            "{figures:?}"
        );
        let latency = figures.input_to_frame.unwrap();
        // 20 ms of path and up to 20 ms until the next frame.
        assert!(
            latency.min >= 20_000_000 && latency.max <= 41_000_000,
            "{latency:?}"
        );
        assert!(
            (28_000_000..32_000_000).contains(&(latency.mean as i64)),
            "{latency:?}"
        );
        assert_eq!(figures.longest_freeze_ns, 20 * MS);
    }

    #[test]
    fn an_interrupted_call_says_goodbye_and_counts_so_far() {
        let mut client = Conversation::new(even(1_000), 5, 0, at(0));
        let mut token = Vec::new();
        ToClient::Token { nonce: 5, token: 9 }.encode(&mut token);
        client.on_datagram(&token, 0, at(1));
        let mut said = Vec::new();
        client.interrupt(&mut |packet| said.push(ToServer::decode(packet)));
        assert_eq!(said, [Ok(ToServer::Bye { nonce: 5, token: 9 })]);
        let Ok(Measured::Delay(report)) = client.finish("udp", 3, at(2)) else {
            panic!("no report")
        };
        assert!(report.interrupted && report.figures.packets_sent == 0);
        assert_eq!(report.figures.dropped_here, 3);
    }
}
