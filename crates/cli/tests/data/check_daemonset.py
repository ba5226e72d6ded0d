"""Checks that the parts of a DaemonSet's file name each other, and writes the watcher's file of its ConfigMap.

Usage: check_daemonset.py daemonset.yaml watch.toml
"""

import sys

import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    parts = {part["kind"]: part for part in yaml.safe_load_all(file)}
service, config, daemons = parts["Service"], parts["ConfigMap"], parts["DaemonSet"]
template = daemons["spec"]["template"]
labels, pod = template["metadata"]["labels"], template["spec"]

assert service["spec"]["clusterIP"] == "None", "it is not headless"
for selector in (service["spec"]["selector"], daemons["spec"]["selector"]["matchLabels"]):
    assert selector.items() <= labels.items(), selector

ports = {port["name"]: port["containerPort"] for container in pod["containers"] for port in container["ports"]}
for port in service["spec"]["ports"]:
    assert ports[port["targetPort"]] == port["port"], port
volumes = {volume["name"] for volume in pod["volumes"]}
mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
assert mounted == volumes, (mounted, volumes)
assert config["metadata"]["name"] in [volume.get("configMap", {}).get("name") for volume in pod["volumes"]]

paths = [mount["mountPath"] for container in pod["containers"] for mount in container["volumeMounts"]]
for container in pod["containers"]:
    for word in container["args"]:
        path = word.split("=")[-1]
        assert not path.startswith("/") or any(path.startswith(mount) for mount in paths), word
(name, text), = config["data"].items()
assert any(word.endswith("/" + name) for container in pod["containers"] for word in container["args"])
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(text)
