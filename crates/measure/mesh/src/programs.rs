//! Which `weir` a host gets: a static binary for its architecture, found by name. It must not know how the file gets there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why no program was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// A text that is not `MACHINE=FILE`.
    #[error("'{0}' does not name an architecture and a program; write it like aarch64=FILE")]
    Form(String),
    /// A file that is missing.
    #[error("no program {}", .0.display())]
    Missing(PathBuf),
    /// A folder that is missing.
    #[error("no folder {}", .0.display())]
    NoFolder(PathBuf),
    /// A file for another architecture.
    #[error("{} is a program for {found}, not for {wanted}", .file.display())]
    Architecture {
        /// The file.
        file: PathBuf,
        /// What it is for, as `uname -m` names it.
        found: String,
        /// What it should be for.
        wanted: String,
    },
    /// A system that Weir does not run on.
    #[error("it is {0}, and Weir copies programs for Linux only: set the path of a weir that is there")]
    System(String),
    /// No file for this architecture.
    #[error(
        "it is {machine}: put {} into {} (from the release or 'make dist'), or give it as --program {machine}=FILE",
        file_name(.machine), .folder.display()
    )]
    None {
        /// The architecture, as `uname -m` names it.
        machine: String,
        /// Where one was looked for first.
        folder: PathBuf,
    },
}

/// The programs that can be copied to hosts.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    given: BTreeMap<String, PathBuf>,
    /// This program, if it is known: its architecture, its file, and whether it is static.
    own: Option<(String, PathBuf, bool)>,
    folders: Vec<PathBuf>,
}

impl Programs {
    /// Takes `MACHINE=FILE` texts, which go before everything else, and folders in the order in which they are searched.
    ///
    /// # Errors
    /// For a text of another form, a missing file or folder, and a file for another architecture.
    pub fn new(given: &[String], folders: &[&Path]) -> Result<Self, ProgramError> {
        let mut programs = Programs::default();
        for text in given {
            let (machine, file) = text
                .split_once('=')
                .ok_or_else(|| ProgramError::Form(text.clone()))?;
            let machine = named(machine);
            let file = PathBuf::from(file);
            if !file.is_file() {
                return Err(ProgramError::Missing(file));
            }
            programs.given.insert(machine.to_owned(), checked(file, machine)?);
        }
        for folder in folders {
            if !folder.is_dir() {
                return Err(ProgramError::NoFolder(folder.to_path_buf()));
            }
            programs.folders.push(folder.to_path_buf());
        }
        Ok(programs)
    }

    /// Adds this program, and its folder as the last to be searched. `is_static` says that it runs on any Linux.
    #[must_use]
    pub fn with_own(mut self, file: &Path, is_static: bool) -> Self {
        self.folders.extend(file.parent().map(Path::to_path_buf));
        self.own = Some((std::env::consts::ARCH.to_owned(), file.to_owned(), is_static));
        self
    }

    /// The program for a host of which `uname -sm` printed `system`.
    ///
    /// # Errors
    /// When there is none, or the file found is for another architecture.
    pub fn choose(&self, system: &str) -> Result<PathBuf, ProgramError> {
        let (kernel, machine) = system.trim().split_once(' ').unwrap_or((system.trim(), ""));
        if kernel != "Linux" {
            return Err(ProgramError::System(crate::fault::shown(system)));
        }
        let machine = named(machine);
        if let Some(file) = self.given.get(machine) {
            return Ok(file.clone());
        }
        let own = self.own.as_ref().filter(|(own, ..)| own == machine);
        if let Some((_, file, true)) = own {
            return Ok(file.clone());
        }
        // The name goes into a path.
        let is_word = !machine.is_empty() && machine.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(file) = self.in_folders(machine).filter(|_| is_word) {
            return checked(file, machine);
        }
        // It runs where the C library is at least as new as here.
        own.map(|(_, file, _)| file.clone())
            .ok_or_else(|| ProgramError::None {
                machine: crate::fault::shown(machine),
                folder: self.folders.first().cloned().unwrap_or_default(),
            })
    }

    /// A binary as `make dist` names it, or one in the unpacked archive of a release.
    fn in_folders(&self, machine: &str) -> Option<PathBuf> {
        let name = file_name(machine);
        let unpacked = format!(
            "weir-{}-{machine}-unknown-linux-musl/weir",
            env!("CARGO_PKG_VERSION")
        );
        self.folders
            .iter()
            .flat_map(|folder| [folder.join(&name), folder.join(&unpacked)])
            .find(|file| file.is_file())
    }
}

