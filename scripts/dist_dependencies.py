#!/usr/bin/env python3
"""Lists what the static binaries contain: the texts of all licences, or a CycloneDX SBOM.

    scripts/dist_dependencies.py licences       text
    scripts/dist_dependencies.py sbom COMMIT    JSON; SOURCE_DATE_EPOCH sets its time

Packages are those that Cargo resolves for the targets below without tools of the build, what crates bring along in C, the
JavaScript in the embedded pages, and what Rust links into a static binary.
"""

import base64
import datetime
import gzip
import html
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl")
# The players of the origin's page; the other packages of the page are the dependencies of web/package.json.
PLAYERS = ("dashjs", "hls.js", "shaka-player")
LICENCE_NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
RULE = "=" * 78 + "\n"


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def resolved():
    """Cargo's packages that go into the binary, by id, and the ids of what each depends on."""
    packages, edges = {}, {}
    for target in TARGETS:
        metadata = json.loads(output("cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"))
        known = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        left = [next(key for key, package in known.items() if package["name"] == "weir-cli")]
        while left:
            key = left.pop()
            packages[key] = known[key]
            found = [
                dependency["pkg"]
                for dependency in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])
            ]
            left += [other for other in found if other not in packages]
            edges.setdefault(key, set()).update(found)
    return packages, edges


def named(package):
    return (package["name"], package["version"])


def expression(package):
    return re.sub(r"\s*/\s*", " OR ", package["license"])


def page_packages():
    """What the embedded pages contain, from the lock file of npm: name, version, licence, SHA-512."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    for path, package in sorted(lock.items()):
        name = path.removeprefix("node_modules/")
        if name and (not package.get("dev") or name in PLAYERS):
            digest = base64.b64decode(package["integrity"].removeprefix("sha512-")).hex()
            yield name, package["version"], package["license"], digest


def rust_version():
    fields = dict(line.split(": ", 1) for line in output("rustc", "-vV").splitlines() if ": " in line)
    return fields["release"]


def sysroot():
    return Path(output("rustc", "--print", "sysroot").strip())


def musl_version():
    library = sysroot() / "lib/rustlib" / TARGETS[0] / "lib/self-contained/libc.a"
    found = re.search(rb"\n?\x00?(1\.\d+\.\d+)\x00", library.read_bytes())
    return found.group(1).decode() if found else "unknown"


def sqlite_version(packages):
    folder = next(Path(p["manifest_path"]).parent for p in packages.values() if p["name"] == "libsqlite3-sys")
    text = (folder / "sqlite3/sqlite3.h").read_text()
    return re.search(r'#define SQLITE_VERSION\s+"([^"]+)"', text).group(1)


def texts_of(package):
    folder = Path(package["manifest_path"]).parent
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and any(part.upper().startswith(LICENCE_NAMES) for part in parts):
            yield path.read_text(errors="replace")


def plain(page):
    body = re.sub(r"<(head|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\n\s*\n+", "\n\n", html.unescape(re.sub(r"<[^>]*>", "", body)))


def licences():
    packages, _ = resolved()
    # Most texts belong to many packages.
    owners = {}

    def add(owner, text):
        key = " ".join(text.split())
        owners.setdefault(key, (text.strip() + "\n", []))[1].append(owner)

    for package in sorted(packages.values(), key=named):
        # Weir's own is in LICENSE.
        if package["source"] is None:
            continue
        texts = list(texts_of(package))
        if not texts:
            sys.exit(f"error: {package['name']} {package['version']} has no text of its licence: add it to packaging/licences")
        for text in texts:
            add(f"{package['name']} {package['version']} ({expression(package)})", text)
    add("SQLite (public domain)", "The authors of SQLite disclaim copyright: https://www.sqlite.org/copyright.html")
    for name, version, licence, _ in page_packages():
        if name not in PLAYERS:
            add(f"{name} {version} ({licence})", (ROOT / "packaging/licences/d3.txt").read_text())
    add("players of the origin's page", gzip.decompress((ROOT / "web/dist/player/licences.txt.gz").read_bytes()).decode())
    add(f"musl {musl_version()} (MIT)", (ROOT / "packaging/licences/musl.txt").read_text())
    notices = sysroot() / "share/doc/rust/COPYRIGHT-library.html"
    add(f"Rust's standard library {rust_version()} (MIT OR Apache-2.0)", plain(notices.read_text()))

    print("The weir binary contains the software below. Each section names it, then gives the text of its licence.\n")
    for text, users in owners.values():
        print(RULE + "\n".join(dict.fromkeys(users)) + "\n" + RULE + "\n" + text)


def component(kind, name, version, licence, hashes=()):
    purl = f"pkg:{kind}/{name.replace('@', '%40')}@{version}"
    made = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": purl,
    }
    if hashes:
        made["hashes"] = [{"alg": algorithm, "content": content} for algorithm, content in hashes]
    return made


def sbom(commit):
    packages, edges = resolved()
    sums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    components, references, weir = [], {}, None
    for key, package in sorted(packages.items(), key=lambda item: named(item[1])):
        checksum = sums[named(package)]
        hashes = [("SHA-256", checksum)] if checksum else []
        made = component("cargo", *named(package), expression(package), hashes)
        references[key] = made["bom-ref"]
        if package["name"] == "weir-cli":
            weir = {**made, "type": "application", "name": "weir"}
        else:
            components.append(made)
    depends = {references[key]: {references[other] for other in others} for key, others in edges.items()}

    def add(made, *users):
        components.append(made)
        depends[made["bom-ref"]] = set()
        for user in users:
            depends[user].add(made["bom-ref"])

    crate = {package["name"]: references[key] for key, package in packages.items()}
    add(component("generic", "sqlite", sqlite_version(packages), "blessing"), crate["libsqlite3-sys"])
    add(component("generic", "musl", musl_version(), "MIT"), weir["bom-ref"])
    add(component("generic", "rust-std", rust_version(), "MIT OR Apache-2.0"), weir["bom-ref"])
    for name, version, licence, digest in page_packages():
        user = crate["weir-origin" if name in PLAYERS else "weir-report"]
        add(component("npm", name, version, licence, [("SHA-512", digest)]), user)

    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, 'weir ' + commit)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": weir,
            "properties": [{"name": "weir:commit", "value": commit}],
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": sorted(others)} for ref, others in sorted(depends.items())],
    }
    print(json.dumps(document, indent=1))


match sys.argv[1:]:
    case ["licences"]:
        licences()
    case ["sbom", commit]:
        sbom(commit)
    case _:
        sys.exit(__doc__)
