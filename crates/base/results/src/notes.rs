//! The user's note and tags of a run. It knows their limits, not what a run is.

use rusqlite::params;
use weir_record::RunId;

use crate::error::StoreError;
use crate::store::Store;

/// Maximum length of a note, characters.
pub const MOST_NOTE_CHARACTERS: usize = 10_000;
/// Maximum number of tags of a run.
pub const MOST_TAGS: usize = 20;
/// Maximum length of a tag, characters.
pub const MOST_TAG_CHARACTERS: usize = 50;

impl Store {
    /// Replaces the note of a run; an empty one removes it.
    ///
    /// # Errors
    /// When the run does not exist, or the note is too long or has control characters, which could manipulate a
    /// terminal; new lines and tabs are allowed.
    pub fn set_note(&self, run: RunId, note: &str) -> Result<(), StoreError> {
        let bad = |what: String| Err(StoreError::BadNote { run, what });
        let length = note.chars().count();
        if length > MOST_NOTE_CHARACTERS {
            return bad(format!(
                "a note of {length} characters is too long: the maximum is {MOST_NOTE_CHARACTERS}"
            ));
        }
        if note.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return bad("a note cannot have control characters other than new lines and tabs".into());
        }
        self.set_text(run, "UPDATE runs SET note = ?2 WHERE run_id = ?1", note)
    }

    /// Replaces the tags of a run; duplicates are removed.
    ///
    /// # Errors
    /// When the run does not exist, there are too many tags, or one is not a word of 1 to [`MOST_TAG_CHARACTERS`]
    /// characters.
    pub fn set_tags(&self, run: RunId, tags: &[String]) -> Result<(), StoreError> {
        let bad = |what: String| Err(StoreError::BadNote { run, what });
        let mut kept: Vec<&String> = Vec::new();
        for tag in tags {
            let length = tag.chars().count();
            if length == 0 || length > MOST_TAG_CHARACTERS {
                return bad(format!(
                    "a tag has {length} characters: write 1 to {MOST_TAG_CHARACTERS}"
                ));
            }
            if tag.chars().any(|c| c.is_control() || c.is_whitespace()) {
                return bad("a tag is one word, without white space or control characters".into());
            }
            if !kept.contains(&tag) {
                kept.push(tag);
            }
        }
        if kept.len() > MOST_TAGS {
            return bad(format!(
                "too many tags ({}): the maximum is {MOST_TAGS}",
                kept.len()
            ));
        }
        let text = serde_json::json!(kept).to_string();
        self.set_text(run, "UPDATE runs SET tags = ?2 WHERE run_id = ?1", &text)
    }

    /// Replaces the note, the tags or both, all or none.
    ///
    /// # Errors
    /// As [`set_note`](Store::set_note) and [`set_tags`](Store::set_tags).
    pub fn describe(
        &self,
        run: RunId,
        note: Option<&str>,
        tags: Option<&[String]>,
    ) -> Result<(), StoreError> {
        let failed = || StoreError::at("store the note and the tags", &self.path);
        let transaction =
            rusqlite::Transaction::new_unchecked(&self.connection, rusqlite::TransactionBehavior::Immediate)
                .map_err(failed())?;
        self.run(run)?;
        if let Some(note) = note {
            self.set_note(run, note)?;
        }
        if let Some(tags) = tags {
            self.set_tags(run, tags)?;
        }
        transaction.commit().map_err(failed())
    }

    fn set_text(&self, run: RunId, sql: &str, text: &str) -> Result<(), StoreError> {
        let changed = self
            .connection
            .execute(sql, params![run.0, text])
            .map_err(StoreError::at("store the note and the tags", &self.path))?;
        self.expect_run(run, changed)
    }
}

/// The tags in the `tags` column. A value edited by hand that is not a list is shown rather than refused.
pub(crate) fn tags_from_column(text: String) -> Vec<String> {
    match serde_json::from_str(&text) {
        Ok(tags) => tags,
        Err(_) if text.is_empty() => Vec::new(),
        Err(_) => vec![text],
    }
}
