//! Which earlier frames a frame of AV1 refers to (7.8), and what their order says (5.9.22). It must not know what the frames
//! hold.

use super::motion::REFERENCES;
use super::slots::{Reference, SLOTS};
use crate::encryption::error::UnitError;

/// Places of names in a frame's references.
const LAST: usize = 0;
const GOLDEN: usize = 3;
const BACKWARD: usize = 4;
const ALTERNATE_2: usize = 5;
const ALTERNATE: usize = 6;

/// How much later `one` is shown than `other` (`get_relative_dist`), of hints of so many bits.
fn distance(hint_bits: u32, one: u32, other: u32) -> i32 {
    let difference = one as i32 - other as i32;
    let sign = 1 << (hint_bits - 1);
    (difference & (sign - 1)) - (difference & sign)
}

/// `set_frame_refs`: the slots of all references of a frame that names two of them.
pub(super) fn named_by_two(
    slots: &[Option<Reference>; SLOTS],
    hint_bits: u32,
    hint: u32,
    (last, golden): (usize, usize),
) -> Result<[usize; REFERENCES], UnitError> {
    let mut distances = [0; SLOTS];
    for (slot, found) in slots.iter().zip(&mut distances) {
        let of = slot.as_ref().ok_or(UnitError::Missing {
            what: "reference frame",
        })?;
        *found = distance(hint_bits, of.order_hint, hint);
    }
    let mut named = [None; REFERENCES];
    let mut used = [false; SLOTS];
    let mut name = |place: usize, slot: usize, used: &mut [bool; SLOTS]| {
        named[place] = Some(slot);
        used[slot] = true;
    };
    name(LAST, last, &mut used);
    name(GOLDEN, golden, &mut used);
    let free = |used: &[bool; SLOTS], is_later: bool| -> Vec<usize> {
        (0..SLOTS)
            .filter(|slot| !used[*slot] && (distances[*slot] >= 0) == is_later)
            .collect()
    };
    // Of equal ones the last counts as the latest, the first as the earliest.
    let latest = |slots: Vec<usize>| slots.into_iter().max_by_key(|slot| (distances[*slot], *slot));
    let earliest = |slots: Vec<usize>| slots.into_iter().min_by_key(|slot| (distances[*slot], *slot));
    if let Some(slot) = latest(free(&used, true)) {
        name(ALTERNATE, slot, &mut used);
    }
    for place in [BACKWARD, ALTERNATE_2] {
        if let Some(slot) = earliest(free(&used, true)) {
            name(place, slot, &mut used);
        }
    }
    let mut forward = free(&used, false);
    forward.sort_by_key(|slot| (distances[*slot], *slot));
    let first = earliest((0..SLOTS).collect()).unwrap_or(0);
    // Those that are left take the latest of the frames before, and then the earliest of all.
    for place in [1, 2, BACKWARD, ALTERNATE_2, ALTERNATE] {
        named[place] = named[place].or_else(|| forward.pop());
    }
    Ok(named.map(|slot| slot.unwrap_or(first)))
}

/// `skipModeAllowed`: whether there are references on both sides in time, or two before.
pub(super) fn allow_skip_mode(hints: &[u32; REFERENCES], hint_bits: u32, hint: u32) -> bool {
    let distances = hints.map(|of| distance(hint_bits, of, hint));
    let Some(nearest) = distances.into_iter().filter(|distance| *distance < 0).max() else {
        return false;
    };
    let nearest_hint = distances.iter().position(|distance| *distance == nearest);
    let nearest_hint = nearest_hint
        .and_then(|place| hints.get(place))
        .copied()
        .unwrap_or(hint);
    let is_before = |of: &u32| distance(hint_bits, *of, nearest_hint) < 0;
    distances.iter().any(|distance| *distance > 0) || hints.iter().any(is_before)
}
