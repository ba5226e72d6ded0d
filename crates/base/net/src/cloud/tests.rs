//! The four services as their documentation shows them, and services that are slow or hostile, in a namespace of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use weir_rig::isolated;

use super::*;
use crate::namespace::NetworkNamespace;

/// A namespace in which the service's address is this host's own.
fn namespace() -> NetworkNamespace {
    let namespace = NetworkNamespace::create().unwrap();
    namespace
        .run(|| {
            let mut lo = crate::interface::Interface::named("lo").unwrap();
            lo.set_up().unwrap();
            lo.add_ipv4(Ipv4Addr::new(169, 254, 169, 254), 32).unwrap();
        })
        .unwrap();
    namespace
}

/// A request: its first line and its headers, each with lower-case name.
type Asked = (String, Vec<String>);

fn request(stream: &TcpStream) -> Asked {
    let mut lines = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
        format!("{}: {value}", name.to_lowercase())
    });
    (first, headers.collect())
}

/// What `cloud` says if its service answers by `answer`, and how long it took.
fn told(cloud: Cloud, answer: impl Fn(&Asked, &mut TcpStream) + Send + 'static) -> (CloudFacts, Duration) {
    let namespace = namespace();
    let listener = namespace.run(|| TcpListener::bind(SERVICE)).unwrap().unwrap();
    // The thread ends with the process: a service does not know who will still ask.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let asked = request(&stream);
            answer(&asked, &mut stream);
        }
    });
    let began = Instant::now();
    let instance = namespace.run(|| instance(cloud)).unwrap();
    (instance, began.elapsed())
}

fn ok(stream: &mut TcpStream, headers: &str, body: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
}

fn missing(stream: &mut TcpStream) {
    let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n");
}

fn is(text: &str) -> Option<String> {
    Some(text.to_owned())
}

const TOKEN: &str = "AQAEAJ5PEhVqFYHsv9WG3g0LpHwVZsYm0kWHGjBqQhHlTz2MpL9nHw==";

fn aws_answers(asked: &Asked, stream: &mut TcpStream) {
    let (first, headers) = asked;
    let has = |header: &str| headers.iter().any(|line| line == header);
    let with_token = has(&format!("x-aws-ec2-metadata-token: {TOKEN}"));
    match first.as_str() {
        "PUT /latest/api/token HTTP/1.1" if has("x-aws-ec2-metadata-token-ttl-seconds: 60") => {
            ok(stream, "", TOKEN)
        }
        _ if !with_token => {
            let _ = stream.write_all(b"HTTP/1.1 401 No Token\r\nContent-Length: 0\r\n\r\n");
        }
        "GET /latest/meta-data/instance-id HTTP/1.1" => ok(stream, "", "i-1234567890abcdef0"),
        "GET /latest/meta-data/instance-type HTTP/1.1" => ok(stream, "", "c5n.9xlarge"),
        "GET /latest/meta-data/placement/region HTTP/1.1" => ok(stream, "", "eu-west-1"),
        "GET /latest/meta-data/placement/availability-zone HTTP/1.1" => ok(stream, "", "eu-west-1a"),
        "GET /latest/meta-data/placement/availability-zone-id HTTP/1.1" => ok(stream, "", "euw1-az3"),
        // An instance in no placement group.
        "GET /latest/meta-data/placement/group-name HTTP/1.1" => missing(stream),
        other => panic!("asked for {other}"),
    }
}

#[test]
fn aws_is_asked_with_a_token() {
    isolated!();
    let (instance, _) = told(Cloud::Aws, aws_answers);
    let expected = CloudFacts {
        region: is("eu-west-1"),
        zone: is("eu-west-1a"),
        zone_id: is("euw1-az3"),
        instance_id: is("i-1234567890abcdef0"),
        instance_type: is("c5n.9xlarge"),
        ..CloudFacts::default()
    };
    assert_eq!(instance, expected);
}

#[test]
fn google_answers_with_its_flavour() {
    isolated!();
    let answers = |flavour: &'static str| {
        move |(first, headers): &Asked, stream: &mut TcpStream| {
            assert!(
                headers.contains(&"metadata-flavor: Google".to_owned()),
                "{headers:?}"
            );
            assert!(
                headers.contains(&"host: metadata.google.internal".to_owned()),
                "{headers:?}"
            );
            let body = match first.as_str() {
                "GET /computeMetadata/v1/instance/zone HTTP/1.1" => {
                    "projects/123456789012/zones/europe-west1-b"
                }
                "GET /computeMetadata/v1/instance/id HTTP/1.1" => "152986662232938449",
                "GET /computeMetadata/v1/instance/machine-type HTTP/1.1" => {
                    "projects/123456789012/machineTypes/n2-standard-8"
                }
                other => panic!("asked for {other}"),
            };
            ok(stream, flavour, body);
        }
    };
    let (instance, _) = told(Cloud::Google, answers("Metadata-Flavor: Google\r\n"));
    let expected = CloudFacts {
        region: is("europe-west1"),
        zone: is("europe-west1-b"),
        instance_id: is("152986662232938449"),
        instance_type: is("n2-standard-8"),
        ..CloudFacts::default()
    };
    assert_eq!(instance, expected);
    // Somebody else at that address.
    assert_eq!(told(Cloud::Google, answers("")).0, CloudFacts::default());
}

