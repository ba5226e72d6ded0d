//! CMCD: the lines of the examples of CTA-5004 and CTA-5004-A, what is refused, and dictionaries beside another parser.

use proptest::prelude::*;
use sfv::{Dictionary, Parser};
use weir_media::cmcd::{
    Cmcd, CmcdError, MAX_BYTES, MAX_KBITS, ObjectType, StreamType, StreamingFormat, Version,
};

fn headers(fields: &[(&str, &str)]) -> Result<Option<Cmcd>, CmcdError> {
    Cmcd::from_headers(fields.iter().map(|(name, value)| (*name, value.as_bytes())))
}

fn status(value: &str) -> Result<Cmcd, CmcdError> {
    headers(&[("CMCD-Status", value)]).map(|keys| keys.unwrap())
}

/// CTA-5004-A, 8.1.1.
const REQUEST_V2: [(&str, &str); 4] = [
    ("CMCD-Object", "br=(3000;v),d=4000,ot=v,tb=(6000;v)"),
    ("CMCD-Request", "bl=(2000;v),dl=1000,mtp=(15000;v)"),
    ("CMCD-Status", "rtp=12000"),
    (
        "CMCD-Session",
        "cid=\"content-id-123\",sf=d,sid=\"session-id-123\",st=v,v=2",
    ),
];

fn keys_of_example() -> Cmcd {
    let mut keys = Cmcd::new(Version::V2);
    keys.bitrate = Some(3_000);
    keys.top_bitrate = Some(6_000);
    keys.buffer_ms = Some(2_000);
    keys.deadline_ms = Some(1_000);
    keys.duration_ms = Some(4_000);
    keys.throughput = Some(15_000);
    keys.requested_throughput = Some(12_000);
    keys.object = Some(ObjectType::Video);
    keys.format = Some(StreamingFormat::Dash);
    keys.stream = Some(StreamType::Vod);
    keys.session_id = Some("session-id-123".into());
    keys.content_id = Some("content-id-123".into());
    keys
}

#[test]
fn version_2_is_written_and_read_as_the_standard_shows() {
    let keys = keys_of_example();
    let written = keys.headers();
    let written: Vec<(&str, &str)> = written
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_eq!(written, REQUEST_V2);
    assert_eq!(headers(&REQUEST_V2).unwrap(), Some(keys));
    // As it is printed there: lists without types, keys that are not known here.
    let printed = [
        (
            "cmcd-request",
            "bl=(2000),dl=1000,mtp=(15000),nor=(\"next-seg.mp4\"),sta=p",
        ),
        REQUEST_V2[0],
        REQUEST_V2[2],
        REQUEST_V2[3],
        ("user-agent", "something, else=\""),
    ];
    assert_eq!(headers(&printed).unwrap(), Some(keys_of_example()));
}

/// CTA-5004-A, 8.1.8: every key, for pictures and sound.
#[test]
fn the_value_for_the_object_is_taken_from_a_list() {
    let line = "bg,bl=(2100;v 1800;a),br=(3000;v 164;a),bs,bsa=(3;v),bsd=(1200;v 100;a),bsda=(4150;v 300;a),\
        cid=\"content-id-123\",cs=\"g48djn236sk2\",d=4000,dfa=32,dl=1000,ec=(\"2001\"),lb=(500;v 32;a),ltc=13500,\
        msd=1700,mtp=(15000;v 6000;a),nor=(\"next-seg.mp4\"),nr,ot=v,pb=(2000;v 164;a),pr=1.1,pt=632782,rtp=12000,\
        sf=d,sid=\"session-id-123\",sn=0,st=l,sta=p,su,tb=(6000;v 350;a),tbl=(2000;v 2000;a),tpb=(5000;v 164;a),v=2";
    let video = status(line).unwrap();
    assert_eq!(
        (video.buffer_ms, video.bitrate, video.top_bitrate),
        (Some(2_100), Some(3_000), Some(6_000))
    );
    assert_eq!(
        (video.throughput, video.requested_throughput),
        (Some(15_000), Some(12_000))
    );
    assert!(video.starved && video.startup);
    assert_eq!(
        (video.version, video.stream),
        (Version::V2, Some(StreamType::Live))
    );
    let audio = status(&line.replace("ot=v", "ot=a")).unwrap();
    assert_eq!(
        (audio.buffer_ms, audio.bitrate, audio.top_bitrate),
        (Some(1_800), Some(164), Some(350))
    );
    // A manifest has none of its own: the first is as good as any.
    assert_eq!(
        status(&line.replace("ot=v", "ot=m")).unwrap().bitrate,
        Some(3_000)
    );
    // One that is not marked is for every object.
    assert_eq!(status("br=(3000;v 900),ot=a,v=2").unwrap().bitrate, Some(900));
    assert_eq!(status("br=(),ot=a,v=2").unwrap().bitrate, None);
}

