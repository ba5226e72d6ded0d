"""Reads deploy/population-job.yaml with a parser of YAML, checks that its parts name each other, and prints its script."""

import sys

import yaml

(job,) = yaml.safe_load_all(open(sys.argv[1], encoding="utf-8"))
assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
spec = job["spec"]
assert spec["completionMode"] == "Indexed"
pod = spec["template"]["spec"]
(container,) = pod["containers"]
mounts = {mount["name"] for mount in container["volumeMounts"]}
assert mounts == {volume["name"] for volume in pod["volumes"]}
(script,) = container["args"]
# As many shards as pods.
assert f"+ 1)) {spec['completions']} /results" in script, script
print(script)
