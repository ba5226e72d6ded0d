//! What runs on hosts: short scripts for any POSIX shell. They know a folder, not how they get there.

use crate::estimate::{SURVEY_FLOWS, SURVEY_STEP_NS, TestShape};

/// A word in single quotes, for a POSIX shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Ends the agent in a folder, if there is one, and waits until it is gone, but not for ever.
fn end_agent(folder: &str) -> String {
    format!(
        "if [ -s {folder}/pid ]; then pid=$(cat {folder}/pid); kill $pid 2>/dev/null; \
         n=0; while kill -0 $pid 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; fi"
    )
}

/// Makes the folder anew and says what the host is.
pub(super) fn look(folder: &str) -> String {
    let folder = quoted(folder);
    let end = end_agent(&folder);
    format!(
        "umask 077; {end}; rm -rf {folder}; mkdir {folder} || {{ echo 'fault: folder'; exit 1; }}; \
         echo \"system: $(uname -sm)\"; \
         for name in tcp_rmem tcp_wmem; do echo \"$name: $(cat /proc/sys/net/ipv4/$name 2>/dev/null)\"; done; \
         echo \"clock: $(date +%s)\""
    )
}

/// Takes the program from standard input.
pub(super) fn take_program(folder: &str) -> String {
    let folder = quoted(folder);
    format!("umask 077; cat > {folder}/weir && chmod 700 {folder}/weir")
}

/// Takes the token from standard input, starts the agent with a deadline, waits until it listens, and prints its first line.
pub(super) fn start_agent(folder: &str, weir: &str, port: u16, life_s: u64) -> String {
    let (folder, weir) = (quoted(folder), quoted(weir));
    format!(
        "umask 077; cd {folder} || exit 1; cat > token; \
         nohup timeout {life_s} {weir} agent --token-file token --port {port} --json --quiet \
         > agent.json 2> agent.err < /dev/null & echo $! > pid; \
         n=0; while [ ! -s agent.json ] && kill -0 $! 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done; \
         if [ ! -s agent.json ]; then echo 'fault: agent'; cat agent.err >&2; exit 1; fi; cat agent.json"
    )
}

/// Makes a test from here.
pub(super) fn probe(folder: &str, weir: &str, address: &str, shape: &TestShape) -> String {
    let (folder, weir, address) = (quoted(folder), quoted(weir), quoted(address));
    let TestShape {
        rtt_ns,
        tcp_ns,
        streams,
        udp_ns,
        udp_bps,
        max_bytes,
        survey: _,
        window_bytes,
    } = shape;
    let window = window_bytes.map_or(String::new(), |bytes| format!(" --window {bytes}B"));
    format!(
        "cd {folder} || exit 1; {weir} mesh probe {address} --token-file token --json --quiet --rtt-for {rtt_ns}ns \
         --tcp-for {tcp_ns}ns --streams {streams} --udp-for {udp_ns}ns --udp-rate {udp_bps}bit/s --max-bytes {max_bytes}B{window}"
    )
}

/// Makes a survey from here and prints its database.
pub(super) fn survey(folder: &str, weir: &str, address: &str, shape: &TestShape) -> String {
    let (folder, weir, address) = (quoted(folder), quoted(weir), quoted(address));
    let TestShape {
        udp_bps, max_bytes, ..
    } = shape;
    format!(
        "umask 077; cd {folder} || exit 1; rm -f survey.db*; {weir} survey {address} --token-file token --db survey.db \
         --json --quiet --rate {udp_bps}bit/s --step {SURVEY_STEP_NS}ns --max-flows {SURVEY_FLOWS} --max-bytes {max_bytes}B \
         > /dev/null && cat survey.db && rm -f survey.db*"
    )
}

/// Ends the agent and removes the folder.
pub(super) fn clean(folder: &str) -> String {
    let folder = quoted(folder);
    format!("{}; rm -rf {folder}", end_agent(&folder))
}

/// Waits for cloud-init, where there is one: what it could not do will be missed where it is needed.
pub(super) const SETTLE: &str = "cloud-init status --wait > /dev/null 2>&1; true";

