//! Which cores tasks run on. It must not know how a task is started.

use crate::workflow::Workflow;

/// Cores of each task, in the order of the workflow, and of the runner with its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Cores of each task, counted from 0.
    pub(crate) tasks: Vec<Vec<usize>>,
    /// Cores that the others share, and the runner.
    pub(crate) shared: Vec<usize>,
}

/// Gives tasks with `vcpu` cores of their own, from the last on, and all others those that are left. The workflow must fit
/// ([`Workflow::fits`]).
pub(crate) fn place(workflow: &Workflow, available: &[usize]) -> Places {
    let mut left = available.to_vec();
    let mut own = Vec::new();
    for task in &workflow.tasks {
        let wanted = task.vcpu.unwrap_or(0).min(left.len());
        own.push(left.split_off(left.len() - wanted));
    }
    // Where every core is a task's own, the runner has to be somewhere.
    let shared = if left.is_empty() { available.to_vec() } else { left };
    let tasks = own
        .into_iter()
        .map(|own| if own.is_empty() { shared.clone() } else { own });
    Places {
        tasks: tasks.collect(),
        shared: shared.clone(),
    }
}
