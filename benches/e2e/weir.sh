# shellcheck shell=bash
# An agent on the host `far` with its own token. Source after namespaces.sh; needs $weir, the binary.
#
#   start_agent ADDRESS OPTION...  start it, wait until it listens; its process id is in $AGENT_PID, its log in $AGENT_LOG
#   with_token COMMAND...          run COMMAND with the token in WEIR_TOKEN

AGENT_PORT=4747
TOKEN=

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 3
}

check_weir() {
    [ -x "$weir" ] || fail "there is no $weir: run 'cargo build --release' first"
}

start_agent() {
    local folder address=$1
    shift
    # In the private /run, so that the token is always removed with it.
    folder=$(mktemp -d -p /run)
    (umask 077 && od -An -N 32 -t x1 /dev/urandom | tr -d ' \n' >"$folder/token")
    TOKEN=$(cat "$folder/token")
    AGENT_LOG=$folder/log
    start_far "$weir" agent --listen "$address" --port "$AGENT_PORT" --token-file "$folder/token" "$@" >"$AGENT_LOG" 2>&1
    AGENT_PID=$FAR_PID
    wait_for_far "$AGENT_PORT" "$AGENT_PID" || fail "the agent did not start: $(cat "$AGENT_LOG")"
}

with_token() {
    WEIR_TOKEN=$TOKEN "$@"
}
