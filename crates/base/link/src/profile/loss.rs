//! The key `loss`: one loss process or a list of them.

use toml::Value;
use weir_units::Share;

use super::entry::{Entry, Scope};
use crate::spec::{LossSpec, SpecError};

const FORMS: &str = "write \"0.1%\", { mean = \"0.1%\", burst = 5 }, { to-bad = \"0.1%\", to-good = \"20%\" }, \
                     { packets = [10, 11] } or a list of these";

/// A share as a number from 0 to 1.
pub(super) fn share(place: &Entry) -> Result<f64, SpecError> {
    place.parsed("0.1%").map(Share::fraction)
}

/// All processes of the key; empty without loss.
pub(super) fn losses(place: &Entry) -> Result<Vec<LossSpec>, SpecError> {
    match place.items() {
        Some(items) => items.filter_map(|item| loss(&item).transpose()).collect(),
        None => Ok(loss(place)?.into_iter().collect()),
    }
}

fn loss(place: &Entry) -> Result<Option<LossSpec>, SpecError> {
    let Some(scope) = place.scope() else {
        if matches!(
            place.value,
            Value::Boolean(_) | Value::Datetime(_) | Value::Array(_)
        ) {
            return Err(place.wrong(FORMS));
        }
        let share = share(place)?;
        return Ok((share > 0.0).then_some(LossSpec::Bernoulli(share)));
    };
    let has = |key: &str| scope.table.contains_key(key);
    if has("packets") {
        scope.only(&[&["packets"]])?;
        scope.need("packets", |place| packets(&place)).map(Some)
    } else if has("mean") || has("burst") {
        scope.only(&[&["mean", "burst"]])?;
        gilbert(&scope)
    } else if has("to-bad") || has("to-good") {
        gilbert_elliott(&scope).map(Some)
    } else {
        Err(place.wrong(FORMS))
    }
}

fn packets(place: &Entry) -> Result<LossSpec, SpecError> {
    let items = place
        .items()
        .ok_or_else(|| place.wrong("write a list, such as [10, 11]"))?;
    let mut numbers: Vec<u64> = Vec::with_capacity(items.len());
    for item in items {
        let number = item.whole("a packet's number, counted from 0,", 0, i64::MAX as u64)?;
        if numbers.last().is_some_and(|last| *last >= number) {
            return Err(item.wrong("must be above the previous number"));
        }
        numbers.push(number);
    }
    Ok(LossSpec::Packets(numbers))
}

/// Gilbert's model: packets in the bad state are lost, others are not; a burst ends with probability `1 / burst` at each
/// packet, and the share of packets in the bad state is `to_bad / (to_bad + to_good)`.
fn gilbert(scope: &Scope) -> Result<Option<LossSpec>, SpecError> {
    let mean = scope.need("mean", |place| share(&place))?;
    let burst = scope.need("burst", |place| burst(&place))?;
    if mean == 0.0 {
        return Ok(None);
    }
    let to_good = 1.0 / burst;
    let to_bad = mean * to_good / (1.0 - mean);
    // Also if the mean is 1 and this value infinite.
    if to_bad > 1.0 {
        let most = 100.0 * burst / (burst + 1.0);
        let allowed = format!("with bursts of {burst} packets the maximum mean is {most:.4}%");
        return scope.need("mean", |place| Err(place.wrong(allowed)));
    }
    Ok(Some(LossSpec::gilbert(to_bad, to_good)))
}

/// Mean length of bursts in packets.
fn burst(place: &Entry) -> Result<f64, SpecError> {
    const MOST: f64 = 1e6;
    let number = match place.value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    };
    if (1.0..=MOST).contains(&number) {
        Ok(number)
    } else {
        Err(place.wrong("write the mean number of packets in a burst, from 1 to 1000000"))
    }
}

fn gilbert_elliott(scope: &Scope) -> Result<LossSpec, SpecError> {
    scope.only(&[&["to-bad", "to-good", "loss-good", "loss-bad"]])?;
    Ok(LossSpec::GilbertElliott {
        to_bad: scope.need("to-bad", |place| share(&place))?,
        to_good: scope.need("to-good", |place| share(&place))?,
        loss_good: scope.read("loss-good", |place| share(&place))?.unwrap_or(0.0),
        loss_bad: scope.read("loss-bad", |place| share(&place))?.unwrap_or(1.0),
    })
}
