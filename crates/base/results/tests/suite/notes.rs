//! Notes and tags: what is kept and what is refused.

use rusqlite::Connection;
use weir_results::*;

use crate::sample;

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_string).collect()
}

#[test]
fn notes_and_tags_are_kept_replaced_and_taken_away() {
    let (_directory, path, run) = sample::database();
    let store = Store::open(&path).unwrap();
    let note = "<b>two routes</b>\n\tsee \u{1f6a7} & ask";
    store.set_note(run, note).unwrap();
    store.set_tags(run, &words("slow oracle slow")).unwrap();
    let kept = store.run(run).unwrap();
    assert_eq!((kept.note.as_str(), kept.tags), (note, words("slow oracle")));
    let connection = Connection::open(&path).unwrap();
    let tags: String = connection
        .query_row("SELECT tags FROM runs", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tags, r#"["slow","oracle"]"#, "SQL takes it apart with json_each");
    store.set_note(run, "").unwrap();
    store.set_tags(run, &[]).unwrap();
    let kept = store.run(run).unwrap();
    assert_eq!((kept.note.as_str(), kept.tags.len()), ("", 0));

    connection
        .execute("UPDATE runs SET tags = 'by hand'", [])
        .unwrap();
    assert_eq!(store.run(run).unwrap().tags, ["by hand"]);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (_directory, path, run) = sample::database();
    let store = Store::open(&path).unwrap();
    let longest = "\u{e9}".repeat(MOST_NOTE_CHARACTERS);
    store.set_note(run, &longest).unwrap();
    let most: Vec<String> = (0..MOST_TAGS).map(|number| format!("{number:050}")).collect();
    store.set_tags(run, &most).unwrap();
    for note in [longest.clone() + "e", "\u{1b}[31mred".into(), "a\rb".into()] {
        let error = store.set_note(run, &note).unwrap_err();
        assert!(matches!(error, StoreError::BadNote { .. }), "{error:?}");
    }
    let mut too_many = most.clone();
    too_many.push("one-more".into());
    for tags in [
        too_many,
        vec!["x".repeat(51)],
        vec![String::new()],
        vec!["two words".into()],
    ] {
        let error = store.set_tags(run, &tags).unwrap_err();
        assert!(matches!(error, StoreError::BadNote { .. }), "{error:?}");
    }
    let kept = store.run(run).unwrap();
    assert_eq!((kept.note, kept.tags), (longest, most));
    for error in [
        store.set_note(RunId(9), "x").unwrap_err(),
        store.set_tags(RunId(9), &[]).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::RunNotFound { .. }), "{error:?}");
    }
}
