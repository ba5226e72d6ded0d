//! What a Locust master and its workers tell each other: MessagePack arrays `[type, data, node id]`. It must not know
//! how they travel.

use std::collections::BTreeMap;

use rmpv::Value;
use thiserror::Error;

use crate::measure::{Account, KindAccount};

/// Nesting and sizes of a message that is read; a master's are a few levels deep.
const MOST_DEPTH: usize = 64;
/// Method under which requests stand in Locust's tables.
const METHOD: &str = "GET";

/// A message that a master does not send.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unreadable message from the master")]
pub struct MessageError;

/// What a master tells a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum FromMaster {
    /// It knows us.
    Ack,
    /// It is there.
    Heartbeat,
    /// So many users of each class from now on.
    Spawn(Spawn),
    /// No more users.
    Stop,
    /// The end.
    Quit,
    /// It does not know us: say again who we are.
    Reconnect,
    /// Of no matter to us.
    Other(String),
}

/// How many users, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spawn {
    /// When it was decided, Unix seconds: older ones than the last are dropped.
    pub timestamp: f64,
    /// Users of each class.
    pub users: BTreeMap<String, u32>,
    /// The host of Locust's page.
    pub host: Option<String>,
    /// Other options of Locust's page, those that are texts.
    pub options: BTreeMap<String, String>,
}

impl FromMaster {
    /// Reads a message.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(mut bytes: &[u8]) -> Result<FromMaster, MessageError> {
        let value =
            rmpv::decode::read_value_with_max_depth(&mut bytes, MOST_DEPTH).map_err(|_| MessageError)?;
        let parts = value.as_array().ok_or(MessageError)?;
        let kind = parts.first().and_then(Value::as_str).ok_or(MessageError)?;
        Ok(match kind {
            "ack" => FromMaster::Ack,
            "heartbeat" => FromMaster::Heartbeat,
            "spawn" => FromMaster::Spawn(Spawn::read(parts.get(1).ok_or(MessageError)?)?),
            "stop" => FromMaster::Stop,
            "quit" => FromMaster::Quit,
            "reconnect" => FromMaster::Reconnect,
            other => FromMaster::Other(other.chars().take(40).collect()),
        })
    }
}

impl Spawn {
    fn read(data: &Value) -> Result<Spawn, MessageError> {
        let get = |name: &str| field(data, name);
        let classes = get("user_classes_count")
            .and_then(Value::as_map)
            .ok_or(MessageError)?;
        let mut users = BTreeMap::new();
        for (class, count) in classes {
            let class = class.as_str().ok_or(MessageError)?;
            let count = count.as_u64().and_then(|count| u32::try_from(count).ok());
            users.insert(class.to_owned(), count.ok_or(MessageError)?);
        }
        let options = get("parsed_options").and_then(Value::as_map);
        let texts = options
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.as_str()?.to_owned())));
        Ok(Spawn {
            timestamp: get("timestamp").and_then(Value::as_f64).unwrap_or(0.0),
            users,
            host: get("host").and_then(Value::as_str).map(str::to_owned),
            options: texts.collect(),
        })
    }
}

fn field<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    let entries = map.as_map()?;
    let found = entries.iter().find(|(key, _)| key.as_str() == Some(name));
    found.map(|(_, value)| value)
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::Map(
        entries
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect(),
    )
}

/// A message of a worker.
pub fn write(kind: &str, data: Value, node: &str) -> Vec<u8> {
    let message = Value::Array(vec![kind.into(), data, node.into()]);
    let mut bytes = Vec::new();
    // A vector takes whatever is written.
    let _ = rmpv::encode::write_value(&mut bytes, &message);
    bytes
}

/// The heartbeat of a worker, sent once per second.
pub fn heartbeat(state: &str, cpu_percent: f64, memory_bytes: u64) -> Value {
    map(vec![
        ("state", state.into()),
        ("current_cpu_usage", cpu_percent.into()),
        ("current_memory_usage", memory_bytes.into()),
    ])
}

/// Users of each class, and in all.
pub fn users(counts: &BTreeMap<String, u32>) -> Vec<(&'static str, Value)> {
    let classes = counts
        .iter()
        .map(|(class, count)| (class.as_str().into(), (*count).into()));
    let total: u64 = counts.values().map(|count| u64::from(*count)).sum();
    vec![
        ("user_classes_count", Value::Map(classes.collect())),
        ("user_count", total.into()),
    ]
}

