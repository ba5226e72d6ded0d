//! Output of engines, clouds and the user's programs about launched machines, and records of launches: nothing may panic
//! the readers, accepted values can stand on a command line and in a hosts file, and a refusal is one line.
//!
//! Input: a byte that chooses the parser, then the text.

use std::path::Path;

use weir_mesh::cloud::Launch;
use weir_mesh::cloud::hosts::{Files, hosts_file, read_output};
use weir_mesh::cloud::leftovers::{
    Associations, Leftover, aws_removals, read_associations, read_aws, read_names, read_own,
};
use weir_mesh::cloud::record::Record;
use weir_mesh::cloud::verdict::judge;
use weir_mesh::hosts::read_hosts;
use weir_mesh::place::{PlaceName, Places};

fn check_leftovers(leftovers: &[Leftover], associations: &Associations) {
    for removal in aws_removals("eu-west-1", leftovers, associations) {
        for word in removal.commands.iter().flatten() {
            assert!(
                !word.is_empty() && !word.chars().any(|c| c.is_control() || c.is_whitespace()),
                "{word}"
            );
        }
        assert!(!removal.leftover.id.starts_with('-'));
    }
}

fn check_hosts(text: &[u8]) {
    let names = ["a".to_owned()];
    let Ok(outputs) = read_output(text, &names) else {
        return;
    };
    let place = PlaceName::new("aws", "eu-west-1");
    let with_place = |host| (place.clone(), host);
    let hosts: Vec<_> = outputs.hosts.into_iter().map(with_place).collect();
    let files = Files {
        key: Path::new("/key"),
        known_hosts: Path::new("/known"),
    };
    let file = hosts_file(&Launch::default(), &hosts, files);
    // The parser may refuse the output of a host's own program, but sees one host and no other key.
    if let Ok(read) = read_hosts("hosts.yaml", file.as_bytes(), Places::known()) {
        assert_eq!(read.len(), 1, "{file}");
        assert_eq!(read[0].ssh_key.as_deref(), Some("/key"));
    }
}

pub fn run(input: &[u8]) {
    let Some((form, text)) = input.split_first() else {
        return;
    };
    match form % 5 {
        0 => check_hosts(text),
        1 => {
            // All answers in one.
            if let Ok(found) = read_aws(text, b"[\"i-1\"]") {
                check_leftovers(&found, &read_associations(text).unwrap_or_default());
            }
            let _ = read_names(text);
        }
        2 => check_leftovers(&read_own(&String::from_utf8_lossy(text)), &Associations::new()),
        3 => {
            if let Ok(record) = Record::read("launch.json", text) {
                for place in &record.places {
                    let folder = place.folder();
                    assert!(!folder.contains('/') && !folder.starts_with('.'), "{folder}");
                }
                assert!(Record::read("launch.json", record.text().as_bytes()).is_ok());
            }
        }
        _ => {
            let failure = judge(&String::from_utf8_lossy(text), "aws");
            assert!(
                !failure.message.contains('\n') && failure.message.len() < 2500,
                "{failure}"
            );
        }
    }
}