#[test]
fn azure_is_asked_once() {
    isolated!();
    let (instance, _) = told(Cloud::Azure, |(first, headers), stream| {
        assert_eq!(
            first,
            "GET /metadata/instance/compute?api-version=2020-09-01&format=json HTTP/1.1"
        );
        assert!(headers.contains(&"metadata: true".to_owned()), "{headers:?}");
        ok(
            stream,
            "Content-Type: application/json; charset=utf-8\r\n",
            r#"{"azEnvironment":"AzurePublicCloud","location":"westeurope","name":"negasonic","placementGroupId":"",
                "platformFaultDomain":"1","platformUpdateDomain":"0","tagsList":[{"name":"a","value":"b"}],
                "vmId":"02aab8a4-74ef-476e-8182-f6d2ba4166a6","vmSize":"Standard_D8s_v5","zone":"3"}"#,
        );
    });
    let expected = CloudFacts {
        region: is("westeurope"),
        zone: is("3"),
        instance_id: is("02aab8a4-74ef-476e-8182-f6d2ba4166a6"),
        instance_type: is("Standard_D8s_v5"),
        fault_domain: is("1"),
        ..CloudFacts::default()
    };
    assert_eq!(instance, expected);
}

#[test]
fn oracle_is_asked_key_by_key() {
    isolated!();
    let (instance, _) = told(Cloud::Oracle, |(first, headers), stream| {
        assert!(
            headers.contains(&"authorization: Bearer Oracle".to_owned()),
            "{headers:?}"
        );
        let body = match first.as_str() {
            "GET /opc/v2/instance/id HTTP/1.1" => "ocid1.instance.oc1.eu-frankfurt-1.antheljtexample",
            "GET /opc/v2/instance/shape HTTP/1.1" => "VM.Standard.E4.Flex",
            "GET /opc/v2/instance/canonicalRegionName HTTP/1.1" => "eu-frankfurt-1",
            "GET /opc/v2/instance/availabilityDomain HTTP/1.1" => "EMIr:EU-FRANKFURT-1-AD-1",
            "GET /opc/v2/instance/faultDomain HTTP/1.1" => "FAULT-DOMAIN-3",
            other => panic!("asked for {other}"),
        };
        ok(stream, "", body);
    });
    let expected = CloudFacts {
        region: is("eu-frankfurt-1"),
        zone: is("EMIr:EU-FRANKFURT-1-AD-1"),
        instance_id: is("ocid1.instance.oc1.eu-frankfurt-1.antheljtexample"),
        instance_type: is("VM.Standard.E4.Flex"),
        fault_domain: is("FAULT-DOMAIN-3"),
        ..CloudFacts::default()
    };
    assert_eq!(instance, expected);
}

/// The time that a service may take does not depend on how it behaves. The bound of the test leaves a busy machine some
/// time to start threads; a client without a limit would wait for ever.
fn gives_nothing(cloud: Cloud, answer: impl Fn(&Asked, &mut TcpStream) + Send + 'static) {
    let (instance, took) = told(cloud, answer);
    assert_eq!(instance, CloudFacts::default());
    assert!(took < 10 * LIMIT, "{took:?}");
}

#[test]
fn slow_and_hostile_services_give_nothing() {
    isolated!();
    for cloud in [Cloud::Aws, Cloud::Google, Cloud::Azure, Cloud::Oracle] {
        // Never an answer, a byte at a time, and without end.
        gives_nothing(cloud, |_, _| std::thread::sleep(20 * LIMIT));
        gives_nothing(cloud, |_, stream| {
            while stream.write_all(b"H").is_ok() {
                std::thread::sleep(LIMIT / 10);
            }
        });
        gives_nothing(cloud, |_, stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\n\r\n");
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        });
        // Elsewhere; chunks; two lengths; no text; a line too many.
        for answer in [
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
            "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 2\r\n\r\n\u{fffd}",
            "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 18\r\n\r\nx\r\nX-Injected: yes\r\n",
            "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 99999999999\r\n\r\nx",
            "{\"vmId\": \"without a head\"}",
        ] {
            gives_nothing(cloud, move |_, stream| {
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    }
}

#[test]
fn nobody_at_the_address_gives_nothing() {
    isolated!();
    let namespace = namespace();
    assert_eq!(
        namespace.run(|| instance(Cloud::Aws)).unwrap(),
        CloudFacts::default()
    );
}

#[test]
fn an_answer_is_whole_at_its_length_and_not_before() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfact";
    for length in 0..answer.len() {
        assert_eq!(body(&answer[..length], None, false), Answer::Part, "{length}");
        assert_eq!(body(&answer[..length], None, true), Answer::Refused, "{length}");
    }
    assert_eq!(body(answer, None, false), Answer::Whole(b"fact"));
    let open = b"HTTP/1.0 200 OK\r\n\r\nfact";
    assert_eq!(body(open, None, false), Answer::Part);
    assert_eq!(body(open, None, true), Answer::Whole(b"fact"));
}

#[test]
fn clouds_are_known_by_their_firmware() {
    assert_eq!(
        Cloud::of_firmware("Amazon EC2", "c5n.9xlarge", "Amazon EC2"),
        Some(Cloud::Aws)
    );
    assert_eq!(
        Cloud::of_firmware("Google", "Google Compute Engine", ""),
        Some(Cloud::Google)
    );
    let azure = "7783-7084-3265-9085-8269-3286-77";
    assert_eq!(
        Cloud::of_firmware("Microsoft Corporation", "Virtual Machine", azure),
        Some(Cloud::Azure)
    );
    assert_eq!(
        Cloud::of_firmware("Microsoft Corporation", "Virtual Machine", ""),
        None
    );
    assert_eq!(
        Cloud::of_firmware("QEMU", "Standard PC", "OracleCloud.com"),
        Some(Cloud::Oracle)
    );
}
