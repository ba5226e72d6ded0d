//! The populations that come with Weir: the files of `scenarios/population/`.

const POPULATIONS: [(&str, &str); 1] = [(
    "homes",
    include_str!("../../../../scenarios/population/homes.toml"),
)];

/// Every population with its text, which can be saved and changed.
pub fn populations() -> impl Iterator<Item = (&'static str, &'static str)> {
    POPULATIONS.into_iter()
}

/// The text of the population of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static str> {
    populations()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| text)
}
