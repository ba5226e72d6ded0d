//! The file of a report: its data can be read back, and nothing of it can become part of the page.

use std::process::{Command, Stdio};

use serde_json::Value;
use weir_diagnose::Options;
use weir_report::{DATA_ELEMENT, PAGE, ReportError, report_data, write_page};
use weir_results::RunId;

use crate::sample::{START, Sample, packets};

/// What stands in a file, by a reader that shares nothing with the writer.
fn unpacked(page: &str) -> Value {
    let script = "import sys, re, base64, gzip\n\
                  page = sys.stdin.read()\n\
                  found = re.findall(r'<script type=\"application/gzip;base64\" id=\"weir-data\">([^<]*)</script>', page)\n\
                  assert len(found) == 1, len(found)\n\
                  sys.stdout.buffer.write(gzip.decompress(base64.b64decode(found[0], validate=True)))";
    let mut python = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs python3 (standard library only): install it");
    let mut input = python.stdin.take().unwrap();
    let page = page.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, page.as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn page_of(sample: &Sample, runs: &[RunId]) -> String {
    let data = report_data(&sample.store, runs, START, &Options::default()).unwrap();
    let mut file = Vec::new();
    write_page(PAGE, &data, &mut file).unwrap();
    String::from_utf8(file).unwrap()
}

#[test]
fn names_and_notes_with_html_in_them_stay_inside_the_data() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &packets());
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
    sample.store.set_note(run, evil).unwrap();
    sample.store.set_tags(run, &["<b>tag</b>".to_string()]).unwrap();
    rusqlite::Connection::open(&sample.path)
        .unwrap()
        .execute(
            "UPDATE runs SET target = ?1, local_host = json_object('name', ?1), reason = ?1",
            [evil],
        )
        .unwrap();
    let page = page_of(&sample, &[run]);
    for word in ["alert(", "onerror=", "<b>tag"] {
        assert!(!page.contains(word), "{word} is in the file in clear");
    }
    let (around, _) = DATA_ELEMENT.split_once("</").unwrap();
    assert_eq!(page.matches(around).count(), 1);
    assert_eq!(page.matches("<script").count(), PAGE.matches("<script").count());
    let document = unpacked(&page);
    assert_eq!(document, sample_at(&sample, run));
    let shown = &document["runs"][0];
    assert_eq!((&shown["target"], &shown["note"]), (&evil.into(), &evil.into()));
    assert_eq!(shown["local_host"]["name"], evil);
}

fn sample_at(sample: &Sample, run: RunId) -> Value {
    let data = report_data(&sample.store, &[run], START, &Options::default()).unwrap();
    serde_json::from_str(&serde_json::to_string(&data).unwrap()).unwrap()
}

#[test]
fn the_page_around_the_data_is_as_it_was_built() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &packets());
    let page = page_of(&sample, &[run]);
    let start = page.find(r#"id="weir-data">"#).unwrap() + r#"id="weir-data">"#.len();
    let end = start + page[start..].find("</script>").unwrap();
    assert!(end > start);
    assert_eq!(format!("{}{}", &page[..start], &page[end..]), PAGE);
    assert!(
        page[start..end]
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    );
}

#[test]
fn a_page_without_a_place_and_a_destination_that_fails_are_said() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let sample = Sample::new();
    let data = report_data(&sample.store, &[], START, &Options::default()).unwrap();
    let error = write_page("<html></html>", &data, Vec::new()).unwrap_err();
    assert!(matches!(error, ReportError::Page { found: 0 }), "{error:?}");
    let error = write_page(PAGE, &data, Full).unwrap_err();
    assert!(matches!(error, ReportError::Write(_)), "{error:?}");
}
