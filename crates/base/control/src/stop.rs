//! One flag that ends a test early: Ctrl-C, a lost agent, a byte limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag shared by all threads of a test. Setting it sets its children, but not its parents.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    own: Arc<AtomicBool>,
    ancestors: Vec<Arc<AtomicBool>>,
}

impl Stop {
    /// A flag that is set with `flag`, such as a signal handler's.
    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Stop {
            own: Arc::default(),
            ancestors: vec![flag],
        }
    }

    /// A child: set with this flag, and can be set alone.
    pub fn child(&self) -> Self {
        let mut ancestors = self.ancestors.clone();
        ancestors.push(self.own.clone());
        Stop {
            own: Arc::default(),
            ancestors,
        }
    }

    /// Ends the test.
    pub fn set(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether the test must end.
    pub fn is_set(&self) -> bool {
        self.own.load(Ordering::Relaxed) || self.ancestors.iter().any(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_with_its_parent_and_not_the_other_way_round() {
        let parent = Stop::default();
        let (child, sibling) = (parent.child(), parent.child());
        child.set();
        assert!(child.is_set() && !parent.is_set() && !sibling.is_set());
        parent.set();
        assert!(sibling.is_set() && sibling.child().is_set());
    }
}
