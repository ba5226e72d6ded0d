//! The scenarios that come with Weir: the files of `scenarios/pacing/`, each of which says where it is from.

/// In the order in which they are listed.
const SCENARIOS: [(&str, &str); 6] = [
    (
        "keynote-voip",
        include_str!("../../../../../scenarios/pacing/keynote-voip.toml"),
    ),
    (
        "keynote-loss",
        include_str!("../../../../../scenarios/pacing/keynote-loss.toml"),
    ),
    (
        "keynote-smoothness",
        include_str!("../../../../../scenarios/pacing/keynote-smoothness.toml"),
    ),
    (
        "keynote-gaming",
        include_str!("../../../../../scenarios/pacing/keynote-gaming.toml"),
    ),
    (
        "sammy-lab",
        include_str!("../../../../../scenarios/pacing/sammy-lab.toml"),
    ),
    (
        "nginx-limit-rate",
        include_str!("../../../../../scenarios/pacing/nginx-limit-rate.toml"),
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
