//! A module for machines that a program of the user's makes: virtual machines of one's own, or the network namespaces of
//! a test. The engine's built-in resource calls it, so that no provider is needed.
//!
//! `PROGRAM create NAME` makes a machine and writes what [`super::hosts`] reads to `$WEIR_HOST_FILE`; `PROGRAM delete NAME`
//! removes it, also where nothing or half of it is there; `PROGRAM list` prints a line `RUN DELETE_AFTER NAME` for each that
//! is there.

use serde_json::{Value, json};

use super::{LEAST_VERSION, Launch, Own, Zone, literal, numbered};
use crate::place::PlaceName;

pub(super) fn module(launch: &Launch, place: &PlaceName, own: &Own) -> Value {
    let names = launch.host_names(place);
    let zones = launch.zones_of(place);
    let types = launch.types_of(place, [""; 2]);
    let program = literal(&own.program.to_string_lossy());
    // Known only when the machine is there, so that its file is read then and not before.
    let file = |number: usize| format!("${{path.module}}/${{terraform_data.host{number}.id}}.json");
    json!({
        "terraform": json!({ "required_version": LEAST_VERSION }),
        "resource": { "terraform_data": numbered(names.len(), "host", |number| json!({
            "provisioner": [
                { "local-exec": {
                    "interpreter": [program, "create"],
                    "command": names[number - 1],
                    "environment": environment(launch, place, (&zones[number - 1], types[number - 1]), own),
                } },
                { "local-exec": {
                    "when": "destroy",
                    "interpreter": [program, "delete"],
                    "command": names[number - 1],
                    "environment": { "WEIR_RUN": launch.run },
                } },
            ],
        })) },
        "output": { "hosts": { "value": (1..=names.len()).map(|number| format!(
            "${{try(merge({{zone = {}, \"instance-type\" = {}}}, jsondecode(file(\"{}\")), {{name = {}}}), null)}}",
            Value::from(literal(&zones[number - 1].to_string())),
            Value::from(types[number - 1]),
            file(number),
            Value::from(names[number - 1].as_str()),
        )).collect::<Vec<String>>() } },
    })
}

fn environment(launch: &Launch, place: &PlaceName, (zone, kind): (&Zone, &str), own: &Own) -> Value {
    json!({
        "WEIR_RUN": launch.run,
        "WEIR_DELETE_AFTER": launch.delete_after_unix_s.to_string(),
        "WEIR_PLACE": place.to_string(),
        "WEIR_ZONE": zone.to_string(),
        "WEIR_MACHINE_TYPE": kind,
        "WEIR_PACKAGES": launch.packages.join(" "),
        "WEIR_ARCH": launch.arch.machine(),
        "WEIR_PUBLIC_KEY": literal(launch.keys.operator_public.trim()),
        "WEIR_HOST_KEY_FILE": literal(&own.host_key_file.to_string_lossy()),
        "WEIR_HOST_FILE": "${self.id}.json",
    })
}
