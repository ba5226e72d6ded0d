//! The help of every command, checked against the phrases that Weir does not use.

use clap::Command;
use fancy_regex::Regex;

use super::all_commands;

/// Read and not embedded: what is built from elsewhere has no scripts.
const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/banned-phrases.txt");

/// An expression of the list, and what to write instead.
struct Phrase {
    written: String,
    expression: Regex,
    instead: String,
}

/// The list: an expression and its replacement per line, with a tab between them. As in scripts/check_language.sh, case
/// does not matter, a space matches any white space, and only whole words match.
fn phrases() -> Vec<Phrase> {
    std::fs::read_to_string(LIST)
        .expect("the list")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (expression, instead) = line.split_once('\t').expect("an expression and a replacement");
            let spaced = expression.replace(' ', r"\s+");
            Phrase {
                written: expression.to_owned(),
                expression: Regex::new(&format!(r"(?i)(?<![\w-])(?:{spaced})(?![\w-])"))
                    .unwrap_or_else(|error| panic!("{expression}: {error}")),
                instead: instead.to_owned(),
            }
        })
        .collect()
}

/// Every banned phrase of a text, with what to write instead.
fn banned(text: &str, phrases: &[Phrase]) -> Vec<String> {
    let mut found = Vec::new();
    for phrase in phrases {
        for hit in phrase.expression.find_iter(text) {
            let hit = hit.expect("an expression that ends").as_str();
            let hit: Vec<&str> = hit.split_whitespace().collect();
            found.push(format!("'{}': write {}", hit.join(" "), phrase.instead));
        }
    }
    found
}

/// Short and long help, and the texts of options and values that neither of them shows.
fn help(command: &mut Command) -> String {
    let mut text = format!("{}\n\n{}", command.render_help(), command.render_long_help());
    for arg in command.get_arguments() {
        for help in [arg.get_help(), arg.get_long_help()].into_iter().flatten() {
            text.push_str(&format!("\n\n{help}"));
        }
        for value in arg.get_possible_values() {
            if let Some(help) = value.get_help() {
                text.push_str(&format!("\n\n{help}"));
            }
        }
    }
    text
}

#[test]
fn no_help_has_a_banned_phrase() {
    let phrases = phrases();
    let mut found = Vec::new();
    for mut command in all_commands() {
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
        let mut hits = banned(&help(&mut command), &phrases);
        hits.sort();
        hits.dedup();
        found.extend(hits.iter().map(|hit| format!("{name}: {hit}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn phrases_are_found_across_lines_and_in_hidden_options() {
    let phrases = phrases();
    assert!(phrases.len() > 20, "{} phrases", phrases.len());
    let plain = phrases.iter().find(|phrase| {
        let mut bytes = phrase.written.bytes();
        phrase.written.contains(' ') && bytes.all(|byte| byte == b' ' || byte.is_ascii_lowercase())
    });
    let Phrase {
        written: plain,
        instead,
        ..
    } = plain.expect("an expression of plain words");
    let spread = plain.to_uppercase().replacen(' ', "\n          ", 1);
    let found = format!("'{}': write {instead}", plain.to_uppercase());
    assert!(banned(&spread, &phrases).contains(&found), "{spread}");
    let option = clap::Arg::new("seed").long("seed").hide(true).help(plain.clone());
    let mut command = Command::new("weir").arg(option);
    assert!(!banned(&help(&mut command), &phrases).is_empty());
    assert_eq!(banned("Random seed", &phrases), Vec::<String>::new());
}
