//! `weir lab run`: the link does what its options say, as counted independently; nothing of it is left behind; and it
//! reports an invalid result.

use weir_rig::{count, isolated, lab_run, nothing_is_left, see_own_processes};

/// Sends bytes by TCP, and prints their digest as the far end has computed it beside its own.
const TCP_SENDER: &str = r#"
import hashlib, os, random, socket, sys
data = random.Random(1).randbytes(int(sys.argv[2]))
s = socket.create_connection((sys.argv[1], 9999))
s.sendall(data)
s.shutdown(socket.SHUT_WR)
theirs = s.makefile().read()
print(int(theirs == hashlib.sha256(data).hexdigest()))
"#;

const TCP_RECEIVER: &str = r#"
import hashlib, socket
listener = socket.create_server(("::", 9999), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    s, _ = listener.accept()
    digest = hashlib.sha256()
    while data := s.recv(1 << 20):
        digest.update(data)
    s.sendall(digest.hexdigest().encode())
    s.close()
"#;

/// What the kernel knows of the path after a packet that was too long for it.
const TOO_LONG: &str = r#"
import errno, os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
s.connect((os.environ["WEIR_LAB_FAR"], 9))
for _ in range(40):
    try: s.send(bytes(3000))
    except OSError as error:
        if error.errno == errno.EMSGSIZE: break
    time.sleep(0.05)
print(s.getsockopt(socket.IPPROTO_IP, 14))  # IP_MTU
"#;

#[test]
fn round_trips_take_the_time_that_was_set() {
    isolated!(heavy);
    see_own_processes();
    for family in ["-4", "-6"] {
        let rtt = format!("weir rtt far {family} --json -q --window 1 --interval 50ms --for 2s");
        let (rtt, account) = lab_run(&["--rtt", "20ms"], &rtt.split(' ').collect::<Vec<_>>());
        assert_eq!(rtt["lost"], 0);
        let median = count(&rtt["rtt"]["p50"]);
        assert!(count(&rtt["rtt"]["min"]) >= 20_000_000);
        // Four programs have to be woken on the way.
        assert!(median < 22_000_000, "{family}: {median} ns");
        assert!(count(&account["forward"]["offered"]) >= 40);
        // The last packets of the control connection may still be under way when the link ends.
        let under_way = count(&account["forward"]["offered"]) - count(&account["forward"]["delivered"]);
        assert!(under_way <= 5, "{account}");
    }
    nothing_is_left();
}

/// The hosts hand over large packets, which the link cuts and puts together again: what was sent is what arrives,
/// also when some of the pieces are lost, copied or overtaken.
#[test]
fn tcp_carries_the_same_bytes_across_a_bad_link() {
    isolated!(heavy);
    see_own_processes();
    const BYTES: u64 = 5_000_000;
    let (sender, receiver) = (weir_rig::path("sender.py"), weir_rig::path("receiver.py"));
    std::fs::write(&sender, TCP_SENDER).expect("a file");
    std::fs::write(&receiver, TCP_RECEIVER).expect("a file");
    let far = format!("python3 {receiver}");
    let link = "--rate 200Mbit/s --rtt 4ms --queue 4bdp --loss 0.5% --duplicate 0.5% --corrupt 0.2% --jitter 500us --reorder";
    let link: Vec<&str> = link.split(' ').chain(["--no-agent", "--far", &far]).collect();
    for address in ["198.18.0.2", "fd00:77::2"] {
        let script = format!("sleep 1; python3 {sender} {address} {BYTES}");
        let (same, account) = lab_run(&link, &["sh", "-c", &script]);
        assert_eq!(same, 1, "{address}: other bytes arrived");
        let forward = &account["forward"];
        // An Ethernet of 1500 bytes carries at most 1460 of them in a packet: the link saw the pieces.
        assert!(count(&forward["offered"]) > BYTES / 1460, "{account}");
        for fault in ["duplicated", "corrupted"] {
            assert!(count(&forward[fault]) > 0, "{fault} in {account}");
        }
        assert!(count(&forward["dropped"]["loss"]) > 0, "{account}");
        assert_eq!(forward["own_losses"]["not_written"], 0);
    }
}

#[test]
fn packets_longer_than_the_mtu_are_told_of_or_vanish_and_the_path_mtu_is_found_either_way() {
    isolated!(heavy);
    see_own_processes();
    let script = weir_rig::path("too_long.py");
    std::fs::write(&script, TOO_LONG).expect("a file");
    for (too_big, learned) in [("icmp", 1400), ("drop", 9000)] {
        // Only there, so that the agent's long answers still come through.
        let too_big = format!("forward.too-big={too_big}");
        let link = ["--mtu", "1400", "--set", "interface-mtu=9000", "--set", &too_big];
        let (mtu, account) = lab_run(&[&link[..], &["--no-agent"]].concat(), &["python3", &script]);
        assert_eq!(mtu, learned, "{too_big}");
        assert!(count(&account["forward"]["dropped"]["too_big"]) >= 1);

        for family in ["-4", "-6"] {
            let flows = format!("weir flows far {family} --json -q --rate 10Mbit/s --for 300ms");
            let (flows, _) = lab_run(&link, &flows.split(' ').collect::<Vec<_>>());
            let headers = if family == "-4" { 28 } else { 48 };
            assert_eq!(flows["forward"]["length"], 1400 - headers, "{too_big} {family}");
        }
    }
}
