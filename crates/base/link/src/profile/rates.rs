//! The key `rate`: a rate, steps, or the name of a trace. It must not know where traces are kept.

use std::collections::HashMap;
use std::rc::Rc;

use weir_units::Rate;

use super::entry::{Entry, Scope};
use crate::spec::{RateSpec, SpecError};
use crate::trace::{StepList, TraceError, TraceFormat, one_line};

/// Maximum number of steps, opportunities, packet numbers and dark spans of a link, all routes together. A list is
/// written once but stored per route.
pub(super) const MOST_ENTRIES: usize = 16_000_000;
/// Maximum rate, bits or packets per second.
pub(super) const MOST_RATE: u64 = 1_000_000_000_000_000;
const FORMS: &str = "write \"10Mbit/s\", \"unlimited\", { trace = \"FILE\" }, { trace = \"FILE\", format = \"mahimahi\" } \
                     or { steps = [\"5s 10Mbit/s\", \"1s 2Mbit/s\"] }";

/// Loads a trace by its name in the file.
pub(super) type ReadTrace<'r> = dyn FnMut(&str, TraceFormat) -> Result<RateSpec, TraceError> + 'r;

/// Reads rates, and each trace only once.
pub(super) struct Rates<'r> {
    read_trace: &'r mut ReadTrace<'r>,
    known: HashMap<(String, TraceFormat), Rc<RateSpec>>,
    entries: usize,
}

impl<'r> Rates<'r> {
    pub(super) fn new(read_trace: &'r mut ReadTrace<'r>) -> Self {
        Rates {
            read_trace,
            known: HashMap::new(),
            entries: 0,
        }
    }

    pub(super) fn rate(&mut self, place: &Entry) -> Result<Rc<RateSpec>, SpecError> {
        if let Some(scope) = place.scope() {
            return self.varying(place, &scope);
        }
        if place.value.as_str() == Some("unlimited") {
            return Ok(Rc::new(RateSpec::Unlimited));
        }
        if place.value.is_bool() || place.value.is_array() {
            return Err(place.wrong(FORMS));
        }
        rate(place).map(|rate| Rc::new(RateSpec::Fixed(rate)))
    }

    fn varying(&mut self, place: &Entry, scope: &Scope) -> Result<Rc<RateSpec>, SpecError> {
        if scope.table.contains_key("steps") {
            scope.only(&[&["steps"]])?;
            return scope.need("steps", |place| inline_steps(&place)).map(Rc::new);
        }
        if !scope.table.contains_key("trace") {
            return Err(place.wrong(FORMS));
        }
        scope.only(&[&["trace", "format"]])?;
        let formats = [("steps", TraceFormat::Steps), ("mahimahi", TraceFormat::Mahimahi)];
        let format = scope.read("format", |place| place.word(&formats))?;
        scope.need("trace", |place| {
            self.trace(&place, format.unwrap_or(TraceFormat::Steps))
        })
    }

    fn trace(&mut self, place: &Entry, format: TraceFormat) -> Result<Rc<RateSpec>, SpecError> {
        let file = place.value.as_str().filter(|file| !file.is_empty());
        let file = file.ok_or_else(|| place.wrong("write the name of a file in quotes"))?;
        let key = (file.to_owned(), format);
        if let Some(known) = self.known.get(&key) {
            return Ok(Rc::clone(known));
        }
        let trace = (self.read_trace)(file, format).map_err(|error| place.wrong(one_line(&error.problem)))?;
        self.entries += trace.entries();
        if self.entries > MOST_ENTRIES {
            return Err(place.wrong(format!(
                "the traces have, in total, more than {MOST_ENTRIES} lines"
            )));
        }
        let trace = Rc::new(trace);
        self.known.insert(key, Rc::clone(&trace));
        Ok(trace)
    }
}

fn inline_steps(place: &Entry) -> Result<RateSpec, SpecError> {
    let form = "write a list such as [\"5s 10Mbit/s\", \"1s 2Mbit/s\"]";
    let items = place.items().ok_or_else(|| place.wrong(form))?;
    let mut steps = StepList::default();
    for item in items {
        let step = item.value.as_str();
        let step = step.ok_or_else(|| item.wrong("write text such as \"5s 10Mbit/s\""))?;
        steps.push(step).map_err(|problem| item.wrong(problem))?;
    }
    steps.finish().map_err(|problem| place.wrong(problem))
}

/// A rate within the core's limits.
pub(super) fn rate(place: &Entry) -> Result<u64, SpecError> {
    let Rate(rate) = place.parsed("10Mbit/s")?;
    if rate > MOST_RATE {
        return Err(place.wrong(format!("the maximum is {}", Rate(MOST_RATE))));
    }
    Ok(rate)
}
