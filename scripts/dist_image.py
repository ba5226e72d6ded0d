#!/usr/bin/env python3
"""Writes an OCI image for several processors as one tar file: an index, and for each processor one layer from scratch.

    scripts/dist_image.py OUT.tar VERSION COMMIT ARCHITECTURE=FOLDER...

ARCHITECTURE is OCI's name (amd64, arm64); FOLDER is the root of the layer. SOURCE_DATE_EPOCH sets all times. The same
input gives the same bytes.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
CREATED = datetime.datetime.fromtimestamp(EPOCH, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
USER = 10001


def entry(archive, name, content=None, mode=0o755):
    """A file, or a folder where there is no content."""
    info = tarfile.TarInfo(name)
    info.mtime = EPOCH
    info.mode = mode
    if content is None:
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
    else:
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))


def layer(folder):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        # A client writes its database where it is started.
        entry(archive, "tmp", mode=0o1777)
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_dir():
                entry(archive, name)
            else:
                entry(archive, name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
    return out.getvalue()


class Layout:
    def __init__(self):
        self.blobs = {}

    def add(self, media_type, content):
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, media_type, value):
        return self.add(media_type, json.dumps(value, separators=(",", ":")).encode())

    def write(self, path, index):
        with tarfile.open(path, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            entry(archive, "blobs")
            entry(archive, "blobs/sha256")
            for digest, content in sorted(self.blobs.items()):
                entry(archive, f"blobs/sha256/{digest}", content, 0o644)
            entry(archive, "index.json", json.dumps(index, separators=(",", ":")).encode(), 0o644)
            entry(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}', 0o644)


def image(layout, architecture, folder, labels):
    content = layer(folder)
    config = {
        "created": CREATED,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": str(USER),
            "WorkingDir": "/tmp",
            "Entrypoint": ["/weir"],
            "Cmd": ["agent", "--token-file", "/run/secrets/weir-token"],
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]},
        "history": [{"created": CREATED, "created_by": "weir, from scratch"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add_json("application/vnd.oci.image.config.v1+json", config),
        "layers": [layout.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(content, 9, mtime=0))],
        "annotations": labels,
    }
    described = layout.add_json(manifest["mediaType"], manifest)
    return {**described, "platform": {"architecture": architecture, "os": "linux"}}


def main(out, version, commit, *images):
    layout = Layout()
    labels = {
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.title": "weir",
        "org.opencontainers.image.version": version,
    }
    manifests = [image(layout, *text.split("=", 1)[:1], Path(text.split("=", 1)[1]), labels) for text in images]
    index_type = "application/vnd.oci.image.index.v1+json"
    index = {"schemaVersion": 2, "mediaType": index_type, "manifests": manifests}
    top = {**layout.add_json(index_type, index), "annotations": {"org.opencontainers.image.ref.name": version}}
    layout.write(out, {"schemaVersion": 2, "mediaType": index_type, "manifests": [top]})


if len(sys.argv) < 5:
    sys.exit(__doc__)
main(*sys.argv[1:])
