//! The agent's half of a TCP throughput test.

use std::time::{Duration, Instant};

use weir_control::Joined;

use super::{NAP, Outcome, PATIENCE, Served, Serving, not_begun};
use crate::MeasureError;
use crate::control::{FromAgent, Ready, ToAgent};
use crate::tcp_throughput::{AgentTcp, TcpRequest};

/// The test's connections, in the client's order, or the outcome of the request without them.
type Awaited = Result<Vec<Joined>, Outcome>;

impl Serving<'_> {
    pub(super) fn serve_tcp(&mut self, request: TcpRequest) -> Served<Outcome> {
        let limits = &self.shared.limits;
        let request = TcpRequest {
            max_rate: request.max_rate.min(limits.max_rate),
            ..request
        };
        let within = limits.check(None, request.duration_ns, 1, request.streams);
        if let Err(error) = within.and_then(|()| request.check_windows()) {
            return Ok(Err(error));
        }
        // Connections left over from an earlier test are not part of this one.
        self.joined.try_iter().for_each(drop);
        self.say(&FromAgent::Ready(Ready::default()))?;
        let streams = match self.await_streams(request.streams)? {
            Ok(streams) => streams,
            Err(outcome) => return Ok(outcome),
        };
        let stop = self.shared.stop.child();
        let mut test = match AgentTcp::start(request, streams, &stop) {
            Ok(test) => test,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            let message = self.next(NAP)?;
            let over = matches!(message, Some(ToAgent::Stop(_))) || test.is_overdue();
            if let Some(said) = test.poll(over) {
                self.say(&said)?;
            }
            if over {
                test.finish();
                return Ok(Ok(self.say(&FromAgent::Tcp)?));
            }
        }
    }

    /// Waits for the connections and for the client's word that all are there. The word travels on another
    /// connection than they do, and may be here first.
    fn await_streams(&self, count: u16) -> Served<Awaited> {
        let mut streams = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        let mut is_to_begin = false;
        while streams.len() < usize::from(count) || !is_to_begin {
            if let Ok(joined) = self.joined.recv_timeout(NAP / 4) {
                streams.push(joined);
            }
            match self.next(Duration::ZERO)? {
                Some(ToAgent::Go) => is_to_begin = true,
                Some(ToAgent::Stop(_)) => return Ok(Err(Ok(()))),
                _ => {}
            }
            if Instant::now() > deadline {
                let missing = MeasureError::FarEnd("the TCP test connections did not come".into());
                let all_here = streams.len() >= usize::from(count);
                return Ok(Err(Err(if all_here { not_begun(PATIENCE) } else { missing })));
            }
        }
        streams.sort_by_key(|joined| joined.number);
        Ok(Ok(streams))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{IpAddr, Ipv4Addr, Shutdown};

    use weir_record::{Direction, Record};
    use weir_units::Rate;
    use weir_wire::Token;

    use super::*;
    use crate::agent::{Agent, AgentConfig};
    use crate::control::{READY_LIMIT, Stopped};
    use crate::{AgentAddress, Family, Limits, Session, Stop};

    /// A client, and a request that its agent is ready for.
    fn with_agent(request: TcpRequest, check: impl FnOnce(&mut Session)) {
        let stop = Stop::default();
        let config = AgentConfig {
            listen: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            port: 0,
            udp_ports: 0..=0,
            token: Token::new(b"a token of this test".to_vec()),
            open: false,
            limits: Limits::default(),
            stamp_port: None,
            stamp_key: None,
        };
        let token = config.token.clone();
        let agent = Agent::bind(config, stop.clone()).expect("an agent");
        let host = agent.addresses()[0].to_string();
        let serving = std::thread::spawn(move || agent.run());
        let mut session = Session::connect(&AgentAddress {
            host,
            family: Family::V4,
            token,
        })
        .expect("a session");
        session.send(&ToAgent::Tcp(request)).expect("a request");
        assert!(matches!(session.receive(READY_LIMIT), Ok(FromAgent::Ready(_))));
        check(&mut session);
        stop.set();
        serving.join().expect("the agent ends");
    }

    fn request(direction: Direction) -> TcpRequest {
        TcpRequest {
            direction,
            streams: 1,
            duration_ns: 1_000_000_000,
            max_rate: Rate(10_000_000),
            max_bytes: 5_000,
            window_bytes: None,
            omit_ns: 0,
        }
    }

    #[test]
    fn the_word_to_begin_may_be_here_before_the_connections() {
        with_agent(request(Direction::Reverse), |session| {
            session.send(&ToAgent::Go).expect("the word");
            // Time enough for the agent to read it while no connection is there.
            std::thread::sleep(10 * NAP);
            let (_, mut stream) = session.data_connection().expect("a connection");
            let mut came = Vec::new();
            stream
                .read_to_end(&mut came)
                .expect("what the agent sends, and its end");
            assert_eq!(came.len(), 5_000);
        });
    }

    #[test]
    fn a_test_that_ends_before_its_sender_has_come_to_run_carries_something() {
        with_agent(request(Direction::Reverse), |session| {
            let (_, mut stream) = session.data_connection().expect("a connection");
            session.send(&ToAgent::Go).expect("the word");
            session.send(&ToAgent::Stop(Stopped::default())).expect("the end");
            let mut came = Vec::new();
            stream
                .read_to_end(&mut came)
                .expect("what the agent sends, and its end");
            assert_eq!(came.len(), 5_000);
        });
    }

    #[test]
    fn what_came_before_the_agent_began_did_not_come_in_no_time() {
        with_agent(request(Direction::Forward), |session| {
            let (_, mut stream) = session.data_connection().expect("a connection");
            stream.write_all(&[0; 5_000]).expect("a connection that takes it");
            stream.shutdown(Shutdown::Write).expect("a connection");
            let held_up = 10 * NAP;
            std::thread::sleep(held_up);
            session.send(&ToAgent::Go).expect("the word");
            session.send(&ToAgent::Stop(Stopped::default())).expect("the end");
            let Ok(FromAgent::Records(records)) = session.receive(READY_LIMIT) else {
                panic!("no count came");
            };
            let [Record::TcpSecond(Direction::Forward, row)] = &records[..] else {
                panic!("{records:?}");
            };
            assert_eq!(row.bytes, 5_000);
            assert!(row.duration_ns >= weir_net::clock::nanos(held_up), "{row:?}");
        });
    }
}
