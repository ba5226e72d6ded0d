//! Twins of known networks: a right one agrees with the tests, and one that lacks a fault does not.

use weir_diagnose::{DiagnoseError, Twin, compare, load, twin};
use weir_link::{LinkSpec, LossSpec, Profile, RouteSpec};
use weir_measure::rtt::RttPlan;
use weir_results::Store;
use weir_simulate::networks::{Kind, draw};
use weir_simulate::{HostModel, Observed, Path, observe, repeat, try_twin};

fn observed(kind: Kind, number: u64, folder: &std::path::Path) -> Observed {
    observe(&draw(kind, 1, number), &folder.join("weir.db")).expect("an observed network")
}

#[test]
fn a_twin_without_the_cap_of_its_path_is_told_from_one_with_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let observed = observed(Kind::FlowRateCap, 1000, folder.path());
    let right = twin(&observed.measured).expect("a twin");
    let found = right.link.forward.flow_rate.as_ref().expect("a cap").rate as f64;
    let truth = observed
        .network
        .link
        .forward
        .flow_rate
        .as_ref()
        .expect("a cap")
        .rate as f64;
    assert!((found / truth - 1.0).abs() < 0.1, "{found} {truth}");
    let comparison = try_twin(&observed, &folder.path().join("twin.db")).expect("a comparison");
    assert!(comparison.tests.iter().all(|test| test.agrees), "{comparison:#?}");

    let mut link = right.link.clone();
    link.forward.flow_rate = None;
    let wrong = Twin { link, ..right };
    let mut store = Store::open(folder.path().join("wrong.db")).expect("a store");
    let repeated = repeat(&observed.measured, &wrong, &mut store).expect("tests");
    let comparison = compare(&observed.measured, &repeated);
    let differ = comparison.tests.iter().filter(|test| !test.agrees);
    let capped = comparison.tests.iter().filter(|test| test.path.value > 0.01);
    assert!(capped.clone().count() > 0);
    assert_eq!(differ.count(), capped.count(), "{comparison:#?}");
}

/// A bucket that a flow of all media empties after 1.2 of 3 s: the cap is what fills it, whatever passes before.
#[test]
fn a_twin_has_the_rate_of_a_cap_and_the_bucket_that_began_full() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut network = draw(Kind::FlowRateCap, 1, 1000);
    let media = network.plan.format.rate().0 as f64;
    let cap = network.link.forward.flow_rate.as_mut().expect("a cap");
    cap.burst = ((media - cap.rate as f64) * 1.2 / 8.0) as u64;
    let truth = *cap;
    let observed = observe(&network, &folder.path().join("weir.db")).expect("an observed network");
    let twin = twin(&observed.measured).expect("a twin");
    let found = twin.link.forward.flow_rate.as_ref().expect("a cap");
    let (rate, burst) = (
        found.rate as f64 / truth.rate as f64,
        found.burst as f64 / truth.burst as f64,
    );
    assert!((rate - 1.0).abs() < 0.02, "{found:?}, not {truth:?}");
    assert!((burst - 1.0).abs() < 0.2, "{found:?}, not {truth:?}");
    let comparison = try_twin(&observed, &folder.path().join("twin.db")).expect("a comparison");
    assert!(comparison.tests.iter().all(|test| test.agrees), "{comparison:#?}");
}

#[test]
fn a_twin_loses_on_its_routes_what_the_path_does() {
    let mean = |link: &LinkSpec| {
        let routes = || link.forward.routes.iter();
        let rate = |route: &RouteSpec| match route.loss.as_slice() {
            [] => 0.0,
            [LossSpec::Bernoulli(rate)] => *rate,
            other => panic!("not one by one: {other:?}"),
        };
        let weights: f64 = routes().map(|route| f64::from(route.weight)).sum();
        routes()
            .map(|route| f64::from(route.weight) * rate(route))
            .sum::<f64>()
            / weights
    };
    for number in 1000..1003 {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let observed = observed(Kind::RouteLoss, number, folder.path());
        let twin = twin(&observed.measured).expect("a twin");
        let (found, truth) = (mean(&twin.link), mean(&observed.network.link));
        assert!((0.4..2.5).contains(&(found / truth)), "{found}, not {truth}");
    }
}

#[test]
fn a_twin_is_a_file_that_gives_the_same_link_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let observed = observed(Kind::Outage, 1000, folder.path());
    let twin = twin(&observed.measured).expect("a twin");
    let read =
        Profile::from_text(&twin.toml, "twin of run 1", std::path::Path::new(".")).expect("a link file");
    assert_eq!(read.spec().expect("a link"), twin.link);
    assert!(
        twin.left_out
            .iter()
            .any(|line| line.starts_with("a dark time of")),
        "{twin:#?}"
    );
    assert!(twin.left_out.iter().all(|line| twin.toml.contains(line.as_str())));
}

#[test]
fn a_run_without_flows_has_no_twin() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::open(folder.path().join("weir.db")).expect("a store");
    let (link, host) = (draw(Kind::Clean, 1, 1000).link, HostModel::default());
    let mut path = Path::new(&link, &host, &host, "far", 1).expect("a path");
    let made = path.rtt(&RttPlan::default(), &mut store).expect("a test");
    let measured = load(&store, made.run).expect("a run");
    assert!(matches!(twin(&measured), Err(DiagnoseError::Nothing { .. })));
}