fn file_name(machine: &str) -> String {
    format!("weir-{machine}-unknown-linux-musl")
}

/// One name per architecture: some systems have others.
fn named(machine: &str) -> &str {
    match machine {
        "arm64" => "aarch64",
        "amd64" => "x86_64",
        other => other,
    }
}

fn checked(file: PathBuf, wanted: &str) -> Result<PathBuf, ProgramError> {
    match architecture(&file) {
        Some(found) if found != wanted => Err(ProgramError::Architecture {
            file,
            found: found.to_owned(),
            wanted: wanted.to_owned(),
        }),
        _ => Ok(file),
    }
}

/// The architecture of an ELF file; nothing for scripts, and for architectures that are not listed.
fn architecture(file: &Path) -> Option<&'static str> {
    let mut head = [0; 20];
    fs::File::open(file).ok()?.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    // e_machine, in the byte order that these two have.
    match u16::from_le_bytes([head[18], head[19]]) {
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARM: &str = "weir-aarch64-unknown-linux-musl";
    const HERE: &str = std::env::consts::ARCH;

    fn elf(folder: &Path, name: &str, machine: u16) -> PathBuf {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.resize(18, 0);
        bytes.extend(machine.to_le_bytes());
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, bytes).unwrap();
        file
    }

    #[test]
    fn a_host_gets_the_static_binary_of_its_architecture() {
        let folder = tempfile::tempdir().unwrap();
        let (binaries, beside) = (folder.path().join("binaries"), folder.path().join("beside"));
        fs::create_dir_all(&binaries).unwrap();
        let own = elf(&beside, "weir", 62);
        let local = format!("Linux {HERE}");
        let programs = |is_static| {
            Programs::new(&[], &[&binaries])
                .unwrap()
                .with_own(&own, is_static)
        };
        assert_eq!(programs(true).choose(&local).unwrap(), own);
        assert_eq!(programs(false).choose(&local).unwrap(), own);

        let near = elf(&beside, ARM, 183);
        assert_eq!(programs(true).choose("Linux aarch64").unwrap(), near);
        let unpacked = format!(
            "weir-{}-aarch64-unknown-linux-musl/weir",
            env!("CARGO_PKG_VERSION")
        );
        let first = elf(&binaries, &unpacked, 183);
        assert_eq!(programs(true).choose("Linux arm64").unwrap(), first);

        // A dynamic program gives way to a static one for the same architecture.
        let code = if HERE == "x86_64" { 62 } else { 183 };
        let same = elf(&binaries, &file_name(HERE), code);
        assert_eq!(programs(false).choose(&local).unwrap(), same);
        assert_eq!(programs(true).choose(&local).unwrap(), own);

        let given = elf(folder.path(), "mine", 183);
        let text = format!("arm64={}", given.display());
        let programs = Programs::new(&[text], &[&binaries]).unwrap();
        assert_eq!(programs.choose("Linux aarch64").unwrap(), given);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let own = elf(folder.path(), "weir", 62);
        let programs = Programs::new(&[], &[]).unwrap().with_own(&own, true);
        let fault = |system: &str| programs.choose(system).unwrap_err().to_string();
        assert_eq!(
            fault("Linux riscv64"),
            format!(
                "it is riscv64: put weir-riscv64-unknown-linux-musl into {} (from the release or 'make dist'), \
                 or give it as --program riscv64=FILE",
                folder.path().display()
            )
        );
        assert!(fault("Darwin arm64").contains("Linux only"));
        assert!(matches!(programs.choose(""), Err(ProgramError::System(_))));
        assert!(matches!(
            programs.choose("Linux ../../etc"),
            Err(ProgramError::None { .. })
        ));

        elf(folder.path(), ARM, 62);
        assert!(fault("Linux aarch64").ends_with("is a program for x86_64, not for aarch64"));
        let refused = |text: String| Programs::new(&[text], &[]).unwrap_err();
        assert!(matches!(
            refused(format!("aarch64={}", own.display())),
            ProgramError::Architecture { .. }
        ));
        assert!(matches!(refused("aarch64".into()), ProgramError::Form(_)));
        assert!(matches!(
            refused("aarch64=nowhere".into()),
            ProgramError::Missing(_)
        ));
        assert!(matches!(
            Programs::new(&[], &[Path::new("nowhere")]),
            Err(ProgramError::NoFolder(_))
        ));
    }
}
