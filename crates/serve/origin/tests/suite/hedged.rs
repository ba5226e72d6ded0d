//! Reads of storage that is slow now and then: where that is asked for, such a read is made a second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::misbehaving::{Act, Misbehaving, answer, object};
use weir_origin::{Access, Kind, Metrics, ObjectPath, Patience, Storage};

const A: &str = "\"a\"";
/// Reads after which enough is known to call one slow.
const LEARNED: usize = 200;
/// The first of them, which take a time beside which those that follow are quick even on a busy machine.
const UNHURRIED: usize = LEARNED / 2;
const UNHURRIED_FOR: Duration = Duration::from_millis(5);
/// More than sockets hold.
const LENGTH: usize = 8 << 20;

fn storage(servers: &[&Misbehaving], hedge: bool) -> (Storage, Arc<Metrics>) {
    let patience = Patience {
        answer: Duration::from_secs(5),
        tries: 1,
        hedge,
        ..Patience::default()
    };
    let metrics = Arc::<Metrics>::default();
    let places: Vec<_> = servers
        .iter()
        .map(|server| server.url().parse().expect("a place"))
        .collect();
    let storage = Storage::open(&places, &Access::default(), true, patience, metrics.clone());
    (storage.expect("storage"), metrics)
}

/// Reads a little again and again, then something larger.
fn read_all(storage: &Storage) -> Result<Vec<u8>, weir_origin::StorageError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let path = ObjectPath::new("a").expect("a path");
    runtime.block_on(async {
        for _ in 0..LEARNED {
            let read = storage.read_whole(Kind::Media, &path, 0..10, None).await;
            assert_eq!(read.expect("a few bytes").1, object(10));
        }
        let range = 0..LENGTH as u64;
        let read = storage.read_whole(Kind::Media, &path, range, None).await;
        read.map(|(_, bytes)| bytes.to_vec())
    })
}

/// Answers soon, but for the first read of all: that hangs until the gate opens.
fn now_and_then_slow() -> (Misbehaving, Arc<AtomicUsize>) {
    let large = Arc::new(AtomicUsize::new(0));
    let (seen, bytes) = (large.clone(), object(LENGTH));
    let server = Misbehaving::start(move |asked| {
        let is_large = asked.range(LENGTH).len() == LENGTH;
        let acts = answer(asked, &bytes, A);
        if is_large && seen.fetch_add(1, Ordering::SeqCst) == 0 {
            return [vec![Act::Gate], acts].concat();
        }
        if asked.number < UNHURRIED {
            return [vec![Act::Pause(UNHURRIED_FOR)], acts].concat();
        }
        acts
    });
    (server, large)
}

#[test]
fn a_slow_read_is_made_again_and_the_first_answer_is_taken() {
    let (server, large) = now_and_then_slow();
    let (storage, metrics) = storage(&[&server], true);
    assert!(read_all(&storage).expect("from the second read") == object(LENGTH));
    assert_eq!(large.load(Ordering::SeqCst), 2);
    let (hedges, _) = metrics.hedges();
    // Which of the two reached the server first is open. Others may have been slow as well, but never more than one in
    // twenty.
    assert!(hedges >= 1 && hedges <= LEARNED as u64 / 20, "{hedges}");
    // A second read that the first one's answer comes before is dropped, if need be before it began.
    let again = metrics.reads(Kind::Media) - (LEARNED as u64 + 1);
    assert!((1..=hedges).contains(&again), "{again} of {hedges}");
    // The slow one finds that nobody listens any more.
    server.open_gate();
    server.wait_for_broken_sends(1);
}

#[test]
fn another_place_is_asked_where_there_is_one() {
    let (first, _) = now_and_then_slow();
    let bytes = object(LENGTH);
    let second = Misbehaving::start(move |asked| answer(asked, &bytes, A));
    let (storage, metrics) = storage(&[&first, &second], true);
    assert!(read_all(&storage).expect("from the second place") == object(LENGTH));
    let (hedges, won) = metrics.hedges();
    assert!(won >= 1, "{won} of {hedges}");
    // A second read that the first one's answer comes before is dropped, if need be before it was sent.
    assert!(second.count() as u64 <= hedges, "{} of {hedges}", second.count());
    assert!(
        second
            .asked()
            .iter()
            .any(|asked| asked.range(LENGTH).len() == LENGTH)
    );
}

#[test]
fn no_read_is_made_again_where_that_is_not_asked_for() {
    let (server, large) = now_and_then_slow();
    let (storage, metrics) = storage(&[&server], false);
    let error = read_all(&storage).expect_err("too slow");
    assert_eq!(error.cause(), "storage_timed_out");
    assert_eq!((large.load(Ordering::SeqCst), metrics.hedges()), (1, (0, 0)));
}