/// The query of CTA-5004, 3.2.
#[test]
fn version_1_is_written_and_read_in_a_query() {
    let mut keys = Cmcd::new(Version::V1);
    keys.bitrate = Some(3_200);
    keys.starved = true;
    keys.duration_ms = Some(4_004);
    keys.deadline_ms = Some(14_960);
    keys.throughput = Some(25_421);
    keys.object = Some(ObjectType::Video);
    keys.requested_throughput = Some(15_010);
    keys.session_id = Some("6e2fb550-c457-11e9-bb97-0800200c9a66".into());
    keys.startup = true;
    keys.top_bitrate = Some(6_000);
    let line = "br%3D3200%2Cbs%2Cd%3D4004%2Cdl%3D15000%2Cmtp%3D25400%2Cot%3Dv%2Crtp%3D15000%2C\
        sid%3D%226e2fb550-c457-11e9-bb97-0800200c9a66%22%2Csu%2Ctb%3D6000";
    assert_eq!(keys.query(), line);
    (keys.deadline_ms, keys.throughput, keys.requested_throughput) =
        (Some(15_000), Some(25_400), Some(15_000));
    let read = |query: &str| Cmcd::from_query(query).unwrap();
    assert_eq!(read(&format!("t=5&CMCD={line}&x=y")), Some(keys.clone()));
    // What need not be escaped need not be; and small letters will do.
    let bare = "CMCD=br=3200,bs,d=4004,dl=15000,mtp=25400,ot=v,rtp=15000,\
        sid=%226e2fb550-c457-11e9-bb97-0800200c9a66%22%2csu,tb=6000";
    assert_eq!(read(bare), Some(keys));
    assert_eq!(read("cmcd=br%3D1&xCMCD=br%3D1"), None);
    assert_eq!(read(""), None);
    assert_eq!(read("CMCD="), Some(Cmcd::new(Version::V1)));
}

/// The example of custom keys of CTA-5004, with capitals that structured fields do not have.
#[test]
fn custom_keys_do_not_count() {
    let keys =
        status("d=4004,com.example-myNumericKey=500,com.example-myStringKey=\"myStringValue\",rtp=900")
            .unwrap();
    assert_eq!(
        (keys.duration_ms, keys.requested_throughput),
        (Some(4_004), Some(900))
    );
    let keys =
        status("com.example-quote=\"\\\"Quote\\\\\",rtp=900,com.example-token=s:/x,com.example-b=:AAAA:")
            .unwrap();
    assert_eq!(keys.requested_throughput, Some(900));
    let keys = status("x-date=@1659578233,x-name=%\"f%c3%bc\",x-half=-0.5,x-no=?0,rtp=100;x=1").unwrap();
    assert_eq!(keys.requested_throughput, Some(100));
}

#[test]
fn ids_are_escaped() {
    let mut keys = Cmcd::new(Version::V1);
    keys.content_id = Some("a \"b\"\\c, d".into());
    let written = keys.headers();
    assert_eq!(
        written,
        [("CMCD-Session", "cid=\"a \\\"b\\\"\\\\c, d\"".to_owned())]
    );
    assert_eq!(
        headers(&[(written[0].0, &written[0].1)]).unwrap(),
        Some(keys.clone())
    );
    assert_eq!(
        Cmcd::from_query(&format!("CMCD={}", keys.query())).unwrap(),
        Some(keys)
    );
}

#[test]
fn rates_that_cannot_be_are_refused_with_a_reason() {
    let message = |value: &str| status(value).unwrap_err().to_string();
    for value in ["0", "-500", "999999999999999"] {
        let expected = format!("the CMCD key rtp is {value}; the range is 1 to 1000000000");
        assert_eq!(message(&format!("rtp={value}")), expected);
    }
    assert_eq!(
        message("rtp=9999999999999999"),
        "CMCD is not a structured field (RFC 9651): expected an integer of at most 15 digits at byte 20"
    );
    for (value, kind) in [
        ("rtp=1000.5", "a decimal"),
        ("rtp", "a boolean"),
        ("rtp=\"5000\"", "a string"),
        ("rtp=NaN", "a token"),
        ("rtp=(5000)", "a list"),
    ] {
        let expected = format!("the CMCD key rtp has the wrong type: {kind}");
        assert_eq!(message(value), expected);
    }
    assert_eq!(
        message("bl=(-1)"),
        "the CMCD key bl is -1; the range is 0 to 31536000000"
    );
    assert_eq!(
        message("v=3"),
        "unsupported CMCD version 3; versions 1 and 2 are supported"
    );
    assert_eq!(
        status(&format!("rtp={MAX_KBITS}")).unwrap().requested_throughput,
        Some(MAX_KBITS)
    );
    // The later one counts (RFC 9651, 4.2.2).
    assert_eq!(status("rtp=0,rtp=700").unwrap().requested_throughput, Some(700));
}

