//! Datagrams from strangers, and from somebody who reads the path, to the UDP ports of a stream: they change nothing
//! but a counter.

use std::process::Command;

use weir_rig::carry::{FORMAT, FROM_FAR, RECEIVED, finish, from_one, lossy_link, recv, send_on};
use weir_rig::{Database, FAR_IPV4, Host, NEAR_IPV4, Running, count, isolated, udp_ports_in_use};

/// Reads the link with a packet socket, and throws at each end what does not come from the other: noise, noise that
/// begins like Weir's packets, and, from the other's address and port, real packets again, cut short, and with a bit
/// flipped. It prints how many datagrams it has thrown at the receiver and at the sender that are to be rejected there,
/// and how many copies, which are to be known as such.
const INTRUDER: &str = r#"
import random, socket, struct, sys, time
near, far, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
rng = random.Random(5)
spy = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
spy.bind(("near", 0))
spy.settimeout(0.5)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def checksum(data):
    if len(data) % 2: data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
def throw(source, destination, sport, dport, payload):
    udp = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                     socket.inet_aton(source), socket.inet_aton(destination))
    raw.sendto(ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + udp, (destination, 0))
forged = copies = 0
begun, seen = time.time(), 0
media = []
while time.time() < begun + seconds:
    try: packet, address = spy.recvfrom(65535)
    except TimeoutError: continue
    # Incoming ones only, which are the sender's.
    if address[2] == socket.PACKET_OUTGOING or packet[9] != 17: continue
    header = (packet[0] & 15) * 4
    sport, dport = struct.unpack("!HH", packet[header:header + 4])
    payload = packet[header + 8:struct.unpack("!H", packet[2:4])[0]]
    if sport != 4848 or len(payload) < 200: continue
    seen += 1
    if seen % 20: continue
    flipped = bytearray(payload)
    place = rng.randrange(64 * 8)
    flipped[place // 8] ^= 1 << place % 8
    noise = rng.randbytes(rng.randrange(1, 1400))
    like = bytes([0x57, 0x45, 1, rng.choice([4, 8, 9, 10])]) + rng.randbytes(rng.randrange(8, 1400))
    for bad in [bytes(flipped), payload[:rng.randrange(1, 64)], noise, like]:
        # With the sender's own address, so that the receiver's connected sockets take them.
        throw(far, near, sport, dport, bad)
        throw(near, far, dport, sport, bad)
        forged += 1
    throw(far, near, sport, dport, payload)
    # Its own packet is no feedback.
    throw(near, far, dport, sport, payload)
    copies += 1
print(forged, copies)
"#;

#[test]
fn garbage_forgeries_and_replays_change_nothing_but_a_counter() {
    isolated!();
    // Reading sees the packets one by one.
    lossy_link("");
    std::fs::write("intruder.py", INTRUDER).expect("a file");
    std::fs::write("token", "a secret\n").expect("a file");
    // What the intruder sends to the near host leaves by loopback, and goes in there all the same.
    for place in ["all", "near", "lo"] {
        let file = format!("/proc/sys/net/ipv4/conf/{place}/");
        std::fs::write(format!("{file}accept_local"), "1").expect("a setting");
        std::fs::write(format!("{file}rp_filter"), "0").expect("a setting");
    }
    let sender = send_on(
        Host::Far,
        &format!("--test-pattern {FORMAT} --frames 250 --token-file token"),
    );
    let receiver = recv(&format!("{FROM_FAR} --verify --token-file token"));
    Database::wait_for_rows(RECEIVED, "frame_seconds", 1);
    assert_eq!(udp_ports_in_use(Host::Far), [4848]);
    let mut intruder = Command::new("python3");
    intruder.args(["intruder.py", NEAR_IPV4, FAR_IPV4, "2.5"]);
    let thrown = Running::start(intruder);
    let carried = finish(sender, receiver);
    let thrown = thrown.wait(weir_rig::LIMIT).expect_code(0).stdout;
    let (forged, copies) = thrown.trim().split_once(' ').expect("two numbers");
    let [forged, copies] = [forged, copies].map(|number| number.parse::<u64>().expect("a number"));
    assert!(copies > 50, "{thrown}");

    carried.all_whole(250);
    let received = from_one(&carried.received);
    assert_eq!(
        (
            count(&carried.received["frames_verified"]),
            count(&received["unrepaired"])
        ),
        (250, 0)
    );
    // Those thrown last may have come when the sockets had closed.
    let rejected = count(&received["rejected"]);
    assert!(
        rejected <= forged && rejected + 8 >= forged,
        "{rejected} of {forged}: {received}"
    );
    assert!(
        count(&received["duplicates"]) + 2 >= copies,
        "{copies}: {received}"
    );
    let (rejected, all) = (count(&carried.sent["rejected"]), forged + copies);
    assert!(
        rejected <= all && rejected + 10 >= all,
        "{rejected} of {all}: {}",
        carried.sent
    );
    assert_eq!(count(&carried.sent["receivers"]), 1);
}
