"""Reads deploy/Containerfile: whatever crates embed at compile time has to be copied, and may not be kept out by the list of
what is ignored. Prints the arguments of the entry point, one a line."""

import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
lines = (root / "deploy/Containerfile").read_text(encoding="utf-8").splitlines()
words = [line.split() for line in lines if line and not line.startswith("#")]
copied = [word for line in words if line[0] == "COPY" and not line[1].startswith("--") for word in line[1:-1]]
let_through = [
    line[1:]
    for line in (root / "deploy/Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    if line.startswith("!")
]
for path in copied:
    assert (root / path).exists(), f"{path} is copied and is not there"
    assert any(path == one or path.startswith(one + "/") for one in let_through), f"{path} is ignored"

# Of paths that are put together, what is in front of the first part that a macro is given.
EMBEDDED = re.compile(r'include_(?:str|bytes)!\(\s*(?:concat!\(\s*)?"([^"]+)"')
found = 0
for source in sorted((root / "crates").glob("**/src/**/*.rs")):
    for name in EMBEDDED.findall(source.read_text(encoding="utf-8")):
        path = (source.parent / name).resolve().relative_to(root).as_posix()
        assert any(path == one or path.startswith(one + "/") for one in copied), f"{source} embeds {path}, not copied"
        found += 1
assert found > 10, found
manifests = [one.parent.relative_to(root).as_posix() for one in root.glob("crates/**/Cargo.toml")]
assert manifests and all(one.startswith("crates/") for one in manifests)

(entry,) = (line for line in lines if line.startswith("ENTRYPOINT "))
binary, *arguments = json.loads(entry.removeprefix("ENTRYPOINT "))
(installed,) = (line[-1] for line in words if line[0] == "COPY" and line[1].startswith("--from="))
assert binary == installed, (binary, installed)
print("\n".join(arguments))
