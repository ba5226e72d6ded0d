//! What a user gets wrong, command by command: the exit status, and one line that says what to do.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};

use weir_rig::{
    Agent, Database, FAR_IPV4, FAR_IPV6, Host, LIMIT, isolated, join_by_veth, run_within, weir_line,
};

/// Exit status, arguments, and words of the error. Capitals stand for what the test has: agents, and addresses in use; with
/// `@` in front, no program is in PATH.
const REFUSED: &str = r#"
3 | rtt GUARDED --token-file wrong | token
3 | rtt GUARDED | token required ; --token-file
3 | flows GUARDED --rate 1Mbit/s | token required
3 | survey GUARDED | token required
3 | rtt OPEN --token-file right | open mode
2 | rtt GUARDED --token-file blank | is empty
2 | rtt GUARDED --token-file weak | token file weak is refused ; at least 16 ; openssl rand
2 | rtt GUARDED --token-file /nowhere | cannot read the token file
2 | agent --token-file /nowhere | cannot read the token file
2 | agent --port 0 --token-file blank | is empty
2 | agent --port 0 --listen 0.0.0.0 | --token-file or WEIR_TOKEN, or --open
2 | agent --port TCPPORT | in use
3 | agent --port 0 --stamp-port UDPPORT | UDPPORT ; in use
3 | rtt no-such-host.invalid | cannot resolve host 'no-such-host.invalid'
3 | flows 127.0.0.1:1 | cannot reach an agent at 127.0.0.1:1 ; weir agent
2 | doctor --yes | --fix
3 | rtt 127.0.0.1 -6 | no address of the requested IP version
3 | rtt SILENT | is this the control port of 'weir agent'?
3 | rtt SILENT | does not speak Weir's protocol
2 | nonsense | nonsense
2 | rtt OPEN --interval 1us | --interval
2 | rtt OPEN --fail-if silence>1s | does not measure silence
2 | rtt OPEN --cloud cellar | no price of egress for 'cellar'; the clouds with one are aws, gcp, azure, oracle
2 | flows OPEN --rate 1Mbit/s --fail-if jitter>1ms | does not measure jitter
2 | flows 127.0.0.1:1 --max-bytes 1MB | no room for the path MTU search; give --length
2 | flows 127.0.0.1:1 --max-bytes 7kB --length 1000 --burst 10 | use at least 8000B, or a lower --burst
2 | flows LIMITED --rate 1Gbit/s --length 500 --for 1s | at most 100 ; --max-rate
2 | flows LIMITED --rate 5Mbit/s --flows 6 --for 1s | 1 to 5 flows ; --flows
2 | flows LIMITED --rate 5Mbit/s --for 6s | at most 5 s ; --max-duration
2 | flows LIMITED --rate 5Mbit/s --for 1s --flows 3 --length 1000 --threads 3 | at most 2 packet threads ; --max-threads
2 | flows OPEN --threads 0 | from 1 to 16, or auto
2 | flows OPEN --threads 17 | from 1 to 16, or auto
2 | flows OPEN --threads 4 --flows 3 | --threads 4 needs a flow for each thread ; --flows 4
2 | flows LIMITED --rate 5Mbit/s --for 1s --length 1001 | at most 1000 bytes ; --max-length
2 | flows LIMITED --rate 5Mbit/s --for 1s --flows 5 | 4 UDP ports 5000 to 5003 are taken ; --udp-ports
2 | rtt LIMITED --for 1s --length 1001 | 1000 ; --max-length
2 | rtt LIMITED --for 6s | 5 s ; --max-duration
2 | rtt LIMITED --for 1s --window 10000 --length 1000 --interval 100ms | 100 ; --max-rate
2 | flows FAR4 --length 1373 --for 1s | --length 1373 ; 1372
2 | rtt FAR4 --length 1373 --for 1h | --length 1373 does not fit ; 1372
2 | flows FAR6 --length 1353 --for 1s | --length 1353 ; 1352
2 | rtt FAR6 --length 100..1353 --for 1s --interval 100ms | --length 1353 ; 1352
2 | rtt 127.0.0.1:9 --stamp --for 1h --window 11 --interval 1ms | 100.0 Mbit/s ; 10000 packets a second
2 | rtt 127.0.0.1:9 --stamp --length 46 --for 100ms | --length
3 | rtt OPEN --db /run/no/such/place/weir.db | /run/no/such/place/weir.db
3 | rtt OPEN --db notes.txt | is not a database
3 | flows OPEN --rate 1Mbit/s --db other.db | is a database of another program
3 | survey OPEN --db older.db | export its runs
3 | runs list --db /run/none.db | no results database at /run/none.db
3 | runs show 7 --db check.db | no run 7
3 | runs delete 1 7 --db check.db | no run 7
3 | runs export 7 --as json -o kept --db check.db | no run 7
2 | runs export 1 --as csv --table nonsense --db check.db | rtt_packets
2 | runs export last --as json -o check.db --db check.db | is the results store itself
3 | runs note 7 text --db check.db | no run 7
2 | runs merge 1 1 --db check.db | only runs of kind load can be merged
2 | report last -o kept --db check.db | --force
3 | report 999 -o kept --force --db check.db | no run 999
2 | report last -o check.db --force --db check.db | is the results store itself
3 | report last -o /nowhere/report.html --db check.db | cannot write
3 | report last --db newer.db | use a newer Weir
3 | ui --no-open --db none.db | none.db
2 | testbed serve --listen 0.0.0.0:0 | --token-file
2 | testbed serve --token-file nowhere | nowhere
3 | ui --no-open --db newer.db | use a newer Weir
3 | ui --no-open --db blank | database
2 | ui --no-open --db check.db --listen 0.0.0.0:0 | --token-file
2 | ui --no-open --db check.db --token-file blank | is empty
2 | ui --no-open --db check.db --token-file nowhere | nowhere
3 | ui --no-open --db check.db --listen 192.0.2.1:0 --token-file right | --listen
3 | ui --no-open --db check.db --listen TCPADDRESS | in use
3 | origin /nowhere/at/all | name an existing folder
3 | origin . --listen 192.0.2.1:0 | --listen
3 | origin . --listen TCPADDRESS | in use
3 | origin . --keys /nowhere | --keys
3 | origin . --key-server keys | http://
3 | origin . --tls-cert a.pem --tls-key b.pem | with --tls-cert
3 | @origin demo --duration 10s | apt-get install ffmpeg
2 | @origin demo --duration 10s --folder . | exists; serve it with
3 | origin index . none.mp4 | has no none.mp4
3 | origin index http://127.0.0.1:9/ | name the titles to index
2 | load http://192.0.2.1/film.mpd --viewers 50 | --yes-really-load-this-host
2 | load film.mpd | is not a URL
2 | load http://127.0.0.1/ --fail-if loss>1% | does not measure loss
2 | load --titles /nowhere/list | cannot read the titles
2 | lab run --set rat=5Mbit/s -- true | rat ; unknown key
2 | lab run orcale -- true | orcale ; did you mean oracle
2 | lab run bad.toml -- true | bad.toml ; rate
2 | watch /nowhere.toml | cannot read /nowhere.toml
2 | watch bad.toml --plan | bad.toml: line 1 ; rate
2 | lab run --set rate={trace="/nowhere"} -- true | /nowhere
2 | lab run --no-agent -- /nowhere/at-all | cannot run '/nowhere/at-all'
2 | lab link up --name a/b | 'a/b'
2 | lab link down | no link is up
2 | lab link show other | no link 'other'
2 | lab profiles --show nowhere | oracle
2 | lab population homes --traces /nowhere | /nowhere
2 | lab tune homes --sizes bad.toml | bad.toml
2 | lab traps fax | neither a scenario nor a file ; dashjs-rtp
2 | lab neighbour bulk 127.0.0.1:9 --for 2h | the maximum is 1h
2 | lab neighbour voip 127.0.0.1:9 --start-at 18000000000000000000 | --start-at
3 | lab neighbour voip 127.0.0.1:9 | no response from 127.0.0.1:9
3 | lab neighbour http nowhere.invalid:9 | cannot resolve 'nowhere.invalid:9'
3 | lab neighbour serve --listen TCPADDRESS | TCPADDRESS
2 | send nowhere.raw | cannot open the input nowhere.raw ; No such file
2 | send /tmp | /tmp ; directory
2 | send raw | --format ; 1920x1080@59.94:yuv422p10le
3 | send bad.y4m | colour space 'unknown'
3 | send nothing | empty
2 | send raw --format 160x120@50:yuv422p10le --packing rgba | rgba
2 | send --test-pattern 160x120@50:yuv422p10le --port TCPPORT | TCP port TCPPORT ; in use ; --port
3 | send --test-pattern 160x120@50:yuv422p10le --from-run 77 --db check.db | 77
2 | recv --from 127.0.0.1 --json - | --json ; standard output
2 | recv --from 127.0.0.1 --token-file /nowhere | cannot read the token file
2 | recv --from 127.0.0.1 --protect rot13 | no protection is called 'rot13' ; aes-128-gcm
2 | recv --from 127.0.0.1 --on-event http://127.0.0.1/x | give it with --webhook
2 | recv --from 127.0.0.1 --webhook ftp://127.0.0.1/x | a URL such as https://alerts.example.net/weir
2 | recv --from 127.0.0.1 --metrics 9464 | --metrics
2 | recv --from 127.0.0.1 --wait 0s --db recv.db --metrics 127.0.0.1:TCPPORT | cannot serve metrics at 127.0.0.1: ; in use ; --metrics
2 | send --test-pattern --port 0 --db send.db --metrics 127.0.0.1:TCPPORT | cannot serve metrics at 127.0.0.1: ; in use ; --metrics
2 | send --test-pattern 160x120@50:yuv422p10le --protect auth | --protect auth needs a token ; --token-file
2 | send --test-pattern 160x120@50:yuv422p10le --threads 4 --flows 3 --db send.db | --threads 4 needs a flow for each thread ; --flows 4
2 | send --test-pattern --threads 17 | a number of packet threads from 1 to 16, or auto
2 | recv --from 127.0.0.1 --threads 2 --join switch --db recv.db | one packet thread ; --join merge
3 | recv --from 127.0.0.1 --wait 0s --db recv.db | cannot reach a sender ; 127.0.0.1:4848 ; weir send
3 | recv --from no-such-host.invalid --wait 0s --db recv.db | cannot resolve host 'no-such-host.invalid'
2 | mesh regions --cloud awz | unknown cloud 'awz'
2 | mesh plan --pair aws:us-esat-1->gcp:us-central1 | did you mean 'aws:us-east-1'?
2 | mesh plan --hosts zones.yaml --pair aws:us-east-1a->aws:us-east-1c | no host is in zone 'us-east-1c' of aws:us-east-1: there are us-east-1a, us-east-1b
2 | mesh plan --cloud aws --machines 2 | --all-hosts
2 | mesh plan --preset article --cloud aws | cannot be used with
2 | mesh plan --hosts hosts.yaml --zones --machines 2 | --machines conflicts with --hosts
2 | mesh plan --hosts nowhere.yaml | cannot read nowhere.yaml
2 | mesh import hosts.yaml | missing column 'timestamp'
3 | mesh report --db none.db | there is no results database
3 | mesh run --hosts hosts.yaml --ssh /nonexistent/ssh | cannot start '/nonexistent/ssh'
2 | mesh run --hosts hosts.yaml --program aarch64=nowhere | no program nowhere
2 | mesh run --hosts hosts.yaml --binaries nowhere | no folder nowhere
2 | mesh run --launch --cloud aws --max-regions 2 --admit 203.0.113.7 --arm --ssh /bin/true --binaries . | put weir-aarch64-unknown-linux-musl into .
3 | @mesh run --launch --cloud aws --max-regions 2 --admit 203.0.113.7 --ssh /bin/true | --engine
3 | mesh sweep --hosts hosts.yaml --ssh /nonexistent/ssh | install the OpenSSH client
2 | mesh sweep --cloud gcp | looking for tags in gcp is not supported
3 | @mesh sweep --place aws:us-east-1 | cannot start 'aws'
3 | @mesh launch --cloud aws --max-regions 2 --admit 203.0.113.7 | neither tofu nor terraform is in PATH
2 | mesh launch --cloud aws --max-regions 2 | --admit
2 | mesh launch --cloud aws --max-regions 2 --machines-by nowhere | no program nowhere
2 | mesh launch --pair aws:us-east-1a->aws:us-east-1b --placement-group --admit 203.0.113.7 | a placement group has machines of one zone
"#;

