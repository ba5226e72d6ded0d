//! Storage that fails while an answer is on its way: what the client has got is a beginning of what it asked for, its
//! connection says that there is more, and a metric says why.

use std::time::Duration;

use crate::misbehaving::{Act, Asked, Misbehaving, answer, object, right, status};
use crate::served::{Served, config};

const A: &str = "\"a\"";
const LENGTH: usize = 400_000;

/// A server with one object: the first read of it ends in the middle, `then` says how, and the rest is asked for again.
fn fails_in_the_middle(then: Act, again: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Served {
    let whole = object(LENGTH);
    let storage = Misbehaving::start(move |asked| {
        let (head, body) = right(asked, &whole, A);
        match asked.number {
            // What there is.
            0 => vec![Act::Send(head)],
            1 => vec![Act::Send([&head, &body[..LENGTH / 2]].concat()), then.clone()],
            _ => again(asked),
        }
    });
    let mut config = config(&storage.url());
    // Long enough for a storage that is held up, too.
    config.patience.answer = Duration::from_secs(3);
    config.patience.stall = Duration::from_secs(3);
    Served::start(&config)
}

#[test]
fn what_stops_in_the_middle_goes_on() {
    for then in [Act::Reset, Act::Close, Act::Hang] {
        let served = fails_in_the_middle(then.clone(), |asked| answer(asked, &object(LENGTH), A));
        let (status, body) = served.get("/a.mp4");
        assert!(status == 200 && body == object(LENGTH), "{then:?}");
        assert_eq!(
            served.metric("weir_origin_storage_retries_total"),
            1.0,
            "{then:?}"
        );
    }
}

#[test]
fn what_cannot_go_on_is_cut_off_and_says_why() {
    type Again = fn(&Asked) -> Vec<Act>;
    let table: [(Act, Again, &str); 7] = [
        (Act::Reset, |_| vec![Act::Reset], "storage_broke_off"),
        (Act::Close, |_| vec![Act::Close], "storage_broke_off"),
        (Act::Hang, |_| vec![Act::Hang], "storage_timed_out"),
        (Act::Close, |_| status(503), "storage_unavailable"),
        (Act::Close, |_| status(403), "storage_forbidden"),
        (Act::Close, |_| status(404), "storage_not_found"),
        (
            Act::Close,
            |asked| {
                let mut asked = asked.clone();
                asked.headers.insert("range".into(), "bytes=5-14".into());
                answer(&asked, &object(LENGTH), A)
            },
            "storage_wrong_answer",
        ),
    ];
    for (then, again, cause) in table {
        let served = fails_in_the_middle(then, again);
        // The headers promise all of it, and the connection ends before.
        let (status, body) = served.get("/a.mp4");
        assert_eq!(status, 200, "{cause}");
        assert!(
            body.len() < LENGTH && object(LENGTH).starts_with(&body),
            "{cause}"
        );
        assert_eq!(served.errors(cause), 1.0, "{cause}");
    }
}

#[test]
fn storage_that_is_slow_but_goes_on_is_waited_for() {
    let storage = Misbehaving::start(|asked| {
        let (head, body) = right(asked, &object(LENGTH), A);
        let mut acts = vec![Act::Send(head)];
        for piece in body.chunks(LENGTH / 8) {
            acts.extend([Act::Pause(Duration::from_millis(100)), Act::Send(piece.to_vec())]);
        }
        acts
    });
    let mut config = config(&storage.url());
    // Less than it takes altogether.
    config.patience.stall = Duration::from_millis(700);
    let served = Served::start(&config);
    assert!(served.get("/a.mp4") == (200, object(LENGTH)));
    assert_eq!(served.metric("weir_origin_storage_retries_total"), 0.0);
}

#[test]
fn storage_that_refuses_connections_is_said_and_found_again() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("its address");
    drop(free);
    let served = Served::start(&config(&format!("http://{address}")));
    for _ in 0..3 {
        let told = served.refusal("/a.mp4");
        assert_eq!(told, (502, "storage_unreachable".to_owned()));
    }
    assert_eq!(served.errors("storage_unreachable"), 3.0);
    assert_eq!(served.get("/healthz").0, 503, "no storage answers");
    let up = format!("weir_origin_storage_up{{place=\"http://{address}/\"}}");
    assert_eq!(served.metric(&up), 0.0);
    let _storage = Misbehaving::start_at(address, |_| status(404));
    crate::served::wait_until("storage to be found again", || served.get("/healthz").0 == 200);
    assert_eq!(served.metric(&up), 1.0);
}