/// That something is wrong with the orders, in words.
pub fn exception(problem: &str) -> Value {
    map(vec![("msg", problem.into()), ("traceback", "".into())])
}

/// How many users are there, after an order.
pub fn spawning_complete(counts: &BTreeMap<String, u32>) -> Value {
    map(users(counts))
}

/// Requests since the last report, for a time in Unix seconds.
pub fn stats(account: &Account, counts: &BTreeMap<String, u32>, now: f64) -> Value {
    let kinds = account.kinds();
    let entries = kinds
        .map(|(kind, requests)| entry(kind.name(), METHOD, requests, now))
        .collect();
    let mut errors = Vec::new();
    for (kind, requests) in account.kinds() {
        for (cause, count) in &requests.failures {
            let key = format!("{METHOD}.{}.{}", kind.name(), cause.name());
            let error = map(vec![
                ("name", kind.name().into()),
                ("method", METHOD.into()),
                ("error", format!("{}: {}", cause.name(), cause.words()).into()),
                ("occurrences", (*count).into()),
            ]);
            errors.push((key.into(), error));
        }
    }
    let mut data = vec![
        ("stats", Value::Array(entries)),
        ("stats_total", entry("Aggregated", "", &account.total(), now)),
        ("errors", Value::Map(errors)),
    ];
    data.extend(users(counts));
    map(data)
}

fn entry(name: &str, method: &str, account: &KindAccount, now: f64) -> Value {
    let times = account
        .rounded_ms
        .iter()
        .map(|(ms, count)| ((*ms).into(), (*count).into()));
    let second = |count: u64| match count {
        0 => Value::Map(Vec::new()),
        count => Value::Map(vec![((now as i64).into(), count.into())]),
    };
    let ms = |ns: i64| ns as f64 / 1e6;
    let mean = account.last_byte.mean().unwrap_or(0.0);
    let (least, most) = (account.last_byte.min(), account.last_byte.max());
    map(vec![
        ("name", name.into()),
        ("method", method.into()),
        ("last_request_timestamp", now.into()),
        ("start_time", now.into()),
        ("num_requests", account.requests.into()),
        ("num_none_requests", 0.into()),
        ("num_failures", account.failed().into()),
        (
            "total_response_time",
            (mean / 1e6 * account.last_byte.count() as f64).into(),
        ),
        ("max_response_time", ms(most.unwrap_or(0)).into()),
        (
            "min_response_time",
            least.map_or(Value::Nil, |least| ms(least).into()),
        ),
        ("total_content_length", account.body_bytes.into()),
        ("response_times", Value::Map(times.collect())),
        ("num_reqs_per_sec", second(account.requests)),
        ("num_fail_per_sec", second(account.failed())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, data: Value) -> Result<FromMaster, MessageError> {
        FromMaster::read(&write(kind, data, "master"))
    }

    #[test]
    fn spawns_are_read() {
        let data = map(vec![
            ("timestamp", 1.5.into()),
            (
                "user_classes_count",
                Value::Map(vec![("WeirDash".into(), 3.into())]),
            ),
            ("host", "http://127.0.0.1".into()),
            ("stop_timeout", 0.0.into()),
            (
                "parsed_options",
                map(vec![("weir_play", "loop".into()), ("num_users", 3.into())]),
            ),
        ]);
        let Ok(FromMaster::Spawn(spawn)) = message("spawn", data) else {
            panic!("no spawn");
        };
        assert_eq!((spawn.timestamp, spawn.users["WeirDash"]), (1.5, 3));
        assert_eq!(spawn.host.as_deref(), Some("http://127.0.0.1"));
        assert_eq!(
            spawn.options,
            [("weir_play".to_owned(), "loop".to_owned())].into()
        );
    }

    #[test]
    fn what_no_master_sends_is_refused() {
        assert_eq!(message("quit", Value::Nil), Ok(FromMaster::Quit));
        assert_eq!(
            message("exception", Value::Nil),
            Ok(FromMaster::Other("exception".to_owned()))
        );
        assert_eq!(message("spawn", Value::Nil), Err(MessageError));
        assert_eq!(FromMaster::read(b""), Err(MessageError));
        assert_eq!(FromMaster::read(&[0x91; 200]), Err(MessageError));
        let negative = map(vec![(
            "user_classes_count",
            Value::Map(vec![("A".into(), (-1).into())]),
        )]);
        assert_eq!(message("spawn", negative), Err(MessageError));
    }
}
