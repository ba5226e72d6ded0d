#!/usr/bin/env python3
"""Stands in for the `aws` program: one region of EC2, whose state is the JSON file that AWS_STAND_IN_STATE names.

It knows the commands that Weir calls and refuses what EC2 refuses, by the descriptions of these actions in the Amazon EC2
API Reference and its list of error codes: DependencyViolation where something is still used. Like some servers of that API,
and unlike Amazon's, it keeps the association of a route table whose subnet is gone. Each call that changes something is an
entry of the state's `calls`, with what it was refused for. A command that it does not know is an error of its own, as is an option.

An object of the state has a `kind`, `tags` and what it hangs on: `vpc`, `subnet`, `groups`, `instance`, `associations`.
"""

import json
import os
import sys

STATE = os.environ["AWS_STAND_IN_STATE"]
GONE = {
    "instance": "InvalidInstanceID.NotFound",
    "volume": "InvalidVolume.NotFound",
    "security-group": "InvalidGroup.NotFound",
    "route-table": "InvalidRouteTableID.NotFound",
    "subnet": "InvalidSubnetID.NotFound",
    "internet-gateway": "InvalidInternetGatewayID.NotFound",
    "vpc": "InvalidVpcID.NotFound",
}


class Refused(Exception):
    pass


def require(holds, code, message):
    if not holds:
        raise Refused(f"({code}) {message}")


class Region:
    def __init__(self, state):
        self.state = state
        self.objects = state["objects"]

    def of(self, kind, **fields):
        """Ids of objects of a kind whose fields are these."""
        return [
            name
            for name, thing in self.objects.items()
            if thing["kind"] == kind and all(thing.get(key) == value for key, value in fields.items())
        ]

    def get(self, kind, name):
        thing = self.objects.get(name)
        require(thing and thing["kind"] == kind, GONE[kind], f"The {kind} '{name}' does not exist")
        return thing

    def alive(self, **fields):
        """Instances that still hold their volumes, addresses and interfaces."""
        return [name for name in self.of("instance", **fields) if self.objects[name]["state"] != "terminated"]

    def free(self, kind, name, users):
        require(not users, "DependencyViolation", f"The {kind} '{name}' has dependencies and cannot be deleted: {users}")

    # What Weir asks.

    def describe_tags(self, options):
        keys = options["filters"][0].removeprefix("Name=key,Values=").split(",")
        tags = [
            {"Key": key, "ResourceId": name, "ResourceType": thing["kind"], "Value": value}
            for name, thing in self.objects.items()
            for key, value in thing["tags"].items()
            if key in keys
        ]
        return {"Tags": tags}

    def describe_instances(self, options):
        assert options["query"] == ["Reservations[].Instances[].InstanceId"], options
        return [name for name in self.alive() if "weir-run" in self.objects[name]["tags"]]

    def describe_route_tables(self, options):
        assert options["filters"] == ["Name=tag-key,Values=weir-run"], options
        tables = []
        for name in self.of("route-table"):
            table = self.objects[name]
            if "weir-run" not in table["tags"]:
                continue
            associations = [
                {"Main": False, "RouteTableAssociationId": one, "RouteTableId": name, "SubnetId": subnet}
                for one, subnet in table["associations"].items()
            ]
            tables.append({"RouteTableId": name, "VpcId": table["vpc"], "Associations": associations})
        return {"RouteTables": tables}

    # What Weir changes.

    def terminate_instances(self, options):
        for name in options["instance-ids"]:
            self.get("instance", name)["state"] = "shutting-down"

    def wait_instance_terminated(self, options):
        for name in options["instance-ids"]:
            instance = self.get("instance", name)
            require(instance["state"] in ("shutting-down", "terminated"), "Waiter", f"{name} runs for ever")
            instance["state"] = "terminated"
            # Its disk goes with it.
            for volume in self.of("volume", instance=name, delete_on_termination=True):
                del self.objects[volume]

    def delete_volume(self, options):
        (name,) = options["volume-id"]
        volume = self.get("volume", name)
        users = [one for one in self.alive() if one == volume.get("instance")]
        require(not users, "VolumeInUse", f"Volume {name} is currently attached to {users}")
        del self.objects[name]

    def delete_security_group(self, options):
        (name,) = options["group-id"]
        self.get("security-group", name)
        if self.state.get("groups_linger", 0) > 0:
            self.state["groups_linger"] -= 1
            self.free("security-group", name, ["an interface that is still being removed"])
        self.free("security-group", name, [one for one in self.alive() if name in self.objects[one]["groups"]])
        del self.objects[name]

    def disassociate_route_table(self, options):
        (name,) = options["association-id"]
        for table in self.of("route-table"):
            if self.objects[table]["associations"].pop(name, None):
                return
        raise Refused(f"(InvalidAssociationID.NotFound) The association '{name}' does not exist")

    def delete_route_table(self, options):
        (name,) = options["route-table-id"]
        self.free("route-table", name, list(self.get("route-table", name)["associations"]))
        del self.objects[name]

    def delete_subnet(self, options):
        (name,) = options["subnet-id"]
        self.get("subnet", name)
        self.free("subnet", name, self.alive(subnet=name))
        del self.objects[name]

    def detach_internet_gateway(self, options):
        (name,), (vpc,) = options["internet-gateway-id"], options["vpc-id"]
        gateway = self.get("internet-gateway", name)
        require(gateway["vpc"] == vpc, "Gateway.NotAttached", f"resource {name} is not attached to network {vpc}")
        subnets = self.of("subnet", vpc=vpc)
        public = [one for one in self.alive() if self.objects[one]["subnet"] in subnets]
        require(not public, "DependencyViolation", f"Network {vpc} has some mapped public address(es)")
        gateway["vpc"] = None

    def delete_internet_gateway(self, options):
        (name,) = options["internet-gateway-id"]
        gateway = self.get("internet-gateway", name)
        self.free("internet-gateway", name, [gateway["vpc"]] if gateway["vpc"] else [])
        del self.objects[name]

    def delete_vpc(self, options):
        (name,) = options["vpc-id"]
        self.get("vpc", name)
        kinds = ("subnet", "internet-gateway", "route-table", "security-group")
        self.free("vpc", name, [one for kind in kinds for one in self.of(kind, vpc=name)])
        del self.objects[name]

    def delete_placement_group(self, options):
        (name,) = options["group-name"]
        groups = self.of("placement-group", name=name)
        require(groups, "InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        users = self.alive(placement=name)
        require(not users, "InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use and may not be deleted.")
        del self.objects[groups[0]]


def read_arguments(words):
    """The command, and the values of each of its options."""
    assert words[0] == "--region" and words[2:5] == ["--output", "json", "ec2"], words
    command, options = [], {}
    for word in words[5:]:
        if word.startswith("--"):
            values = options.setdefault(word[2:], [])
        elif options:
            values.append(word)
        else:
            command.append(word)
    return words[1], command, options


def main():
    region, command, options = read_arguments(sys.argv[1:])
    with open(STATE, encoding="utf-8") as file:
        state = json.load(file)
    assert region == state["region"], region
    call = getattr(Region(state), "_".join(command).replace("-", "_"))
    refusal = None
    try:
        answer = call(options)
    except Refused as refused:
        answer, refusal = None, str(refused)
    if not command[0].startswith("describe-"):
        state["calls"].append({"call": " ".join(command), "refused": refusal})
    with open(STATE, "w", encoding="utf-8") as file:
        json.dump(state, file)
    if refusal:
        sys.exit(f"\nAn error occurred {refusal}")
    if answer is not None:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
