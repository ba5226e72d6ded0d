"""Reads deploy/locust-values.yaml and deploy/locust-weir-workers.yaml with a parser of YAML, and checks that they fit each
other and the Helm chart of Locust: the names of its values, its Service and its ports."""

import sys

import yaml

values, workers = (yaml.safe_load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
# Names of the chart's values.yaml (deliveryhero/locust): one that is misspelt is passed over by Helm without a word.
known = {
    "fullnameOverride": None,
    "loadtest": {"name", "locust_locustfile", "locust_locustfile_configmap", "locust_host", "locustCmd"},
    "image": {"repository", "tag", "pullPolicy"},
    "master": {"args", "environment", "resources", "logLevel"},
    "worker": {"replicas"},
}
for name, value in values.items():
    assert name in known, name
    assert known[name] is None or set(value) <= known[name], (name, set(value))
assert workers["kind"] == "Deployment" and workers["apiVersion"] == "apps/v1"
# The chart's workers would play the stub's classes, which cannot be played.
assert values["worker"]["replicas"] == 0 < workers["spec"]["replicas"]
pod = workers["spec"]["template"]
labels = pod["metadata"]["labels"]
assert workers["spec"]["selector"]["matchLabels"] == labels
(spread,) = pod["spec"]["topologySpreadConstraints"]
assert spread["labelSelector"]["matchLabels"] == labels
# Without it, the users of a worker that goes are gone.
assert "--enable-rebalancing" in values["master"]["args"]
# The Service of the chart selects its master by these, and must not find a worker.
assert labels["component"] == "worker" and labels["load_test"] == values["loadtest"]["name"]
(container,) = pod["spec"]["containers"]
master = next(word for word in container["args"] if word.startswith("--locust-master="))
# The Service has the name of the release, and 5557 is where workers come.
assert master == f"--locust-master={values['fullnameOverride']}:5557", master
mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
assert set(mounts) == {volume["name"] for volume in pod["spec"]["volumes"]}
database = next(word for word in container["args"] if word.startswith("--db="))
assert database.removeprefix("--db=").startswith(mounts["results"] + "/")
assert container["command"] == ["/usr/local/bin/weir"]
assert pod["spec"]["terminationGracePeriodSeconds"] > 11
# What the container is told, and the version of Locust, for the test to try.
print("\n".join(container["args"]))
print(values["image"]["tag"])
