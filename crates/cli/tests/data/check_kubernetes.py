"""Reads deploy/kubernetes.yaml with a parser of YAML and checks that its parts name each other."""

import sys

import yaml

parts = {part["kind"]: part for part in yaml.safe_load_all(open(sys.argv[1], encoding="utf-8"))}
assert set(parts) == {"Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"}, set(parts)
deployment = parts["Deployment"]
pod = deployment["spec"]["template"]
labels = pod["metadata"]["labels"]
for selector in (
    deployment["spec"]["selector"]["matchLabels"],
    parts["Service"]["spec"]["selector"],
    parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
):
    assert selector.items() <= labels.items(), selector
target = parts["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
assert (target["kind"], target["name"], target["apiVersion"]) == (
    "Deployment",
    deployment["metadata"]["name"],
    deployment["apiVersion"],
), target
# A number of pods here would undo what the autoscaler did, with each change.
assert "replicas" not in deployment["spec"]
(container,) = pod["spec"]["containers"]
(port,) = container["ports"]
assert port["containerPort"] == 8080 and pod["metadata"]["annotations"]["prometheus.io/port"] == "8080"
assert parts["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
assert container["readinessProbe"]["httpGet"] == {"path": "/healthz", "port": port["name"]}
assert container["livenessProbe"]["tcpSocket"]["port"] == port["name"]
mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
assert set(mounts) == {volume["name"] for volume in pod["spec"]["volumes"]}
# What the container is told, for the test to try on the command itself.
drain = next(word for word in container["args"] if word.startswith("--drain="))
seconds = int(drain.removeprefix("--drain=").removesuffix("s"))
wait = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
assert pod["spec"]["terminationGracePeriodSeconds"] > seconds + wait
print("\n".join(container["args"]))
