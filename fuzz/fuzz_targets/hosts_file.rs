//! Hosts files: no text may panic the reader, in any of its three forms; what it refuses it refuses in one short line, and
//! accepted files have hosts whose names and addresses can stand on a command line.
//!
//! Input: a byte that chooses the name of the file, and with it the form, then the file.

use crate::checks::in_a_line;
use weir_mesh::hosts::{MOST_HOSTS, read_hosts};
use weir_mesh::place::Places;

pub fn run(input: &[u8]) {
    let Some((form, file)) = input.split_first() else {
        return;
    };
    let name = ["hosts.yaml", "hosts.ini", "hosts"][usize::from(form % 3)];
    match read_hosts(name, file, Places::known()) {
        Ok(hosts) => {
            assert!((1..=MOST_HOSTS).contains(&hosts.len()));
            for host in hosts {
                for word in [&host.name, &host.ssh_address, &host.test_address] {
                    assert!(!word.is_empty() && !word.starts_with('-'), "{word}");
                    assert!(
                        !word
                            .chars()
                            .any(|c| c.is_control() || c.is_whitespace() || c == '\''),
                        "{word}"
                    );
                }
                assert!(host.ssh_port != Some(0) && host.agent_port != 0);
            }
        }
        Err(error) => in_a_line(error, 2500),
    }
}
