//! Ansible's inventory in INI: sections `[group]` of hosts with variables, `[group:vars]` and `[group:children]`,
//! ranges of hosts such as `www[01:50].example.com`.

use super::inventory::Inventory;
use super::{MOST_HOSTS, words};
use crate::fault::shown;

enum Section {
    Hosts(String),
    Variables(String),
    Children(String),
}

pub(super) fn read(text: &str) -> Result<Inventory, String> {
    let mut inventory = Inventory::default();
    let mut section = Section::Hosts("ungrouped".into());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let read = match (section_of(line), &section) {
            (Some(Ok(next)), _) => enter(&mut inventory, &next).map(|()| section = next),
            (Some(Err(problem)), _) => Err(problem),
            (None, Section::Hosts(group)) => host_line(&mut inventory, group, line),
            (None, Section::Variables(group)) => variable_line(&mut inventory, group, line),
            (None, Section::Children(group)) => inventory.add_child(group, without_comment(line)),
        };
        read.map_err(|problem| format!("line {}: {problem}", index + 1))?;
    }
    Ok(inventory)
}

fn enter(inventory: &mut Inventory, section: &Section) -> Result<(), String> {
    match section {
        Section::Hosts(group) | Section::Variables(group) | Section::Children(group) => {
            inventory.add_group(group)
        }
    }
}

/// The section that a line begins; none if it begins none.
fn section_of(line: &str) -> Option<Result<Section, String>> {
    let inner = without_comment(line.strip_prefix('[')?).strip_suffix(']')?;
    // `[a:b]host` is a range and no section, but has no place at the beginning of a host's name.
    Some(match inner.split_once(':') {
        None => Ok(Section::Hosts(inner.to_owned())),
        Some((group, "vars")) => Ok(Section::Variables(group.to_owned())),
        Some((group, "children")) => Ok(Section::Children(group.to_owned())),
        Some((_, other)) => Err(format!(
            "unknown section ':{}'; use [GROUP], [GROUP:vars] or [GROUP:children]",
            shown(other)
        )),
    })
}

fn without_comment(line: &str) -> &str {
    line.find(" #").map_or(line, |at| &line[..at]).trim()
}

/// `NAME KEY=VALUE ...`; a value in quotes may have spaces.
fn host_line(inventory: &mut Inventory, group: &str, line: &str) -> Result<(), String> {
    let mut parts = words(line)?;
    if let Some(comment) = parts.iter().position(|part| part.starts_with('#')) {
        parts.truncate(comment);
    }
    let Some((name, variables)) = parts.split_first() else {
        return Ok(());
    };
    let (name, port) = with_port(name);
    for host in expand(name)? {
        inventory.add_host(group, &host)?;
        if let Some(port) = port {
            inventory.set_of_host(&host, "ansible_port", port);
        }
        for variable in variables {
            let (key, value) = variable
                .split_once('=')
                .ok_or_else(|| format!("'{}' is not KEY=VALUE", shown(variable)))?;
            inventory.set_of_host(&host, key.trim(), value.trim());
        }
    }
    Ok(())
}

/// `KEY = VALUE`; the value is the rest of the line, quotes around it taken off.
fn variable_line(inventory: &mut Inventory, group: &str, line: &str) -> Result<(), String> {
    let (key, value) = line
        .split_once('=')
        .ok_or_else(|| format!("'{}' is not KEY=VALUE", shown(line)))?;
    let value = without_comment(value);
    let unquoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    });
    inventory.set_of_group(group, key.trim(), unquoted.unwrap_or(value))
}

/// `NAME:PORT`, where the name is no IPv6 address and the colon in no range.
fn with_port(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((host, port))
            if !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, Some(port))
        }
        _ => (name, None),
    }
}

/// The names that a pattern with ranges `[FIRST:LAST]` or `[FIRST:LAST:STEP]` of numbers or letters stands for.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let Some(open) = pattern.find('[') else {
        return Ok(vec![pattern.to_owned()]);
    };
    let close = open + pattern[open..].find(']').ok_or("a range '[' is not closed")?;
    let (before, range, after) = (&pattern[..open], &pattern[open + 1..close], &pattern[close + 1..]);
    let items = items_of(range)?;
    let rest = expand(after)?;
    if items.len().saturating_mul(rest.len()) > MOST_HOSTS {
        return Err(format!("the range has more than {MOST_HOSTS} hosts"));
    }
    let names = items
        .iter()
        .flat_map(|item| rest.iter().map(move |rest| format!("{before}{item}{rest}")));
    Ok(names.collect())
}

fn items_of(range: &str) -> Result<Vec<String>, String> {
    let bad = || {
        format!(
            "'[{}]' is not a range: write [1:9], [01:09], [a:f] or [0:100:10]",
            shown(range)
        )
    };
    let parts: Vec<&str> = range.split(':').collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step.parse::<usize>().map_err(|_| bad())?),
        _ => return Err(bad()),
    };
    let first = if first.is_empty() { "0" } else { first };
    let letters = |text: &str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let digits = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if step == 0 {
        return Err(bad());
    }
    if letters(first) && letters(last) && first <= last {
        let range = first.as_bytes()[0]..=last.as_bytes()[0];
        return Ok(range
            .step_by(step)
            .map(|letter| char::from(letter).to_string())
            .collect());
    }
    if !digits(first) || !digits(last) {
        return Err(bad());
    }
    let (from, to): (usize, usize) = (
        first.parse().map_err(|_| bad())?,
        last.parse().map_err(|_| bad())?,
    );
    if from > to || (to - from) / step >= MOST_HOSTS {
        return Err(bad());
    }
    // A zero in front asks for names of one length.
    let width = if first.starts_with('0') && first.len() > 1 {
        first.len()
    } else {
        1
    };
    Ok((from..=to)
        .step_by(step)
        .map(|number| format!("{number:0width$}"))
        .collect())
}
