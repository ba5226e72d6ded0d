//! The traps that come with Weir: the files of `scenarios/traps/`.

/// In the order in which they are listed.
const SCENARIOS: [(&str, &str); 3] = [
    (
        "current-rung",
        include_str!("../../../../../scenarios/traps/current-rung.toml"),
    ),
    (
        "dashjs-rtp",
        include_str!("../../../../../scenarios/traps/dashjs-rtp.toml"),
    ),
    (
        "naive-start",
        include_str!("../../../../../scenarios/traps/naive-start.toml"),
    ),
];

/// Every scenario with its text, which can be saved and changed.
pub fn scenarios() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCENARIOS.into_iter()
}

/// The text of the scenario of this name.
pub fn named(name: &str) -> Option<&'static str> {
    scenarios()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| text)
}