/// Files that the commands name.
fn write_files() {
    let hosts = "hosts:\n  - {name: a, address: 192.0.2.1, place: 'aws:us-east-1'}\n  - {name: b, address: 192.0.2.2, latitude: 1, longitude: 2}\n";
    let zones = "hosts:\n  - {name: a, place: 'aws:us-east-1', zone: us-east-1a}\n  - {name: b, place: 'aws:us-east-1', zone: us-east-1b}\n";
    for (name, text) in [
        ("right", "right-9f86d081884c7d659a2feaa0c55ad015\n"),
        ("wrong", "wrong-2c26b46b68ffc68ff99b453c1d304134\n"),
        ("weak", "a secret word\n"),
        ("blank", " \n"),
        ("nothing", ""),
        ("kept", "precious"),
        ("notes.txt", &"no database\n".repeat(1000)),
        ("bad.toml", "rate = \"0bit/s\"\n"),
        ("raw", &"\0".repeat(1000)),
        ("bad.y4m", "YUV4MPEG2 W160 H120 F50:1 Cunknown\nFRAME\n"),
        ("hosts.yaml", hosts),
        ("zones.yaml", zones),
    ] {
        std::fs::write(name, text).expect(name);
    }
    std::fs::create_dir("demo").expect("a folder");
    Database::change("other.db", "CREATE TABLE bookmarks (url TEXT)");
    for (name, version) in [("newer.db", 99), ("older.db", 2)] {
        std::fs::copy("check.db", name).expect("a copy");
        Database::change(name, &format!("PRAGMA user_version = {version}"));
    }
}

