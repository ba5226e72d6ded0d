//! Workflows with mistakes made at random, in each form: none panics the readers, a refusal is a short line, and a document that is
//! accepted is the same when it is read from its JSON again.

use std::fs;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use weir_testbed::{Document, Workflow};

use crate::{read, shipped};

/// Mutants of each workflow in each form.
const MUTANTS: usize = 60;
/// Bytes of a refusal: what a file says, cut at 600 characters, and the path.
const LONGEST: usize = 2_600;
/// What mutations put in place of a part.
const PARTS: [&str; 16] = [
    "", "\0", "-1", "1e999", "\"", "[", "{}", "null", "true", "..", "\u{202e}", "name", "weir.", "0x", "- ",
    "\n",
];

/// The text with up to four mistakes: a part is doubled, taken away or replaced.
fn mutated(text: &str, draws: &mut Xoshiro256PlusPlus) -> String {
    let mut text: Vec<char> = text.chars().collect();
    let mut below = |end: usize| (draws.next_u64() % (end as u64).max(1)) as usize;
    for _ in 0..=below(4) {
        let from = below(text.len());
        let until = (from + below(40)).min(text.len());
        let part: Vec<char> = match below(3) {
            0 => text[from..until].repeat(2),
            1 => Vec::new(),
            _ => PARTS[below(PARTS.len())].chars().collect(),
        };
        text.splice(from..until, part);
    }
    text.into_iter().collect()
}

#[test]
fn no_mistake_panics_the_readers_and_each_is_refused_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(25);
    let (mut accepted, mut refused) = (0, 0);
    for path in shipped() {
        let toml = fs::read_to_string(&path).expect("a workflow");
        let json = serde_json::to_string_pretty(&read(&path).expect("a workflow").0).expect("JSON");
        for (name, text) in [("w.toml", &toml), ("w.json", &json), ("w.yaml", &json)] {
            for _ in 0..MUTANTS {
                let mutant = mutated(text, &mut draws);
                let written = folder.path().join(name);
                fs::write(&written, &mutant).expect("a file");
                match weir_testbed::read(&written, &[]) {
                    Ok((document, functions)) => {
                        accepted += 1;
                        let json = serde_json::to_string(&document).expect("JSON");
                        let again: Document = serde_json::from_str(&json).expect("its own JSON");
                        assert_eq!(again, document, "{mutant}");
                        if let Err(error) = Workflow::of(&document, &functions, folder.path()) {
                            in_a_line(&error.to_string());
                        }
                    }
                    Err(error) => {
                        refused += 1;
                        in_a_line(&error.to_string());
                    }
                }
            }
        }
    }
    // Mistakes of both kinds are made.
    assert!(accepted > 50 && refused > 50, "{accepted} {refused}");
}

#[track_caller]
fn in_a_line(refusal: &str) {
    assert!(!refusal.chars().any(char::is_control), "{refusal}");
    assert!(refusal.len() < LONGEST, "{refusal}");
}
