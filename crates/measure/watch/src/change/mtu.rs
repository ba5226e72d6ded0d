//! Changes of the path MTU of one direction. Pure.
//!
//! A search says that a size does not pass when three probes of it are lost. Another MTU is a change when the next search finds the
//! same: with independent loss of 1 %, a search is wrong once in some 100,000 times, and two in a row with the same error are not
//! to be expected in a lifetime.

/// Watches one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MtuWatch {
    known: Option<u32>,
    /// What the last search found, if it was not the known one, and when, Unix nanoseconds.
    unlike: Option<(u64, u32)>,
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// First search after it, Unix nanoseconds.
    pub since_ns: u64,
    /// Bytes of an IP packet.
    pub before: u32,
    /// The same.
    pub after: u32,
}

impl MtuWatch {
    /// Takes what a search found.
    pub(super) fn push(&mut self, unix_ns: u64, mtu: u32) -> Option<Found> {
        let before = *self.known.get_or_insert(mtu);
        if before == mtu {
            self.unlike = None;
            return None;
        }
        match self.unlike {
            Some((since_ns, same)) if same == mtu => {
                *self = MtuWatch {
                    known: Some(mtu),
                    unlike: None,
                };
                Some(Found {
                    since_ns,
                    before,
                    after: mtu,
                })
            }
            _ => {
                self.unlike = Some((unix_ns, mtu));
                None
            }
        }
    }

    /// Another search is to confirm the last one.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.unlike.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_mtu_is_a_change_when_it_is_found_twice_in_a_row() {
        let mut watch = MtuWatch::default();
        let found: Vec<_> = [1500, 1500, 1400, 1500, 1420, 1400, 1400, 1400, 9001, 9001]
            .into_iter()
            .enumerate()
            .filter_map(|(search, mtu)| watch.push(search as u64, mtu))
            .collect();
        let change = |since_ns, before, after| Found {
            since_ns,
            before,
            after,
        };
        assert_eq!(found, [change(5, 1500, 1400), change(8, 1400, 9001)]);
        assert!(!watch.is_in_doubt());
        watch.push(10, 1500);
        assert!(watch.is_in_doubt());
    }
}
