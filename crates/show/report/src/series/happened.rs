//! What happened while media was carried: flows that were left and used again, and events. It must not know of seconds.

use weir_results::{FlowChange, Record, StoreError, Table};

use super::keep::Keep;
use super::limits::{MOST_DETAIL_CHARACTERS, MOST_FLOW_CHANGES, MOST_MEDIA_EVENTS};
use super::{Named, Source};
use crate::data::{Series, Values};

pub(super) fn flow_changes(source: Source<'_>) -> Result<Named, StoreError> {
    let mut earliest = Keep::new(MOST_FLOW_CHANGES);
    // Of changes at one time the later row stands.
    let mut place = 0;
    source
        .store
        .each_record(source.run, Table::FlowChanges, |record| {
            if let Record::FlowChange(row) = record {
                let (at, sender, flow) = (source.at(row.unix_ns), row.sender.into(), row.flow.into());
                let state = FlowChange::STATES.iter().position(|state| *state == row.state);
                // The table takes no other word.
                let state = state.and_then(|state| i64::try_from(state).ok()).unwrap_or(0);
                earliest.offer((at, place), [sender, flow, at, place, state]);
                place += 1;
            }
            Ok(())
        })?;
    let (rows, left_out) = earliest.into_rows();
    let column = |index: usize| Values::Integers(rows.iter().map(|row| Some(row[index])).collect());
    let state = |row: &[i64; 5]| {
        let state = usize::try_from(row[4]).ok();
        let state = state.and_then(|state| FlowChange::STATES.get(state));
        state.copied().unwrap_or_default().into()
    };
    let columns = vec![
        ("sender", column(0)),
        ("flow", column(1)),
        ("at_ns", column(2)),
        ("state", Values::Words(rows.iter().map(state).collect())),
    ];
    Ok(series("flow_changes", rows.len(), left_out, columns))
}

pub(super) fn media_events(source: Source<'_>) -> Result<Named, StoreError> {
    // Texts can be long and many: only those that are kept are held, a few more at a time.
    let mut earliest = Earliest::default();
    source
        .store
        .each_record(source.run, Table::MediaEvents, |record| {
            if let Record::MediaEvent(row) = record {
                earliest.offer(Event {
                    at: source.at(row.unix_ns),
                    sender: row.sender.map(i64::from),
                    event: shortened(row.event),
                    detail: shortened(row.detail),
                    state: shortened(row.state),
                });
            }
            Ok(())
        })?;
    let (rows, left_out) = earliest.into_rows();
    let columns = vec![
        (
            "at_ns",
            Values::Integers(rows.iter().map(|row| Some(row.at)).collect()),
        ),
        (
            "sender",
            Values::Integers(rows.iter().map(|row| row.sender).collect()),
        ),
        (
            "event",
            Values::Words(rows.iter().map(|row| row.event.clone().into()).collect()),
        ),
        (
            "state",
            Values::Words(rows.iter().map(|row| row.state.clone().into()).collect()),
        ),
        (
            "detail",
            Values::Words(rows.into_iter().map(|row| row.detail.into()).collect()),
        ),
    ];
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    Ok(series("media_events", rows, left_out, columns))
}

fn series(name: &'static str, rows: usize, left_out: u64, columns: Vec<(&'static str, Values)>) -> Named {
    let found = Series {
        left_out,
        ..Series::new(rows as u64, None, columns)
    };
    (rows > 0).then_some((name, found))
}

struct Event {
    at: i64,
    sender: Option<i64>,
    event: String,
    detail: String,
    state: String,
}

/// The earliest events.
#[derive(Default)]
struct Earliest {
    seen: u64,
    rows: Vec<Event>,
}

impl Earliest {
    fn offer(&mut self, event: Event) {
        self.seen += 1;
        self.rows.push(event);
        if self.rows.len() >= 2 * MOST_MEDIA_EVENTS {
            self.cut();
        }
    }

    /// Sorting keeps the order in which those of one time were stored.
    fn cut(&mut self) {
        self.rows.sort_by_key(|event| event.at);
        self.rows.truncate(MOST_MEDIA_EVENTS);
    }

    fn into_rows(mut self) -> (Vec<Event>, u64) {
        self.cut();
        let left_out = self.seen - self.rows.len() as u64;
        (self.rows, left_out)
    }
}

/// At most so many characters, with a sign that there were more.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MOST_DETAIL_CHARACTERS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "ä".repeat(MOST_DETAIL_CHARACTERS);
        assert_eq!(shortened(text.clone()), text);
        let cut = shortened(text.clone() + "ß");
        assert_eq!(cut, text + "…");
    }
}
