#!/usr/bin/env python3
"""Holds the modules of Google Cloud, Azure and Oracle (golden/) against types generated from their providers' schemas.

    check_attributes.py

Each key has to be an attribute of its resource, of its type, and each required attribute has to be there. The types are
those of CDKTF and, for Oracle, of Pulumi, which calls lists of blocks by their plural; npm fetches them, some 70 MB. What
no schema says is not checked: which values are allowed, and which attributes exclude each other.
"""

import functools
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
PACKAGES = {
    "google": "@cdktf/provider-google@16.12.1",
    "azurerm": "@cdktf/provider-azurerm@14.23.1",
    "oci": "@pulumi/oci@4.20.0",
}
# Of every resource, whatever its provider.
META_ARGUMENTS = {"count", "depends_on", "lifecycle", "provider"}


def fetch(package, folder):
    done = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True)
    return tarfile.open(folder / done.stdout.split()[-1])


@functools.cache
def interfaces(archive, path):
    """Of each interface in a file of declarations, its attributes: whether required, and type."""
    text = archive.extractfile(f"package/{path}").read().decode()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = {}
    for head in re.finditer(r"interface (\w+)(?: extends [\w., ]+)?\s*\{", text):
        depth, end = 1, head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        attributes = re.finditer(r"(?:readonly )?(\w+)(\??): ((?:[^;{}]|\{[^}]*\})+);", text[head.end() : end - 1])
        found[head[1]] = {name: (not optional, kind) for name, optional, kind in (a.groups() for a in attributes)}
    return found


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def types_of(kind, is_data, archive):
    """The interfaces that a resource may use, and the name of its own."""
    provider, name = kind.split("_", 1)
    title = camel(f"_{name}")
    if provider != "oci":
        folder = f"data-{provider}-{name}" if is_data else name
        prefix = f"Data{camel(f'_{provider}')}" if is_data else ""
        return interfaces(archive, f"lib/{folder.replace('_', '-')}/index.d.ts"), f"{prefix}{title}Config"
    module, name = name.split("_", 1)
    title = camel(f"_{name}")
    file = f"get{title}" if is_data else camel(name)
    own = interfaces(archive, f"{module}/{file}.d.ts")
    return interfaces(archive, "types/input.d.ts") | own, f"{'Get' if is_data else ''}{title}Args"


def fits(value, kind):
    if isinstance(value, str):
        return "string" in kind or value.startswith("${")
    # The engine writes them as strings where it has to.
    if isinstance(value, bool):
        return "boolean" in kind or "string" in kind
    if isinstance(value, (int, float)):
        return "number" in kind
    return not isinstance(value, dict) or "key: string" in kind


def check(where, block, name, types):
    """How many attributes a block has, those inside it included, and what is wrong with them."""
    attributes, count, wrong, seen = types[name], 0, [], set()
    for key, value in block.items():
        if key in META_ARGUMENTS:
            continue
        known = next((a for a in (camel(key), f"{camel(key)}s", re.sub("y$", "ies", camel(key))) if a in attributes), None)
        if known is None:
            wrong.append(f"{where}: {name} has no {key}")
            continue
        seen.add(known)
        count += 1
        kind = attributes[known][1]
        inner = next((word for word in re.findall(r"\w+", kind) if word in types), None)
        blocks = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, dict)]
        if inner and blocks:
            for part in blocks:
                more, also = check(f"{where}.{key}", part, inner, types)
                count, wrong = count + more, wrong + also
        elif not fits(value, kind):
            wrong.append(f"{where}.{key}: {value!r} is no {kind}")
    required = {attribute for attribute, (is_required, _) in attributes.items() if is_required}
    return count, wrong + [f"{where}: {name} needs {missing}" for missing in sorted(required - seen)]


def main():
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        archives = {provider: fetch(package, Path(folder)) for provider, package in PACKAGES.items()}
        for path in sorted(GOLDEN.glob("*.tf.json")):
            module = json.loads(path.read_text())
            for section in ("resource", "data"):
                for kind, blocks in module.get(section, {}).items():
                    archive = archives.get(kind.split("_", 1)[0])
                    if archive is None:
                        continue
                    types, own = types_of(kind, section == "data", archive)
                    for name, block in blocks.items():
                        more, also = check(f"{path.name}: {kind}.{name}", block, own, types)
                        count, wrong = count + more, wrong + also
    print("\n".join([*wrong, f"{count} attributes, {len(wrong)} findings"]))
    return bool(wrong) or not count


if __name__ == "__main__":
    raise SystemExit(main())