/// Somebody listens there, but it is no agent: it closes the first connection, and answers in the second.
fn stranger() -> (String, std::thread::JoinHandle<()>) {
    let other = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let silent = other.local_addr().expect("an address").to_string();
    let stranger = std::thread::spawn(move || {
        for word in [
            "",
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ] {
            let (mut stream, _) = other.accept().expect("a client");
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(word.as_bytes());
        }
    });
    (silent, stranger)
}

#[test]
fn what_is_wrong_is_said_in_one_line_that_says_what_to_do() {
    isolated!();
    join_by_veth(1400);
    let (open, far) = (Agent::start(Host::Near, ""), Agent::start(Host::Far, "--open"));
    open.check_serves("127.0.0.1", "");
    write_files();
    let guarded = Agent::start(Host::Near, "--token-file right");
    let limits = "--max-rate 100Mbit/s --max-flows 5 --max-duration 5s --max-length 1000 --max-threads 2 --udp-ports 5000..5003";
    let limited = Agent::start(Host::Near, limits);
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0"), UdpSocket::bind("127.0.0.1:0"));
    let (tcp, udp) = (tcp.expect("a listener"), udp.expect("a socket"));
    let [tcp_address, udp_address] =
        [tcp.local_addr(), udp.local_addr()].map(|address| address.expect("an address"));
    let (silent, stranger) = stranger();
    let names = [
        ("OPEN", open.local()),
        ("GUARDED", guarded.local()),
        ("LIMITED", limited.local()),
        ("FAR4", far.at(FAR_IPV4)),
        ("FAR6", far.at(FAR_IPV6)),
        ("SILENT", silent),
        ("TCPADDRESS", tcp_address.to_string()),
        ("TCPPORT", tcp_address.port().to_string()),
        ("UDPPORT", udp_address.port().to_string()),
    ];
    for line in REFUSED.lines().filter(|line| !line.is_empty()) {
        let named = names
            .iter()
            .fold(line.to_owned(), |line, (name, value)| line.replace(name, value));
        let parts: Vec<&str> = named.split(" | ").collect();
        let [code, arguments, words] = parts[..] else {
            panic!("not three parts: {line}");
        };
        let mut command = weir_line(arguments.trim_start_matches('@'));
        command
            .env("HOME", weir_rig::SCRATCH)
            .env_remove("XDG_STATE_HOME");
        if arguments.starts_with('@') {
            command.env("PATH", "/nowhere");
        }
        let done = run_within(LIMIT, command);
        assert_eq!(done.code().to_string(), code, "{line}: {}", done.stderr);
        assert!(
            (done.stdout.is_empty() || line.contains("mesh sweep")) && !done.stderr.contains("panicked"),
            "{line}: {done:?}"
        );
        let said: Vec<&str> = done
            .stderr
            .lines()
            .filter(|line| line.starts_with("weir: ") || line.starts_with("error: "))
            .filter(|line| !line.starts_with("weir: waiting for a receiver"))
            .collect();
        assert_eq!(said.len(), 1, "{line}: {}", done.stderr);
        for word in words.split(" ; ") {
            assert!(done.stderr.contains(word), "{line}: '{word}' in: {}", done.stderr);
        }
    }
    stranger.join().expect("the stranger");
    // No launch was begun, and no file that was there is changed.
    for name in [".local", "/run/none.db", "none.db"] {
        assert!(!std::path::Path::new(name).exists(), "{name}");
    }
    assert_eq!(std::fs::read_to_string("kept").expect("the file"), "precious");
    let tables: Vec<String> = Database::open("other.db").all("SELECT name FROM sqlite_master");
    assert_eq!(tables, ["bookmarks"]);
    assert_eq!(Database::open("older.db").one::<i64>("PRAGMA user_version"), 2);
    open.check_serves("127.0.0.1", "");
}
