use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::channel;

use super::*;

/// Answers one request after the other with these statuses, and then with the last one; the bodies come out.
fn webhook(statuses: &'static [&'static str]) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let (bodies, posted) = channel();
    std::thread::spawn(move || {
        let last = statuses.last().expect("a status");
        for status in statuses.iter().chain(std::iter::repeat(last)) {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            let mut stream = BufReader::new(stream);
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).expect("a line") > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            // Before the answer, after which nobody waits for it.
            if bodies.send(String::from_utf8(body).expect("text")).is_err() {
                return;
            }
            stream.get_mut().write_all(answer.as_bytes()).expect("an answer");
        }
    });
    (address, posted)
}

fn message(number: u64) -> Message {
    Message {
        json: format!("{{\"number\":{number}}}"),
        variables: vec![("WEIR_EVENT", format!("event {number}"))],
    }
}

#[test]
fn commands_and_webhooks_get_each_event_in_order() {
    let (address, posted) = webhook(&["204 No Content"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out");
    let command = format!("(echo $WEIR_EVENT; cat; echo) >> {}", file.display());
    let hooks = [
        Hook::Command(command),
        Hook::webhook(&format!("http://{address}/hook")).expect("a URL"),
    ];
    let mut deliveries = Deliveries::start(&hooks).expect("threads");
    for number in 1..=3 {
        deliveries.deliver(message(number));
    }
    drop(deliveries);
    let bodies: Vec<String> = posted.try_iter().collect();
    assert_eq!(bodies, ["{\"number\":1}", "{\"number\":2}", "{\"number\":3}"]);
    let written = std::fs::read_to_string(&file).expect("the command's file");
    assert_eq!(
        written,
        "event 1\n{\"number\":1}\nevent 2\n{\"number\":2}\nevent 3\n{\"number\":3}\n"
    );
}

#[test]
fn a_webhook_that_fails_is_asked_again_and_one_that_refuses_or_redirects_is_not() {
    let going = AtomicBool::new(false);
    let ask = |statuses| {
        let (address, posted) = webhook(statuses);
        let result = post_again(&agent(), &format!("http://{address}/"), "{}", &going);
        (result, posted.try_iter().count())
    };
    assert_eq!(ask(&["503 Busy", "200 OK"]), (Ok(()), 2));
    let (refused, requests) = ask(&["403 Forbidden"]);
    assert!(refused.is_err_and(|reason| reason.contains("403")));
    assert_eq!(requests, 1);
    // The other host is this one, so that it would be seen.
    let (redirected, requests) = ask(&["302 Found\r\nlocation: /other", "200 OK"]);
    assert!(redirected.is_err_and(|reason| reason.contains("redirects")));
    assert_eq!(requests, 1);
    // At the end of the run there is no time for a second attempt.
    going.store(true, Ordering::Relaxed);
    let (address, posted) = webhook(&["503 Busy"]);
    assert!(post_again(&agent(), &format!("http://{address}/"), "{}", &going).is_err());
    assert_eq!(posted.try_iter().count(), 1);
}

#[test]
fn a_command_that_hangs_is_killed_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("children");
    let command = format!("sleep 1000 & echo $! > {}; wait", file.display());
    let mut sh = spawn(&command, &message(1)).expect("a command");
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut child = String::new();
    while !child.ends_with('\n') {
        assert!(Instant::now() < deadline, "it has not begun");
        std::thread::sleep(NAP);
        child = std::fs::read_to_string(&file).unwrap_or_default();
    }
    assert_eq!(wait(&mut sh, Duration::ZERO).unwrap_err(), "killed after 0 s");
    let status = format!("/proc/{}/status", child.trim());
    let ended = || match std::fs::read_to_string(&status) {
        // Its parent is gone; whoever adopted it may not have waited for it yet.
        Ok(status) => status.contains("State:\tZ") || status.contains("State:\tX"),
        Err(_) => true,
    };
    while !ended() {
        assert!(Instant::now() < deadline, "it is alive");
        std::thread::sleep(NAP);
    }
    let result = |command| {
        wait(
            &mut spawn(command, &message(1)).expect("a command"),
            Duration::from_secs(60),
        )
    };
    assert!(result("exit 3").unwrap_err().contains('3'));
    assert_eq!(result("exec 0<&-; exit 0"), Ok(()), "it need not read");
}

#[test]
fn a_hook_that_hangs_costs_the_caller_no_time_and_a_bounded_queue() {
    let (messages, waiting) = sync_channel(WAITING);
    let queue = Queue {
        name: "a hook".to_owned(),
        messages,
        thread: std::thread::spawn(|| {}),
        trouble: Arc::default(),
    };
    for number in 0..10_000 {
        queue.offer(Arc::new(message(number)));
    }
    let lost = |queue: &Queue| queue.trouble.0.load(Ordering::Relaxed);
    assert_eq!(lost(&queue), 10_000 - WAITING as u64);
    // It takes one, and the next event fits again.
    assert_eq!(
        waiting.recv().map(|first| first.json.clone()),
        Ok("{\"number\":0}".to_owned())
    );
    queue.offer(Arc::new(message(10_000)));
    assert_eq!(waiting.try_iter().count(), WAITING);
    assert_eq!(lost(&queue), 10_000 - WAITING as u64, "until one is delivered");
}
