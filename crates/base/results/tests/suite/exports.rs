//! Exports parse back to what is stored.

use serde_json::{Value, json};
use weir_results::*;

use crate::sample;

#[test]
fn json_gives_the_run_and_then_every_row_by_column_name() {
    let (_directory, path, run) = sample::database();
    sample::add_run(&path, &sample::records());
    let store = Store::open_read_only(&path).unwrap();
    let mut text = Vec::new();
    store.export_json(run, &mut text).unwrap();
    let lines: Vec<Value> = String::from_utf8(text)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();

    assert_eq!(
        lines.len(),
        1 + sample::records().len(),
        "rows of other runs stay out"
    );
    assert_eq!(lines[0]["table"], "runs");
    assert_eq!(lines[0]["run_id"], json!(run));
    assert_eq!(lines[0]["parameters"]["flows"], 2);
    assert_eq!(lines[0]["outcome"], "finished");
    let head: Run = serde_json::from_value(lines[0].clone()).unwrap();
    assert_eq!(head, store.run(run).unwrap());

    for (table, count) in store.counts(run).unwrap() {
        let rows: Vec<&Value> = lines
            .iter()
            .filter(|line| line["table"] == table.name())
            .collect();
        assert_eq!(rows.len() as u64, count, "{table}");
    }
    let first = |table: &str| lines.iter().find(|line| line["table"] == table).unwrap();
    assert_eq!(
        first("flow_bursts"),
        &json!({
            "table": "flow_bursts", "id": 1, "run_id": run, "direction": "forward", "unix_ns": 1500, "flow": 0,
            "port": 5678, "first_sequence": 20, "length_packets": 3, "received_before": 20,
            "bytes_before": 20000, "bursts_before": 1
        })
    );
    assert_eq!(first("loss_windows")["flows"], json!([0, 1]));
    assert_eq!(first("host_seconds")["cpu_busy_cores"], 1.75);
    assert_eq!(first("tcp_seconds")["congestion_control"], "cubic");
    let mut records = sample::records().into_iter();
    let recv = records.find_map(|record| match record {
        Record::RecvSecond(row) => Some(row),
        _ => None,
    });
    assert_eq!(first("recv_seconds")["elsewhere"], recv.unwrap().counts.elsewhere);
    assert_eq!(first("frame_seconds")["used_p999_ns"], 31);
    assert_eq!(
        first("send_seconds")["fec_window"],
        Value::Null,
        "the first second had no FEC"
    );
    assert_eq!(
        first("media_events"),
        &json!({
            "table": "media_events", "id": 1, "run_id": run, "unix_ns": 1000, "sender": null, "event": "connected",
            "detail": "</script> \u{202e} \"1\"\n", "state": "raised"
        })
    );
    let lost = lines
        .iter()
        .find(|line| line["lost"] == 1 && line["table"] == "rtt_packets")
        .unwrap();
    assert_eq!(lost["rtt_ns"], Value::Null);
}

#[test]
fn csv_gives_one_table_with_a_header() {
    let (_directory, path, run) = sample::database();
    let store = Store::open_read_only(&path).unwrap();
    for (table, count) in store.counts(run).unwrap() {
        let mut text = Vec::new();
        store.export_csv(run, table, &mut text).unwrap();
        let mut csv = csv::Reader::from_reader(&text[..]);
        assert_eq!(&csv.headers().unwrap()[1], "run_id");
        assert_eq!(csv.records().map(Result::unwrap).count() as u64, count, "{table}");
    }

    let mut text = Vec::new();
    store.export_csv(run, Table::LossWindows, &mut text).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "id,run_id,direction,unix_ns,duration_ns,lost,flows_losing,flows\n\
         1,1,forward,1500,1000000,5,2,\"[0,1]\"\n\
         2,1,reverse,0,0,0,0,[]\n"
    );
    let mut text = Vec::new();
    store.export_csv(run, Table::FlowChanges, &mut text).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "id,run_id,unix_ns,sender,flow,state\n\
         1,1,2001,1,3,used\n\
         2,1,2002,1,3,silent\n\
         3,1,2003,1,3,losing\n\
         4,1,2004,1,3,trial\n"
    );
    let mut text = Vec::new();
    store.export_csv(run, Table::RttPackets, &mut text).unwrap();
    let mut csv = csv::Reader::from_reader(&text[..]);
    let rtt = csv
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "rtt_ns")
        .unwrap();
    let rtts: Vec<String> = csv.records().map(|row| row.unwrap()[rtt].to_string()).collect();
    assert_eq!(&rtts[..7], ["100", "800", "500", "200", "900", "", "600"]);
}

#[test]
fn a_destination_that_fails_and_a_run_that_is_not_there_are_said() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (_directory, path, run) = sample::database();
    let store = Store::open_read_only(&path).unwrap();
    for error in [
        store.export_json(run, Full).unwrap_err(),
        store.export_csv(run, Table::Silences, Full).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Export { .. }), "{error:?}");
    }
    for error in [
        store.export_json(RunId(9), Vec::new()).unwrap_err(),
        store
            .export_csv(RunId(9), Table::Silences, Vec::new())
            .unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::RunNotFound { .. }), "{error:?}");
    }
}
