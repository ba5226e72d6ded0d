//! Coefficients, repairs and recoveries against two other implementations: a reference in Python written from the RFCs
//! (`tests/data/make_vectors.py`), and cu-fec 1.3.0 (`tests/data/cu_fec`).

use weir_fec::{
    Adu, CodeRate, Coefficients, Decoder, DecoderConfig, Density, Encoder, EncoderConfig, RepairPayloadId,
};

const REFERENCE: &str = include_str!("../data/reference.txt");
const CU_FEC: &str = include_str!("../data/cu_fec.txt");

fn hex(digits: &str) -> Vec<u8> {
    let digits = if digits == "-" { "" } else { digits };
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn numbers(list: &str) -> Vec<usize> {
    if list == "-" {
        return Vec::new();
    }
    list.split(',').map(|number| number.parse().unwrap()).collect()
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

struct Loss {
    sources: Vec<usize>,
    repairs: Vec<usize>,
    recovered: Vec<usize>,
}

struct Stream {
    name: String,
    config: EncoderConfig,
    sources: Vec<(u8, Vec<u8>)>,
    repairs: Vec<(RepairPayloadId, Vec<u8>)>,
    losses: Vec<Loss>,
}

impl Stream {
    fn adu(&self, number: usize) -> Adu<'_> {
        let (flow, payload) = &self.sources[number];
        Adu { flow: *flow, payload }
    }
}

fn streams(text: &str) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let last = streams.last_mut();
        match (words[0], last) {
            ("coefficients", _) => {}
            ("stream", _) => streams.push(Stream {
                name: words[1].to_owned(),
                config: EncoderConfig {
                    density: Density::new(number(words[4])).unwrap(),
                    first_esi: number(words[5]),
                    first_key: number(words[6]),
                    ..EncoderConfig::new(CodeRate::new(number(words[2]), number(words[3])).unwrap(), 24)
                },
                sources: Vec::new(),
                repairs: Vec::new(),
                losses: Vec::new(),
            }),
            ("source", Some(stream)) => stream.sources.push((number(words[1]), hex(words[2]))),
            ("repair", Some(stream)) => {
                let id = hex(words[1]);
                assert_eq!(RepairPayloadId::decode(&id).unwrap().encode(), id[..]);
                let id = RepairPayloadId::decode(&id).unwrap();
                stream.repairs.push((id, hex(words[2])));
            }
            ("lost", Some(stream)) => stream.losses.push(Loss {
                sources: numbers(words[1]),
                repairs: numbers(words[2]),
                recovered: numbers(words[3]),
            }),
            _ => panic!("a line that nobody reads: {line}"),
        }
    }
    streams
}

fn check_coefficients(text: &str) -> usize {
    let lines = text.lines().filter_map(|line| line.strip_prefix("coefficients "));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let density = Density::new(number(words[1])).unwrap();
            let mut coefficients = Coefficients::new(number(words[0]), density);
            let expected = hex(words[2]);
            let drawn: Vec<u8> = expected.iter().map(|_| coefficients.draw()).collect();
            assert_eq!(drawn, expected, "{line}");
        })
        .count()
}

#[test]
fn coefficients() {
    assert_eq!(check_coefficients(REFERENCE), 64);
    assert_eq!(check_coefficients(CU_FEC), 80);
}

/// The encoder's repairs, the last ones included if `flushed`.
fn made(stream: &Stream, flushed: bool) -> Vec<(RepairPayloadId, Vec<u8>)> {
    let mut encoder = Encoder::new(stream.config);
    let mut made = Vec::new();
    for number in 0..stream.sources.len() {
        let repair = encoder.push(stream.adu(number)).unwrap();
        made.extend(repair.map(|repair| (repair.id, repair.symbol.to_vec())));
    }
    while let Some(repair) = encoder.flush().filter(|_| flushed) {
        made.push((repair.id, repair.symbol.to_vec()));
    }
    made
}

#[test]
fn repairs() {
    for stream in streams(REFERENCE) {
        assert_eq!(made(&stream, true), stream.repairs, "{}", stream.name);
    }
    // cu-fec's symbols are of one size: ours are padded with zeros.
    for stream in streams(CU_FEC) {
        let mut made = made(&stream, false);
        for ((_, symbol), (_, theirs)) in made.iter_mut().zip(&stream.repairs) {
            symbol.resize(theirs.len(), 0);
        }
        assert_eq!(made, stream.repairs, "{}", stream.name);
    }
}

/// The packets that the decoder recovers when these are lost: repairs follow the last source of their window.
fn recovered(stream: &Stream, loss: &Loss) -> Vec<usize> {
    let window = stream.config.rate.window();
    let mut decoder = Decoder::new(DecoderConfig::new(window, 300, 24)).unwrap();
    let esi = |number: usize| stream.config.first_esi.wrapping_add(number as u32);
    let mut repairs = (0..).zip(&stream.repairs).peekable();
    let mut recovered = Vec::new();
    for number in 0..=stream.sources.len() {
        let is_due = |id: &RepairPayloadId| {
            let end = id.first_esi().wrapping_sub(esi(0)) as usize + usize::from(id.sources());
            end <= number
        };
        while let Some((index, (id, symbol))) = repairs.next_if(|(_, (id, _))| is_due(id)) {
            if !loss.repairs.contains(&index) {
                decoder.repair(*id, symbol);
            }
        }
        if number < stream.sources.len() && !loss.sources.contains(&number) {
            decoder.source(esi(number), stream.adu(number));
        }
        while let Some(packet) = decoder.poll_recovered() {
            let number = packet.esi.wrapping_sub(esi(0)) as usize;
            assert_eq!(packet.adu, stream.adu(number));
            recovered.push(number);
        }
    }
    recovered.sort_unstable();
    recovered
}

#[test]
fn recoveries() {
    let mut partial = 0;
    for stream in streams(REFERENCE) {
        for loss in &stream.losses {
            assert_eq!(recovered(&stream, loss), loss.recovered, "{}", stream.name);
            partial += usize::from(loss.recovered.len() < loss.sources.len());
        }
    }
    // Not only cases with full recovery.
    assert!(partial >= 5, "{partial}");
    // cu-fec remembers one window only, so it may lose what could still be recovered.
    let (mut ours, mut theirs) = (0, 0);
    for stream in streams(CU_FEC) {
        for loss in &stream.losses {
            let recovered = recovered(&stream, loss);
            assert!(
                loss.recovered.iter().all(|number| recovered.contains(number)),
                "{}",
                stream.name
            );
            ours += recovered.len();
            theirs += loss.recovered.len();
        }
    }
    assert!(theirs > 100 && ours >= theirs, "{ours} and {theirs}");
}
