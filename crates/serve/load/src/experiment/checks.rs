//! What an experiment may be: bounds, names that differ, parts that refer to what is there. What is wrong is said in a
//! line.

use weir_units::TimeSpan;

use super::file::{Experiment, ExperimentError, Part, Storage, Titles, wrong};

/// Most entries of a list.
const MOST_ENTRIES: usize = 100;
/// Most runs of an experiment.
const MOST_CELLS: usize = 10_000;
/// Most repeats.
const MOST_REPEATS: u32 = 1_000;
/// Most characters of a name: it becomes a tag of runs.
const MOST_NAME: usize = 40;
/// Longest title that is made.
const LONGEST_TITLE: TimeSpan = TimeSpan(4 * 3600 * 1_000_000_000);
/// Longest run.
const LONGEST_RUN: TimeSpan = TimeSpan(24 * 3600 * 1_000_000_000);

/// A word that files, tags and tables can bear.
fn is_name(text: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    (1..=MOST_NAME).contains(&text.len()) && text.chars().all(allowed) && !text.starts_with(['-', '.'])
}

impl Experiment {
    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        for name in std::iter::once(&self.name).chain(self.parts.iter().map(|part| &part.name)) {
            if !is_name(name) {
                return wrong(format!(
                    "name: '{}' is not a name; write up to {MOST_NAME} letters, digits, '-', '_' and '.'",
                    name.escape_debug()
                ));
            }
        }
        if !(1..=MOST_REPEATS).contains(&self.repeats) {
            return wrong(format!(
                "repeats: {} is not from 1 to {MOST_REPEATS}",
                self.repeats
            ));
        }
        for (whose, placed) in [("origin", &self.origin), ("generator", &self.generator)] {
            if !(1..=1024).contains(&placed.threads) {
                return wrong(format!("{whose}: threads is not from 1 to 1024"));
            }
        }
        self.check_titles()?;
        if self.parts.is_empty() {
            return wrong("no [[part]]: nothing to measure; add at least one");
        }
        let mut cells = 0_usize;
        for (number, part) in self.parts.iter().enumerate() {
            if self.parts[..number].iter().any(|before| before.name == part.name) {
                return wrong(format!("part {}: two parts have this name", part.name));
            }
            cells = cells.saturating_add(part.check()?.saturating_mul(self.repeats as usize));
            self.check_rates(part)?;
        }
        if cells > MOST_CELLS {
            return wrong(format!("it has {cells} runs; the maximum is {MOST_CELLS}"));
        }
        self.check_published()
    }

    fn check_titles(&self) -> Result<(), ExperimentError> {
        match &self.titles {
            Titles::Made { duration, .. } => {
                let shortest = TimeSpan(10_000_000_000);
                if !(shortest..=LONGEST_TITLE).contains(duration) {
                    return wrong(format!(
                        "titles: duration {duration} is not from {shortest} to {LONGEST_TITLE}"
                    ));
                }
                if matches!(
                    &self.storage,
                    Storage::Location(_) | Storage::Served { folder: Some(_), .. }
                ) {
                    return wrong(
                        "generated titles have their own folder: remove place and folder of [storage], or name the titles \
                        stored there by [[title]]",
                    );
                }
            }
            Titles::Given(titles) => {
                if titles.len() > MOST_ENTRIES {
                    return wrong(format!("there are more than {MOST_ENTRIES} titles"));
                }
                if matches!(&self.storage, Storage::Served { folder: None, .. }) {
                    return wrong("storage: folder or place of the titles is missing");
                }
            }
        }
        Ok(())
    }

    /// Every bit rate needs a title.
    fn check_rates(&self, part: &Part) -> Result<(), ExperimentError> {
        let Titles::Given(titles) = &self.titles else {
            return Ok(());
        };
        let missing = part
            .video
            .iter()
            .find(|video| !titles.iter().any(|title| title.video == **video));
        match missing {
            Some(video) => wrong(format!(
                "part {}: no [[title]] has video = \"{video}\"",
                part.name
            )),
            None => Ok(()),
        }
    }

    fn check_published(&self) -> Result<(), ExperimentError> {
        let Some(published) = &self.published else {
            return Ok(());
        };
        let Some(part) = self.parts.iter().find(|part| part.name == published.part) else {
            return wrong(format!(
                "published: unknown part '{}'",
                published.part.escape_debug()
            ));
        };
        for row in &published.rows {
            if !part.configurations.contains(&row.configuration) {
                return wrong(format!(
                    "published: part {} has no configuration '{}'",
                    part.name,
                    row.configuration.escape_debug()
                ));
            }
            if !row.efficiency.is_finite() || row.efficiency <= 0.0 {
                return wrong("published: efficiency must be a number above 0");
            }
        }
        let known = |name: &&String| published.rows.iter().any(|row| row.configuration == **name);
        if let Some(name) = published.fastest.iter().find(|name| !known(name)) {
            return wrong(format!(
                "published: fastest names '{}', which has no row",
                name.escape_debug()
            ));
        }
        Ok(())
    }
}

impl Part {
    /// Checks its bounds and says how many runs it has.
    fn check(&self) -> Result<usize, ExperimentError> {
        // Where something stands twice, two runs could not be told apart.
        fn bounds<T: PartialEq>(list: &[T]) -> (usize, bool) {
            let twice = (1..list.len()).any(|at| list[..at].contains(&list[at]));
            (list.len(), twice)
        }
        let lists = [
            ("configurations", bounds(&self.configurations)),
            ("segments", bounds(&self.segments)),
            ("video", bounds(&self.video)),
            ("viewers", bounds(&self.viewers)),
            ("caches", bounds(&self.caches)),
        ];
        let mut cells = 1_usize;
        for (what, (length, _)) in lists {
            if !(1..=MOST_ENTRIES).contains(&length) {
                return wrong(format!(
                    "part {}: {what} has {length} entries, not from 1 to {MOST_ENTRIES}",
                    self.name
                ));
            }
            cells = cells.saturating_mul(length);
        }
        if let Some((twice, _)) = lists.iter().find(|(_, (_, twice))| *twice) {
            return wrong(format!("part {}: {twice} has an entry twice", self.name));
        }
        let shortest = TimeSpan(1_000_000_000);
        if !(shortest..=LONGEST_RUN).contains(&self.duration) {
            return wrong(format!(
                "part {}: duration {} is not from {shortest} to {LONGEST_RUN}",
                self.name, self.duration
            ));
        }
        Ok(cells)
    }
}
