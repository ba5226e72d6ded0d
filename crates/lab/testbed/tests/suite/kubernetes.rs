//! Objects of Kubernetes name each other, and have the tasks of the workflow. That they are objects of Kubernetes is for its own
//! schemas to say (docs/testbed.md).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weir_testbed::{Cluster, Served, Workflow, kubernetes};

use crate::{read, shipped};

pub fn cluster(workflow: &Workflow) -> Cluster {
    let served = |folder: &str| Served {
        folder: format!("/titles/{folder}").into(),
        manifest: "film/manifest.mpd".to_owned(),
        is_on_host: false,
    };
    let with_content = workflow
        .tasks
        .iter()
        .filter(|task| task.function.content.is_some());
    Cluster {
        image: "registry.example.net/weir:1".to_owned(),
        titles_claim: "films".to_owned(),
        contents: with_content
            .map(|task| (task.name.clone(), served(&task.name)))
            .collect(),
    }
}

fn of_kind<'a>(list: &'a Value, kind: &str) -> BTreeMap<&'a str, &'a Value> {
    let items = list["items"].as_array().expect("items").iter();
    items
        .filter(|item| item["kind"] == kind)
        .map(|item| (item["metadata"]["name"].as_str().expect("a name"), item))
        .collect()
}

/// Hosts of all addresses with the port of the tasks.
fn hosts(text: &str) -> BTreeSet<String> {
    let ends = text.match_indices(":8080").map(|(end, _)| &text[..end]);
    let host = |before: &str| {
        let plain = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.');
        let start = before.rfind(plain).map_or(0, |place| place + 1);
        before[start..].to_owned()
    };
    ends.map(host).filter(|host| host != "0.0.0.0").collect()
}

#[test]
fn objects_have_all_tasks_and_name_each_other() {
    for path in shipped() {
        let (_, workflow) = read(&path).expect("a workflow");
        let (list, _) = kubernetes(&workflow, &cluster(&workflow)).expect("objects");
        let (servers, services) = (of_kind(&list, "Deployment"), of_kind(&list, "Service"));
        let (sinks, files) = (of_kind(&list, "Job"), of_kind(&list, "ConfigMap"));
        assert_eq!(servers.len() + sinks.len(), workflow.tasks.len(), "{path:?}");
        assert!(!sinks.is_empty(), "{path:?}");
        let names = |objects: &BTreeMap<&str, &Value>| -> BTreeSet<String> {
            objects.keys().map(|name| (*name).to_owned()).collect()
        };
        assert_eq!(names(&servers), names(&services));
        for (name, object) in servers.iter().chain(&sinks) {
            let pod = &object["spec"]["template"];
            assert_eq!(pod["metadata"]["labels"], object["metadata"]["labels"], "{name}");
            if let Some(service) = services.get(name) {
                assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);
            }
            let volumes = pod["spec"]["volumes"].as_array().expect("volumes");
            let volumes: BTreeSet<_> = volumes.iter().map(|volume| volume["name"].as_str()).collect();
            let container = &pod["spec"]["containers"][0];
            let mounts = container["volumeMounts"].as_array().expect("mounts");
            let mounted: BTreeSet<_> = mounts.iter().map(|mount| mount["name"].as_str()).collect();
            assert_eq!(volumes, mounted, "{name}");
            let texts = format!(
                "{} {}",
                container["command"],
                files.get(name).unwrap_or(&&Value::Null)
            );
            let known = names(&services);
            assert!(hosts(&texts).is_subset(&known), "{name}: {texts}");
            assert!(
                !texts.contains("{upstream") && !texts.contains("{content}"),
                "{texts}"
            );
        }
        let asked: BTreeSet<String> = sinks
            .values()
            .flat_map(|sink| hosts(&sink["spec"]["template"].to_string()))
            .collect();
        assert!(!asked.is_empty(), "{path:?}: the sinks ask nobody");
    }
}
