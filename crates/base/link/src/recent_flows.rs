//! Keeps state per recently seen flow, for a bounded number of flows: when there are too many,
//! the one idle for longest is dropped. It must not know the state.

use std::collections::HashMap;

/// Maximum number of flows.
pub(crate) const MOST_FLOWS: usize = 65_536;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Slot<T> {
    flow: u64,
    value: T,
    /// The flow seen next after this one.
    newer: u32,
    /// The flow seen last before this one.
    older: u32,
}

/// Flows in the order in which they were last seen.
#[derive(Clone, Debug)]
pub(crate) struct RecentFlows<T> {
    // Only ever looked up, never iterated: the order of its entries, which differs from run to run, decides nothing.
    places: HashMap<u64, u32>,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    most: usize,
}

impl<T> RecentFlows<T> {
    pub(crate) fn new() -> Self {
        Self::with_most(MOST_FLOWS)
    }

    fn with_most(most: usize) -> Self {
        Self {
            places: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            most,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Drops flows, the longest idle first, while `forgettable` returns true.
    pub(crate) fn forget_while(&mut self, forgettable: impl Fn(&T) -> bool) {
        while self.oldest != NONE && forgettable(&self.slots[self.oldest as usize].value) {
            self.forget_oldest();
        }
    }

    /// The state of this flow, which is now the last seen; `first` creates it.
    pub(crate) fn seen(&mut self, flow: u64, first: impl FnOnce() -> T) -> &mut T {
        let place = match self.places.get(&flow) {
            Some(&place) => {
                if place != self.newest {
                    self.unlink(place);
                    self.link_newest(place);
                }
                place
            }
            None => self.insert(flow, first()),
        };
        &mut self.slots[place as usize].value
    }

    fn insert(&mut self, flow: u64, value: T) -> u32 {
        if self.places.len() >= self.most {
            self.forget_oldest();
        }
        let slot = Slot {
            flow,
            value,
            newer: NONE,
            older: NONE,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.places.insert(flow, place);
        self.link_newest(place);
        place
    }

    fn forget_oldest(&mut self) {
        let place = self.oldest;
        self.unlink(place);
        self.places.remove(&self.slots[place as usize].flow);
        self.free.push(place);
    }

    fn unlink(&mut self, place: u32) {
        let Slot { newer, older, .. } = self.slots[place as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, place: u32) {
        let older = std::mem::replace(&mut self.newest, place);
        match older {
            NONE => self.oldest = place,
            older => self.slots[older as usize].newer = place,
        }
        let slot = &mut self.slots[place as usize];
        (slot.newer, slot.older) = (NONE, older);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_quiet_flow_is_forgotten_first() {
        let mut flows = RecentFlows::with_most(3);
        for flow in [1, 2, 3, 1, 4] {
            *flows.seen(flow, || 0) += 1;
        }
        assert_eq!(flows.len(), 3);
        assert_eq!([3, 1, 4].map(|flow| *flows.seen(flow, || 0)), [1, 2, 1]);
        assert_eq!(*flows.seen(2, || 0), 0);
    }

    #[test]
    fn forgetting_stops_at_the_first_that_must_stay() {
        let mut flows = RecentFlows::with_most(10);
        for flow in 0..5 {
            flows.seen(flow, || flow);
        }
        flows.forget_while(|&value| value != 2);
        assert_eq!(flows.len(), 3);
        flows.forget_while(|_| true);
        assert_eq!(flows.len(), 0);
        flows.seen(9, || 9);
        assert_eq!(flows.len(), 1);
    }

    #[test]
    fn memory_is_bounded_and_slots_are_used_again() {
        let mut flows = RecentFlows::with_most(4);
        for flow in 0..1000 {
            flows.seen(flow, || ());
        }
        assert_eq!((flows.len(), flows.slots.len()), (4, 4));
    }
}