#[test]
fn broken_fields_are_refused() {
    for value in [
        "rtp=",
        "rtp=5,",
        ",rtp=5",
        "rtp=5,,su",
        "rtp=5 su",
        "=5",
        "rtp=5;",
        "br=(5",
        "br=(5,6)",
        "br=(5)x",
        "sid=\"a",
        "sid=\"a\\n\"",
        "sid=\"\u{e4}\"",
        "rtp=--5",
        "rtp=5.",
        "rtp=1.2345",
        "su=?2",
        "su=?",
        "x=:a",
        "x=@1.5",
        "x=%\"%C3\"",
        "\trtp=5",
        "\u{0}",
    ] {
        assert!(
            matches!(status(value), Err(CmcdError::Broken { .. })),
            "{value:?} is {:?}",
            status(value)
        );
    }
    for value in ["CMCD=a%3", "CMCD=a%", "CMCD=%zz"] {
        assert!(
            matches!(Cmcd::from_query(value), Err(CmcdError::Broken { .. })),
            "{value}"
        );
    }
}

#[test]
fn long_fields_are_refused_before_they_are_read() {
    let long = format!("cid=\"{}\"", "a".repeat(MAX_BYTES));
    assert_eq!(status(&long), Err(CmcdError::TooLong(long.len())));
    let half = format!("x=\"{}\"", "a".repeat(MAX_BYTES / 2));
    assert!(headers(&[("CMCD-Object", &half)]).is_ok());
    assert!(matches!(
        headers(&[("CMCD-Object", &half), ("CMCD-Status", &half)]),
        Err(CmcdError::TooLong(_))
    ));
    assert!(matches!(
        Cmcd::from_query(&format!("CMCD={long}")),
        Err(CmcdError::TooLong(_))
    ));
    assert!(matches!(
        Cmcd::from_query(&format!("CMCD={}", "%20".repeat(MAX_BYTES + 1))),
        Err(CmcdError::TooLong(_))
    ));
    let id = format!("cid=\"{}\"", "a".repeat(129));
    assert_eq!(
        status(&id),
        Err(CmcdError::LongId {
            key: "cid",
            bytes: 129
        })
    );
}

/// Texts that are nearly dictionaries, of keys that mean nothing here, so that only their form counts.
fn nearly_a_dictionary() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z*][a-z0-9_.*-]{0,4}",
        "-?[0-9]{1,17}",
        "-?[0-9]{1,13}\\.[0-9]{0,4}",
        "\"[ -~]{0,5}\"",
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("=".to_owned()),
        Just("=(".to_owned()),
        Just(";".to_owned()),
        Just(",".to_owned()),
        Just(", ".to_owned()),
        Just(" ".to_owned()),
        Just("\t".to_owned()),
        Just("?1".to_owned()),
        Just("@5".to_owned()),
        Just(":aGk=:".to_owned()),
        Just("%\"a%c3%bc\"".to_owned()),
        Just("\\".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| format!("x{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What another parser of RFC 9651 takes for a dictionary is one here, and the other way round.
    #[test]
    fn dictionaries_are_those_of_another_parser(text in nearly_a_dictionary()) {
        let theirs = Parser::new(&text).parse::<Dictionary>();
        let ours = headers(&[("CMCD-Status", &text)]);
        let is_form = |error: &CmcdError| matches!(error, CmcdError::Broken { .. });
        let ours_is_dictionary = !ours.as_ref().is_err_and(is_form);
        prop_assert_eq!(theirs.is_ok(), ours_is_dictionary, "{:?}: {:?}, {:?}", text, theirs, ours);
    }

    /// What is written is read back, apart from the rounding to hundreds.
    #[test]
    fn keys_come_back(
        version in prop_oneof![Just(Version::V1), Just(Version::V2)],
        bitrate in proptest::option::of(0..MAX_KBITS),
        buffer in proptest::option::of(0u64..1_000_000),
        asked in proptest::option::of(1u64..1_000_000),
        starved in any::<bool>(),
        object in prop_oneof![Just(ObjectType::Video), Just(ObjectType::Audio), Just(ObjectType::Init)],
        id in proptest::option::of("[ -~]{0,40}"),
    ) {
        let mut keys = Cmcd::new(version);
        keys.bitrate = bitrate;
        keys.buffer_ms = buffer.map(|value| value * 100);
        keys.requested_throughput = asked.map(|value| value * 100);
        keys.starved = starved;
        keys.object = Some(object);
        keys.session_id = id;
        let written = keys.headers();
        let fields = written.iter().map(|(name, value)| (*name, value.as_bytes()));
        prop_assert_eq!(Cmcd::from_headers(fields).unwrap(), Some(keys.clone()));
        prop_assert_eq!(Cmcd::from_query(&format!("CMCD={}", keys.query())).unwrap(), Some(keys));
    }
}
