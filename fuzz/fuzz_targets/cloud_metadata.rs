//! Answers of a cloud's metadata service: no bytes may panic the reader; a body is never longer than the answer, an answer that
//! is whole stays so when nothing more comes, and facts are short lines.
//!
//! Input: a byte whose lowest bit demands the header of Google's service, then the answer.

use weir_net::cloud::{Answer, body, of_azure};

pub fn run(input: &[u8]) {
    let Some((form, answer)) = input.split_first() else {
        return;
    };
    let expected = (form & 1 == 1).then_some(("Metadata-Flavor", "Google"));
    if let Answer::Whole(found) = body(answer, expected, false) {
        assert!(found.len() < answer.len());
        assert_eq!(body(answer, expected, true), Answer::Whole(found));
    }
    let Answer::Whole(found) = body(answer, expected, true) else {
        return;
    };
    let instance = of_azure(found);
    let facts = [
        instance.instance_id,
        instance.instance_type,
        instance.region,
        instance.zone,
        instance.placement_group,
        instance.fault_domain,
    ];
    for fact in facts.into_iter().flatten() {
        assert!((1..=255).contains(&fact.len()), "{fact}");
        assert!(fact.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{fact}");
    }
}
