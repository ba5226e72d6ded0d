//! Many clients that take nothing of a segment that is encrypted as a whole: it goes out as it is read, so that they hold what
//! is on its way and not the segment. Alone in its file, since it looks at the memory of its process.

use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::time::Duration;

use crate::protected::{KEY, noise, rule, with_keys};
use crate::served::{Served, config, run, wait_until};
use weir_origin::Kind;

const IV: &str = "0123456789abcdef0123456789abcdef";
const CLIENTS: u64 = 24;
const PATH: &str = "/sita/video/v1/0.m4s";

/// The most memory that this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kibibytes = line.split_whitespace().nth(1).unwrap();
    kibibytes.parse::<u64>().unwrap() << 10
}

/// Waits until as much has gone out as there is room for on the way.
fn wait_until_stuck(served: &Served) {
    wait_until("all answers", || {
        served.metrics.requests(Kind::Media, 200) == CLIENTS
    });
    let before = Cell::new(0);
    wait_until("all to be stuck", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = served.metrics.bytes_out(Kind::Media);
        before.replace(now) == now
    });
}

#[test]
fn clients_that_take_nothing_hold_little_of_an_encrypted_segment() {
    let folder = noise(100);
    let place = folder.path().to_str().unwrap();
    let keys = format!("{}iv = '{IV}'\nkey_url = 'https://k/'\n", rule("sita", "aes-128"));
    let mut settings = with_keys(folder.path(), &keys, None, false);
    settings.limits.stalled = Duration::from_secs(600);
    let served = Served::start(&settings);
    assert_eq!(served.get("/sita/master.m3u8").0, 200);
    let before = peak_memory();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| served.connect()).collect();
    for client in &mut clients {
        let request = format!("GET {PATH} HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
    }
    wait_until_stuck(&served);
    let grown = peak_memory() - before;
    let read = served.metrics.bytes_in(Kind::Media);

    // One of them takes it after all.
    let mut answer = Vec::new();
    clients.remove(0).read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let whole = answer.split_off(head);
    let length = whole.len() as u64;
    assert!(length > 32 << 20, "{length}");
    assert!(
        grown < CLIENTS * length / 8,
        "{grown} bytes for {CLIENTS} clients of {length}"
    );
    // Besides, the kernel has what fits into its buffers.
    assert!(
        read < CLIENTS * length / 2,
        "{read} bytes were read for {CLIENTS} clients of {length}"
    );
    drop(clients);

    let file = folder.path().join("encrypted");
    fs::write(&file, &whole).unwrap();
    let decrypted = run(
        "openssl",
        &format!("enc -d -aes-128-cbc -K {KEY} -iv {IV} -in {}", file.display()),
    );
    let clear = Served::start(&config(place));
    assert!(decrypted == clear.get(PATH).1, "the segment is not what it was");
}
