//! Paths that carry shorter packets than the interfaces at both ends: a gateway in between holds the MTU down. It knows results,
//! not how they were measured.

use serde_json::Value;
use weir_units::format_count;

use crate::filter::Over;

/// A test whose path carries shorter packets than both of its hosts' interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDown {
    /// The pair, as in `a -> b`.
    pub pair: String,
    /// Addresses of the test.
    pub over: Over,
    /// Largest IP packet that came through in both directions, bytes.
    pub path: u64,
    /// Largest that both interfaces take, bytes.
    pub interfaces: u64,
}

/// What a test's details say, if a gateway held the MTU down; none where it was not measured.
#[must_use]
pub fn held_down(pair: &str, over: Over, details: &Value) -> Option<HeldDown> {
    let of = |way: &str, key: &str| details["path_mtu"][way][key].as_u64();
    let both = |key: &str| Some(of("forward", key)?.min(of("reverse", key)?));
    let (path, interfaces) = (both("path_mtu")?, both("interface_mtu")?);
    (path < interfaces).then(|| HeldDown {
        pair: pair.to_owned(),
        over,
        path,
        interfaces,
    })
}

/// A sentence for each kind of such tests.
#[must_use]
pub fn notes(all: &[HeldDown]) -> Vec<String> {
    let mut kinds: Vec<(Over, u64, u64)> = all
        .iter()
        .map(|one| (one.over, one.path, one.interfaces))
        .collect();
    kinds.sort_unstable_by_key(|(over, path, interfaces)| (over.as_str(), *path, *interfaces));
    kinds.dedup();
    kinds
        .into_iter()
        .map(|kind| {
            let mut of_kind = all.iter().filter(|one| (one.over, one.path, one.interfaces) == kind);
            let first = of_kind.next().map_or("", |one| one.pair.as_str());
            let more = match of_kind.count() {
                0 => String::new(),
                more => format!(" and {} more", format_count(more as u64)),
            };
            let (over, path, interfaces) = kind;
            let advice = match over {
                Over::Public => "; private addresses may carry longer packets",
                Over::Private => "",
            };
            format!(
                "a gateway holds the MTU down to {path} bytes over {} addresses, where both interfaces have {interfaces}: \
                 {first}{more}{advice}",
                over.as_str()
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn details(ways: [(u64, u64); 2]) -> Value {
        let report = |(path, interface)| json!({ "path_mtu": path, "probes": 9, "interface_mtu": interface });
        json!({ "path_mtu": { "forward": report(ways[0]), "reverse": report(ways[1]) } })
    }

    #[test]
    fn a_path_below_both_interfaces_is_held_down_and_one_below_the_smaller_is_not() {
        let held = held_down("a -> b", Over::Public, &details([(1500, 9001), (1500, 9001)])).unwrap();
        assert_eq!((held.path, held.interfaces), (1500, 9001));
        // The worse direction counts, and the smaller interface is what the path can be asked for.
        let held = held_down("a -> b", Over::Private, &details([(8500, 9001), (8000, 9001)])).unwrap();
        assert_eq!(held.path, 8000);
        assert_eq!(
            held_down("", Over::Public, &details([(1460, 9001), (1460, 1460)])),
            None
        );
        assert_eq!(
            held_down("", Over::Public, &details([(9001, 9001), (9001, 9001)])),
            None
        );
        for unknown in [json!({}), json!({ "path_mtu": { "forward": {} } })] {
            assert_eq!(held_down("", Over::Public, &unknown), None);
        }
    }

    #[test]
    fn tests_of_one_kind_share_a_sentence() {
        let one = |pair: &str, over, path| HeldDown {
            pair: pair.into(),
            over,
            path,
            interfaces: 9001,
        };
        let all = [
            one("a -> b", Over::Public, 1500),
            one("b -> a", Over::Public, 1500),
            one("a -> b", Over::Private, 8500),
        ];
        assert_eq!(
            notes(&all),
            [
                "a gateway holds the MTU down to 8500 bytes over private addresses, where both interfaces have 9001: a -> b",
                "a gateway holds the MTU down to 1500 bytes over public addresses, where both interfaces have 9001: a -> b and \
                 1 more; private addresses may carry longer packets",
            ]
        );
        assert!(notes(&[]).is_empty());
    }
}