/// The same as [`clean`] for every folder of the user's, and says which.
pub(super) const SWEEP: &str = "for folder in /tmp/weir-mesh-*; do \
     if [ -d \"$folder\" ] && [ -O \"$folder\" ]; then \
     if [ -s \"$folder/pid\" ]; then kill \"$(cat \"$folder/pid\")\" 2>/dev/null; fi; \
     rm -rf \"$folder\" && echo \"$folder\"; fi; done; true";

/// Takes an archive from standard input, and unpacks it into a folder below.
pub(super) fn unpack(folder: &str, into: &str) -> String {
    let (folder, into) = (quoted(folder), quoted(into));
    // A folder that was removed meanwhile is not created again.
    format!("umask 077; cd {folder} && mkdir -p {into} && tar -C {into} -xf -")
}

/// Words of a command line.
fn command(program: &str, arguments: &[&str]) -> String {
    let words = [program].into_iter().chain(arguments.iter().copied());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Runs a part of a testbed in its folder, whose process is known by `pid`, and removes the folder if it leaves nothing.
pub(super) fn part(folder: &str, weir: &str, arguments: &[&str]) -> String {
    // A shell that becomes the program has the same process, and the standard input that a background job would not have.
    let run = quoted(&format!("echo $$ > pid; exec {}", command(weir, arguments)));
    let folder = quoted(folder);
    format!(
        "umask 077; cd {folder} || exit 1; sh -c {run}; status=$?; cd /; [ $status -ne 0 ] || rm -rf {folder}; exit $status"
    )
}

/// Ends parts by their identifiers, and removes their folders and those of parts that run no more. A part is known by its process,
/// whose working directory is its folder, so that a number that was reused is nobody's. A folder without a process may be one that
/// a run has just made; and a call of a runner that was killed may arrive late, so that its parts are looked for twice. A part that
/// is ended may remove its folder itself. On hosts that share a file system, two calls may find one part: each tries again while the
/// other one is at it, for some 20 s, and of one that had ended, the call whose `rmdir` succeeds says it.
pub(super) fn end_parts(
    prefix: &str,
    ids: &[String],
    all: bool,
    weir: Option<&str>,
    clean: &[&str],
) -> String {
    // A blank before each, and one at the end.
    let ids = quoted(
        &ids.iter()
            .map(|id| format!(" {id}"))
            .chain([" ".to_owned()])
            .collect::<String>(),
    );
    let all = u8::from(all);
    let weir = weir.map_or("\"$folder/weir\"".to_owned(), quoted);
    let clean: Vec<String> = clean.iter().map(|word| quoted(word)).collect();
    let clean = clean.join(" ");
    format!(
        "ids={ids}; alive() {{ [ -n \"$pid\" ] && [ \"/proc/$pid/cwd\" -ef \"$folder\" ]; }}; \
         gone() {{ n=0; while alive && [ $n -lt $1 ]; do sleep 0.1; n=$((n+1)); done; ! alive; }}; \
         sweep() {{ for folder in {prefix}*; do \
         [ -d \"$folder\" ] && [ ! -L \"$folder\" ] && [ -O \"$folder\" ] || continue; \
         pid=$(cat \"$folder/pid\" 2>/dev/null); named={all}; ended=0; \
         case \"$ids\" in *\" ${{folder#{prefix}}} \"*) named=1;; esac; \
         if alive; then [ $named = 1 ] || continue; ended=1; \
         kill \"$pid\" 2>/dev/null; gone 300 || {{ kill -9 \"$pid\" 2>/dev/null; gone 50; }}; \
         elif [ -z \"$pid\" ] && [ $named = 0 ] && [ -z \"$(find \"$folder\" -maxdepth 0 -mmin +10)\" ]; then continue; fi; \
         tries=0; mine=0; while [ -d \"$folder\" ] && [ $tries -lt 20 ]; do \
         [ $tries -eq 0 ] || sleep 1; tries=$((tries+1)); \
         [ ! -d \"$folder/testbed\" ] || (cd \"$folder\" && {weir} {clean} >&2) || continue; \
         find \"$folder\" -mindepth 1 -delete 2>/dev/null; ! rmdir \"$folder\" 2>/dev/null || mine=1; done; \
         if [ -d \"$folder\" ]; then echo \"left: $folder\"; elif [ $mine$ended != 00 ]; then echo \"$folder\"; fi; done; }}; \
         sweep; [ -z \"${{ids# }}\" ] || {{ sleep 2; sweep; }}; true"
    )
}
