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

/// The same for every folder of the user's, and says which.
pub(super) const SWEEP: &str = "for folder in /tmp/weir-mesh-*; do \
     if [ -d \"$folder\" ] && [ -O \"$folder\" ]; then \
     if [ -s \"$folder/pid\" ]; then kill \"$(cat \"$folder/pid\")\" 2>/dev/null; fi; \
     rm -rf \"$folder\" && echo \"$folder\"; fi; done; true";
