//! Which cores tasks run on. It must not know how a task is started.

use std::collections::BTreeMap;

use crate::workflow::Workflow;

/// Cores of the tasks of a host, and of what joins them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Cores that tasks have for themselves, counted from 0.
    own: BTreeMap<usize, Vec<usize>>,
    /// Cores that the others share, and the runner with its links.
    pub(crate) shared: Vec<usize>,
}

impl Places {
    /// Cores of a task.
    pub(crate) fn of(&self, task: usize) -> &[usize] {
        self.own.get(&task).unwrap_or(&self.shared)
    }
}

/// Gives those of `tasks` with `vcpu` cores of their own, from the last on, and all others those that are left. The workflow must
/// fit ([`Workflow::fits`]).
pub(crate) fn place(workflow: &Workflow, tasks: &[usize], available: &[usize]) -> Places {
    let mut left = available.to_vec();
    let mut own = BTreeMap::new();
    for task in tasks {
        let wanted = workflow.tasks[*task].vcpu.unwrap_or(0).min(left.len());
        if wanted > 0 {
            own.insert(*task, left.split_off(left.len() - wanted));
        }
    }
    // Where every core is a task's own, the runner has to be somewhere.
    let shared = if left.is_empty() { available.to_vec() } else { left };
    Places { own, shared }
}
