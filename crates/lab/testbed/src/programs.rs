//! Programs of functions, and whether this host has them. It must not know how a task is started.

use std::ffi::OsString;
use std::path::Path;

use crate::error::TestbedError;
use crate::function::fill;
use crate::workflow::Workflow;

/// Where programs are looked for. Debian keeps nginx out of the PATH of ordinary users.
pub(crate) fn path_with_sbin() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/local/sbin:/usr/sbin:/sbin");
    path
}

/// Whether the program is a file, or in one of the folders of `path`.
fn is_here(program: &str, path: &OsString) -> bool {
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => std::env::split_paths(path).any(|folder| folder.join(program).is_file()),
    }
}

impl Workflow {
    /// Refuses functions whose programs this host does not have, of the tasks that are placed on `host`.
    ///
    /// # Errors
    /// The first one, in a line that says how it is installed.
    pub fn programs_are_here(&self, host: Option<&str>) -> Result<(), TestbedError> {
        let path = path_with_sbin();
        for task in self.tasks_on(host).map(|index| &self.tasks[index]) {
            for program in &task.function.programs {
                let name = fill(&program.name, &task.parameters);
                if !is_here(&name, &path) {
                    let problem = format!(
                        "'{name}' is not installed on this host; install it with {}",
                        program.install
                    );
                    return Err(TestbedError::task(&task.name, "command", problem));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let path = OsString::from("/nowhere:/bin:/usr/bin");
        assert!(is_here("sh", &path) && is_here("/bin/sh", &path));
        assert!(!is_here("no-such-program", &path) && !is_here("/nowhere/sh", &path));
    }
}
