//! A workflow with parameters that take several values: each combination of them, and the order of the runs. It must not know how a
//! workflow is run.

use std::collections::BTreeMap;
use std::str::FromStr;

use weir_load::schedule::Random;

use crate::document::{Configuration, Document, Hardware, OWN, Parameter, Restriction, placement_on};
use crate::error::TestbedError;

/// Most combinations of one workflow.
const MOST: usize = 1_000;
/// The stream of random numbers that the order comes from.
const ORDER: u64 = 7;

/// A parameter of a task and its values, written as `origin.segment=2s,4s,8s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varied {
    task: String,
    parameter: String,
    values: Vec<String>,
}

impl FromStr for Varied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "write a task, a parameter of it and its values, as in origin.segment=2s,4s,8s";
        let (name, values) = text.split_once('=').ok_or(wanted)?;
        let (task, parameter) = name.split_once('.').ok_or(wanted)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if task.is_empty() || parameter.is_empty() || values.iter().any(String::is_empty) {
            return Err(wanted.to_owned());
        }
        if (1..values.len()).any(|at| values[..at].contains(&values[at])) {
            return Err(format!("{name} has a value twice"));
        }
        Ok(Varied {
            task: task.to_owned(),
            parameter: parameter.to_owned(),
            values,
        })
    }
}

/// Values by what they are of: `origin.segment`.
pub type Values = BTreeMap<String, String>;

/// The document with each combination of the values; as it is where nothing is varied.
///
/// # Errors
/// For a task that it does not have, a parameter that is given twice, and more than 1,000 combinations.
pub fn combinations(document: &Document, varied: &[Varied]) -> Result<Vec<(Values, Document)>, TestbedError> {
    let mut all = vec![(Values::new(), document.clone())];
    for one in varied {
        if all.len().saturating_mul(one.values.len()) > MOST {
            return Err(TestbedError::Document(format!(
                "there are more than {MOST} combinations of values; vary less at a time"
            )));
        }
        let name = format!("{}.{}", one.task, one.parameter);
        let mut longer = Vec::with_capacity(all.len() * one.values.len());
        for (values, document) in &all {
            for value in &one.values {
                let (mut values, mut document) = (values.clone(), document.clone());
                set(&mut document, one, value)?;
                if values.insert(name.clone(), value.clone()).is_some() {
                    return Err(TestbedError::Document(format!("{name} is varied twice")));
                }
                longer.push((values, document));
            }
        }
        all = longer;
    }
    Ok(all)
}

fn set(document: &mut Document, varied: &Varied, value: &str) -> Result<(), TestbedError> {
    let tasks = &mut document.processing.function_restrictions;
    let Some(task) = tasks.iter_mut().find(|task| task.instance == varied.task) else {
        return Err(TestbedError::task(
            &varied.task,
            &varied.parameter,
            format!("workflow {} has no such task", document.general.id),
        ));
    };
    let hardware = match varied.parameter.as_str() {
        "vcpu" => Hardware {
            vcpu: Some(value.parse().map_err(|_| {
                TestbedError::task(
                    &varied.task,
                    &varied.parameter,
                    format!("'{value}' is no number of cores"),
                )
            })?),
            ..hardware_of(task)
        },
        "host" => Hardware {
            placement: Some(placement_on(value)),
            ..hardware_of(task)
        },
        _ => {
            set_parameter(task, varied, value);
            return Ok(());
        }
    };
    task.requirements.get_or_insert_default().hardware = Some(hardware);
    Ok(())
}

fn hardware_of(task: &Restriction) -> Hardware {
    let needs = task.requirements.as_ref();
    needs.and_then(|needs| needs.hardware.clone()).unwrap_or_default()
}

fn set_parameter(task: &mut Restriction, varied: &Varied, value: &str) {
    let parameters = &mut task
        .configuration
        .get_or_insert_with(Configuration::default)
        .parameters;
    let name = format!("{OWN}{}", varied.parameter);
    let place = parameters.iter().position(|known| known.name == name);
    let at = place.unwrap_or(parameters.len());
    let changed = Parameter::own(&varied.parameter, at as u64 + 1, value);
    match parameters.get_mut(at) {
        Some(known) => *known = changed,
        None => parameters.push(changed),
    }
}

