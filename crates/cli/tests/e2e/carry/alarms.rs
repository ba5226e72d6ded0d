//! Alarms of both ends: residual loss and a dark sender come to a command, a webhook, the store and the metrics, and are
//! cleared; a webhook that nobody answers and a command that fails cost the stream nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;
use weir_rig::carry::{
    FORMAT, FROM_FAR, RECEIVED, SENT, drop_media, lossy_link, recv, send_on, wait_for_words,
};
use weir_rig::{Database, Host, LIMIT, Running, isolated, nft, wait_until};

use crate::documented;

/// A server that answers every request with 204; the bodies come out.
pub fn webhook() -> (SocketAddr, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let (bodies, posted) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a connection"));
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).expect("a line") > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            stream.get_mut().write_all(answer).expect("an answer");
            let body = serde_json::from_slice(&body).expect("JSON");
            if bodies.send(body).is_err() {
                return;
            }
        }
    });
    (address, posted)
}

/// Reads metrics with the parser of Prometheus' own client library; prints samples by name and labels.
const SCRAPE: &str = r#"
import json, sys, urllib.request
from prometheus_client.openmetrics.parser import text_string_to_metric_families
answer = urllib.request.urlopen(sys.argv[1])
assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0"), answer.headers
samples = {}
for family in text_string_to_metric_families(answer.read().decode()):
    assert family.documentation and family.type in ("counter", "gauge"), family
    for sample in family.samples:
        labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
        samples[f"{sample.name} {labels}"] = sample.value
print(json.dumps(samples))
"#;

#[track_caller]
fn scrape(host: Host, program: &mut Running) -> BTreeMap<String, f64> {
    wait_for_words(program, "metrics at http://");
    let said = program.stderr();
    let url = said
        .split_whitespace()
        .find(|word| word.starts_with("http://") && word.ends_with("/metrics"));
    let mut python = Command::new("python3");
    python.args(["-c", SCRAPE, url.expect("a URL")]);
    let printed = Running::start(host.command(python))
        .wait(LIMIT)
        .expect_code(0)
        .json();
    serde_json::from_value(printed).expect("numbers")
}

/// Waits until the webhook gets this change of an alarm; what comes before it may be any: a busy host is held up, and packets
/// are missing after a dark time.
#[track_caller]
fn until(posted: &Receiver<Value>, seen: &mut Vec<Value>, event: &str, state: &str) {
    loop {
        let next = posted.recv_timeout(LIMIT).expect("an event");
        documented("event", &next);
        seen.push(next.clone());
        if next["event"] == event && next["state"] == state {
            return;
        }
    }
}

#[test]
fn alarms_reach_commands_webhooks_the_store_and_metrics_and_end() {
    isolated!();
    lossy_link("");
    let failing = "--webhook http://127.0.0.1:9/nobody --on-event false --metrics 127.0.0.1:0";
    let mut sender = send_on(
        Host::Far,
        &format!("--open --test-pattern {FORMAT} --flows 1 --no-arq --most-loss 90% {failing}"),
    );
    let (address, posted) = webhook();
    let to_file = "cat>>events.ndjson;echo>>events.ndjson";
    let mut receiver = recv(&format!(
        "{FROM_FAR} --metrics 127.0.0.1:0 --webhook http://{address}/weir?secret --on-event {to_file}"
    ));
    Database::wait_for_rows(RECEIVED, "frame_seconds", 1);
    let mut seen = Vec::new();
    let mut expect = |event, state| until(&posted, &mut seen, event, state);

    drop_media("numgen inc mod 40 == 7");
    expect("residual_loss", "raised");
    let metrics = wait_until("residual loss in the metrics", LIMIT, || {
        let metrics = scrape(Host::Near, &mut receiver);
        let lost = metrics["weir_recv_unrepaired_packets_total from=10.9.0.2,sender=0"];
        (lost > 0.0).then_some(metrics)
    });
    let alarm = "weir_recv_alarm alarm=residual_loss,from=10.9.0.2,sender=0";
    assert_eq!(metrics[alarm], 1.0, "{metrics:?}");
    nft(Host::Near, "flush chain ip lab in");
    expect("residual_loss", "cleared");

    // Nothing of the sender arrives, while its control connection stands.
    nft(Host::Near, "add rule ip lab in udp sport 4848 drop");
    expect("flow_dark", "raised");
    nft(Host::Near, "flush chain ip lab in");
    expect("flow_dark", "cleared");

    receiver.signal("INT");
    let received = receiver.wait(LIMIT).expect_code(0);
    documented("recv", &received.json());
    wait_for_words(&mut sender, "disconnected");
    let sent = scrape(Host::Far, &mut sender);
    assert_eq!(sent["weir_send_receivers_total "], 1.0, "{sent:?}");
    sender.signal("INT");
    let sent = sender.wait(LIMIT).expect_code(0);

    // The store, the file and the webhook have the same events.
    seen.extend(posted.try_iter());
    let stored = Database::open(RECEIVED);
    let words = "SELECT event || ' ' || state || ' ' || unix_ns FROM media_events ORDER BY id";
    let rows = stored.all::<String>(words);
    let posted: Vec<String> = seen.iter().map(word).collect();
    assert_eq!(posted, rows);
    let file = std::fs::read_to_string("events.ndjson").expect("the command's file");
    let lines: Vec<String> = file
        .lines()
        .map(|line| word(&serde_json::from_str(line).expect("JSON")))
        .collect();
    assert_eq!(lines, rows);
    let secret = "SELECT count(*) FROM runs WHERE parameters LIKE '%secret%'";
    assert_eq!(stored.one::<i64>(secret), 0);

    // The sender's hooks failed, with a line and a sum, and its stream went on.
    let events: i64 = Database::open(SENT).one("SELECT count(*) FROM media_events");
    let said = |text: &str| sent.stderr.matches(text).count();
    assert_eq!(said("command 'false' failed"), 1, "{}", sent.stderr);
    let sum = format!("command 'false': {events} messages were lost");
    assert_eq!(said(&sum), 1, "{}", sent.stderr);
    assert!(said("webhook http://127.0.0.1:9 failed") > 0, "{}", sent.stderr);
}

/// An event in short.
fn word(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().expect("a word");
    format!("{} {} {}", text("event"), text("state"), event["unix_ns"])
}
