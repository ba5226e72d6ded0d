#!/usr/bin/env python3
"""Writes inventory.json: what Ansible itself takes from inventory.ini, the variables of each host.

    pip install ansible-core      # 2.19 made the file that is kept
    make_inventory.py > inventory.json
"""
import json
import subprocess

listed = subprocess.run(
    ["ansible-inventory", "-i", "inventory.ini", "--list"], check=True, capture_output=True, text=True
).stdout
print(json.dumps(json.loads(listed)["_meta"]["hostvars"], indent=1, sort_keys=True))