/// Numbers of `count` runs, each `repeats` times: first in their order, then each repeat in one of its own, so that a machine that
/// slows down does so for all of them. The same for the same numbers.
pub fn order(count: usize, repeats: usize) -> Vec<usize> {
    let mut random = Random::new(1, ORDER);
    let mut all = Vec::with_capacity(count * repeats);
    for repeat in 0..repeats {
        let mut block: Vec<usize> = (0..count).collect();
        // Fisher and Yates.
        for last in (1..count).rev().filter(|_| repeat > 0) {
            block.swap(last, random.below(last + 1));
        }
        all.append(&mut block);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Functions;
    use crate::short;

    const WORKFLOW: &str = r#"
name = "two"
description = "Storage and viewers"
task = [
  { name = "storage", function = "weir-source" },
  { name = "viewers", function = "weir-sink", parameters = { viewers = 10 } },
]
connection = [{ from = "storage", to = "viewers" }]
"#;

    fn all(varied: &[&str]) -> Result<Vec<(Values, Document)>, TestbedError> {
        let functions = Functions::built_in().expect("functions");
        let document = short::expand(&toml::from_str(WORKFLOW).expect("a workflow"), &functions);
        let varied: Vec<Varied> = varied.iter().map(|text| text.parse().expect("varied")).collect();
        combinations(&document, &varied)
    }

    #[test]
    fn each_combination_is_a_document_of_its_own() {
        let found = all(&["viewers.viewers=1,2", "storage.duration=10s, 20s"]).expect("four");
        let texts = |document: &Document| -> Vec<(String, String)> {
            let tasks = document.processing.function_restrictions.iter();
            let parameters = tasks.filter_map(|task| task.configuration.as_ref());
            let parameters = parameters.flat_map(|configuration| &configuration.parameters);
            parameters
                .map(|one| (one.name.clone(), one.text().expect("a text")))
                .collect()
        };
        let pair = |duration: &str, viewers: &str| {
            [("weir.duration", duration), ("weir.viewers", viewers)]
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .to_vec()
        };
        let documents: Vec<_> = found.iter().map(|(_, document)| texts(document)).collect();
        assert_eq!(
            documents,
            [
                pair("10s", "1"),
                pair("20s", "1"),
                pair("10s", "2"),
                pair("20s", "2")
            ]
        );
        assert_eq!(found[3].0["viewers.viewers"], "2");
        let placed = all(&["viewers.host=h1,h2", "viewers.vcpu=2"]).expect("two");
        let needs = |document: &Document| hardware_of(&document.processing.function_restrictions[1]);
        assert_eq!(
            (needs(&placed[1].1).placement.as_deref(), needs(&placed[1].1).vcpu),
            (Some("ZZ-h2"), Some(2))
        );
        assert_eq!(all(&[]).expect("one").len(), 1);
    }

    #[test]
    fn what_cannot_be_varied_is_said() {
        for (text, part) in [
            ("origin", "write a task"),
            ("origin=2", "write a task"),
            ("origin.segment=2s,", "write a task"),
            ("origin.segment=2s,2s", "origin.segment has a value twice"),
        ] {
            let said = text.parse::<Varied>().expect_err(text);
            assert!(said.contains(part), "{text}: {said}");
        }
        let ten = |parameter: &str| format!("viewers.{parameter}=0,1,2,3,4,5,6,7,8,9");
        let many = ["a", "b", "c", "d"].map(ten);
        for (varied, part) in [
            (
                vec!["origin.segment=2s"],
                "task origin: segment: workflow two has no such task",
            ),
            (
                vec!["viewers.vcpu=two"],
                "task viewers: vcpu: 'two' is no number of cores",
            ),
            (
                vec!["viewers.viewers=1", "viewers.viewers=2"],
                "viewers.viewers is varied twice",
            ),
            (
                many.iter().map(String::as_str).collect(),
                "more than 1000 combinations",
            ),
        ] {
            let said = all(&varied).expect_err("refused").to_string();
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn each_repeat_has_every_run_once() {
        let all = order(20, 3);
        let blocks: Vec<&[usize]> = all.chunks(20).collect();
        for block in &blocks {
            let mut sorted = block.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..20).collect::<Vec<_>>());
        }
        assert!(
            all[..20].is_sorted() && blocks[0] != blocks[1] && blocks[1] != blocks[2],
            "{all:?}"
        );
    }
}
