//! Declares sets of counters: from one list of names and rules follow the struct, its difference, its sum and the
//! names under which others print and store it. It must not know what is counted.

/// A set of counters that was declared by [`counters`].
pub trait Counters: Copy + Default {
    /// Names, in the order of declaration: keys of JSON and columns of tables.
    const NAMES: &'static [&'static str];

    /// Values in that order.
    fn values(&self) -> impl Iterator<Item = u64>;

    /// From values in that order; missing ones are 0.
    fn from_values(values: impl IntoIterator<Item = u64>) -> Self;

    /// Adds the counts of another period. Saturates: a peer may send anything.
    fn add(&mut self, other: &Self);

    /// What was counted after `before`, an earlier state of the same counters. A maximum cannot be taken apart and stays
    /// as it is.
    fn since(&self, before: &Self) -> Self;
}

/// Declares a struct of `u64` counters: `name => sum` for counts, `name => max` for maxima. In JSON a counter that is
/// missing is 0, since older versions do not send it.
macro_rules! counters {
    (
        $(#[$about:meta])*
        pub struct $set:ident {
            $($(#[$counter_about:meta])* $counter:ident => $rule:ident,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $set {
            $($(#[$counter_about])* pub $counter: u64,)*
        }

        impl $crate::counts::Counters for $set {
            const NAMES: &'static [&'static str] = &[$(stringify!($counter)),*];

            fn values(&self) -> impl Iterator<Item = u64> {
                [$(self.$counter),*].into_iter()
            }

            fn from_values(values: impl IntoIterator<Item = u64>) -> Self {
                let mut values = values.into_iter();
                // Fields are evaluated in the order written here.
                $set { $($counter: values.next().unwrap_or(0),)* }
            }

            fn add(&mut self, other: &Self) {
                $(self.$counter = $crate::counts::counter!($rule: add self.$counter, other.$counter);)*
            }

            fn since(&self, before: &Self) -> Self {
                $set { $($counter: $crate::counts::counter!($rule: since self.$counter, before.$counter),)* }
            }
        }
    };
}
pub(crate) use counters;

/// The rules of [`counters`].
macro_rules! counter {
    (sum: add $sum:expr, $other:expr) => {
        $sum.saturating_add($other)
    };
    (sum: since $now:expr, $before:expr) => {
        $now.saturating_sub($before)
    };
    (max: add $sum:expr, $other:expr) => {
        $sum.max($other)
    };
    (max: since $now:expr, $before:expr) => {
        $now
    };
}
pub(crate) use counter;
