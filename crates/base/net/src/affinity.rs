//! CPU affinity of a thread. Threads and processes that it starts inherit it.

use std::io;

use crate::calls::result;

/// Maximum number of cores in a CPU set of the usual size.
const MOST_CORES: usize = libc::CPU_SETSIZE as usize;

/// Cores on which the calling thread may run, in ascending order, counted from 0.
///
/// # Errors
/// As `sched_getaffinity(2)`.
pub fn cores() -> io::Result<Vec<usize>> {
    // SAFETY: a set of bits, for which all zeros is a value; the kernel writes at most its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        result(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set))?;
        set
    };
    // SAFETY: the number is below the bits of the set.
    Ok((0..MOST_CORES)
        .filter(|core| unsafe { libc::CPU_ISSET(*core, &set) })
        .collect())
}

/// Restricts the calling thread, and all that it starts from now on, to these cores.
///
/// # Errors
/// When there is none of them, or as `sched_setaffinity(2)`.
pub fn run_on(cores: &[usize]) -> io::Result<()> {
    if cores.iter().any(|core| *core >= MOST_CORES) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: a set of bits, for which all zeros is a value; each number is below its bits.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for core in cores {
            libc::CPU_SET(*core, &mut set);
        }
        result(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_and_its_children_run_where_they_are_told() {
        let all = cores().unwrap();
        let last = *all.last().unwrap();
        let told = std::thread::spawn(move || {
            run_on(&[last]).unwrap();
            let output = std::process::Command::new("nproc").output().unwrap();
            (cores().unwrap(), String::from_utf8(output.stdout).unwrap())
        });
        assert_eq!(told.join().unwrap(), (vec![last], "1\n".to_owned()));
        // Other threads are not affected.
        assert_eq!(cores().unwrap(), all);
        assert!(run_on(&[]).is_err());
        assert!(run_on(&[MOST_CORES]).is_err());
    }
}
