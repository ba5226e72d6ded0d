//! `docs/link-profiles.md` against the reader: its examples are valid links, its messages are the actual ones, and it
//! has every key.

use std::path::Path;

use weir_link::profile::parse;
use weir_link::{Profile, RateSpec, profiles};

const PAGE: &str = include_str!("../../../../../docs/link-profiles.md");

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let begins = PAGE.match_indices(&fence).map(|(at, _)| at + fence.len());
    begins
        .map(|at| PAGE[at..].split("```").next().expect("a block"))
        .collect()
}

#[test]
fn its_examples_are_links() {
    let examples = blocks("toml");
    assert!(examples.len() >= 3);
    for text in examples {
        let profile = Profile::from_text(text, "example", Path::new(".")).expect(text);
        let spec = profile.spec_with(&mut |_, _| Ok(RateSpec::Fixed(1_000_000)));
        spec.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn its_messages_are_those_that_are_given() {
    let wrong = [
        "[[forward.route]]\n[[forward.route]]\nloss = \"120%\"",
        "los = \"1%\"",
        "rate = 10",
        "rtt = \"1ms\"\n\nrate = 10Mbit/s",
    ];
    for text in wrong {
        let message = parse(text, "lab.toml", Path::new("."))
            .expect_err(text)
            .to_string();
        assert!(
            PAGE.contains(&format!("{message}\n")),
            "the page lacks: {message}"
        );
    }
}

#[test]
fn it_has_every_key_and_every_profile() {
    // The reader lists its keys when it is given an unknown one.
    for (text, least) in [("zzzzzz = 1", 20), ("[[route]]\nzzzzzz = 1", 10)] {
        let message = parse(text, "x", Path::new(".")).expect_err(text).to_string();
        let keys = message.split("write one of ").nth(1).expect("a list").split(", ");
        let tables = ["route", "forward", "reverse"];
        let keys: Vec<&str> = keys.filter(|key| !tables.contains(key)).collect();
        assert!(keys.len() > least);
        for key in keys {
            assert!(PAGE.contains(&format!("\n| `{key}` | ")), "the page lacks {key}");
        }
    }
    for kind in ["tail-drop", "red", "codel", "pie", "fq-codel", "dualpi2"] {
        assert!(
            PAGE.contains(&format!("\n| `{kind}` | ")),
            "the page lacks {kind}"
        );
        let text = format!("queue = {{ kind = \"{kind}\", zzzzzz = 1 }}");
        let message = parse(&text, "x", Path::new(".")).expect_err(&text).to_string();
        let keys = message.split("write one of ").nth(1).expect("a list").split(", ");
        for key in keys.filter(|key| *key != "kind") {
            // A row may have two keys.
            let rows = [format!("\n| `{key}`"), format!(", `{key}` | ")];
            assert!(
                rows.iter().any(|row| PAGE.contains(row)),
                "the page lacks {key} of {kind}"
            );
        }
    }
    for (name, _) in profiles() {
        assert!(
            PAGE.contains(&format!("\n| `{name}` | ")),
            "the page lacks {name}"
        );
    }
}
