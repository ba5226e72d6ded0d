//! Rows whose counts tell their columns apart.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A record with another number in each count, from `from` on, so that no column can stand for another; the rest is as
/// in the default.
pub fn numbered<T: Default + Serialize + DeserializeOwned>(from: u64) -> T {
    let mut row = serde_json::to_value(T::default()).unwrap();
    let fields = row.as_object_mut().unwrap().values_mut();
    for (count, number) in fields.filter(|value| value.is_u64()).zip(from..) {
        *count = number.into();
    }
    serde_json::from_value(row).unwrap()
}
