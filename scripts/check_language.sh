#!/usr/bin/env bash
# Checks the prose of documentation, comments and messages: no phrase of scripts/banned-phrases.txt, no misspelt word and
# no American spelling. Words that are right all the same are in scripts/spelling-allowed.txt.
#
#   scripts/check_language.sh [PATH...]     # default: everything that git tracks
set -euo pipefail

cd "$(dirname "$0")/.."
codespell=.tools/codespell/bin/codespell
[ -x "$codespell" ] || {
    echo "error: $codespell is missing: run scripts/install_prerequisites.sh test" >&2
    exit 3
}
exec python3 scripts/check_language.py "$codespell" "$@"
