//! An Ansible inventory: groups, their children and variables, and which of them a host has in the end. It knows the
//! rules of precedence, not how a file is written.
//!
//! After "How variables are merged" in Ansible's documentation: variables of `all`, then of groups by their depth,
//! parents first, groups of one depth by `ansible_group_priority` and name, then those of the host; the last one
//! counts.

use std::collections::{BTreeMap, BTreeSet};

use super::{MOST_HOSTS, Named, Variables, host_name};
use crate::fault::shown;

/// Most groups.
const MOST_GROUPS: usize = 10_000;
/// The group that every host is in.
const ALL: &str = "all";

#[derive(Debug, Default)]
struct Group {
    hosts: BTreeSet<String>,
    children: BTreeSet<String>,
    variables: Variables,
}

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    groups: BTreeMap<String, Group>,
    hosts: BTreeMap<String, Variables>,
    /// Names in the order of the file.
    order: Vec<String>,
}

impl Inventory {
    /// A group, made where it is not known.
    fn group(&mut self, name: &str) -> Result<&mut Group, String> {
        if name.is_empty() || name.len() > 255 || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(format!("'{}' is not a group name", shown(name)));
        }
        if self.groups.len() == MOST_GROUPS && !self.groups.contains_key(name) {
            return Err(format!("it has more than {MOST_GROUPS} groups"));
        }
        Ok(self.groups.entry(name.to_owned()).or_default())
    }

    /// Enters that there is such a group.
    pub(super) fn add_group(&mut self, name: &str) -> Result<(), String> {
        self.group(name).map(drop)
    }

    /// Puts a host, known or new, into a group.
    pub(super) fn add_host(&mut self, group: &str, host: &str) -> Result<(), String> {
        host_name(host)?;
        if !self.hosts.contains_key(host) {
            if self.hosts.len() == MOST_HOSTS {
                return Err(format!("it has more than {MOST_HOSTS} hosts"));
            }
            self.hosts.insert(host.to_owned(), Variables::new());
            self.order.push(host.to_owned());
        }
        self.group(group)?.hosts.insert(host.to_owned());
        Ok(())
    }

    pub(super) fn add_child(&mut self, group: &str, child: &str) -> Result<(), String> {
        self.group(child)?;
        self.group(group)?.children.insert(child.to_owned());
        Ok(())
    }

    pub(super) fn set_of_group(&mut self, group: &str, key: &str, value: &str) -> Result<(), String> {
        self.group(group)?
            .variables
            .insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    pub(super) fn set_of_host(&mut self, host: &str, key: &str, value: &str) {
        if let Some(variables) = self.hosts.get_mut(host) {
            variables.insert(key.to_owned(), value.to_owned());
        }
    }

    /// All hosts with what they have in the end.
    pub(super) fn hosts(&self) -> Result<Vec<Named>, String> {
        let depths = self.depths()?;
        let parents = self.parents();
        let mut of_host: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, group) in &self.groups {
            for host in &group.hosts {
                of_host.entry(host).or_default().insert(name);
            }
        }
        let hosts = self.order.iter().map(|host| {
            let direct = of_host.get(host.as_str()).cloned().unwrap_or_default();
            let mut groups = ancestors(direct, &parents);
            groups.insert(ALL);
            self.named(host, groups, &depths)
        });
        Ok(hosts.collect())
    }

    fn named(&self, host: &str, groups: BTreeSet<&str>, depths: &BTreeMap<&str, usize>) -> Named {
        let priority = |name: &str| {
            let text = self.groups.get(name)?.variables.get("ansible_group_priority")?;
            text.parse::<i64>().ok()
        };
        let mut order: Vec<&str> = groups.iter().copied().filter(|name| *name != ALL).collect();
        order.sort_by_key(|name| (depths.get(name).copied(), priority(name).unwrap_or(1), *name));
        order.insert(0, ALL);
        let mut variables = Variables::new();
        let own = self.hosts.get(host);
        let of_groups = order
            .iter()
            .filter_map(|name| Some(&self.groups.get(*name)?.variables));
        for more in of_groups.chain(own) {
            variables.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Named {
            name: host.to_owned(),
            variables,
            groups: groups.into_iter().map(str::to_owned).collect(),
        }
    }

    fn parents(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut parents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, group) in &self.groups {
            for child in &group.children {
                parents.entry(child).or_default().push(name);
            }
        }
        parents
    }

    /// How deep each group lies below `all`, by its longest way; an error for a group that is below itself.
    fn depths(&self) -> Result<BTreeMap<&str, usize>, String> {
        // Groups are taken once all their parents have been, as in a topological sort.
        let mut waiting: BTreeMap<&str, usize> = self.groups.keys().map(|name| (name.as_str(), 0)).collect();
        for child in self.groups.values().flat_map(|group| &group.children) {
            *waiting.entry(child).or_default() += 1;
        }
        let mut depths: BTreeMap<&str, usize> = waiting
            .keys()
            .map(|name| (*name, usize::from(*name != ALL)))
            .collect();
        let mut ready: Vec<&str> = waiting
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(name, _)| *name)
            .collect();
        let mut taken = 0;
        while let Some(name) = ready.pop() {
            taken += 1;
            let depth = depths.get(name).copied().unwrap_or(1);
            for child in self
                .groups
                .get(name)
                .into_iter()
                .flat_map(|group| &group.children)
            {
                let deeper = depths.entry(child).or_default();
                *deeper = (*deeper).max(depth + 1);
                if let Some(count) = waiting.get_mut(child.as_str()) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(child);
                    }
                }
            }
        }
        if taken < waiting.len() {
            let stuck = waiting
                .iter()
                .find(|(_, count)| **count > 0)
                .map_or("", |(name, _)| *name);
            return Err(format!("the group {} contains itself", shown(stuck)));
        }
        Ok(depths)
    }
}

/// These groups and all above them.
fn ancestors<'n>(direct: BTreeSet<&'n str>, parents: &BTreeMap<&'n str, Vec<&'n str>>) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = direct.into_iter().collect();
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(parents.get(name).into_iter().flatten());
        }
    }
    found
}
