//! What a simulated measurement finds, against what its network was given.

use weir_link::{DirectionSpec, LinkSpec, LossSpec, Mtu, QueueSpec, RateSpec, RouteSpec, TooBig};
use weir_measure::survey::{StepSummary, SurveyPlan};
use weir_measure::{BitRate, FrameRate, VideoFormat};
use weir_results::{RunFilter, Store};
use weir_simulate::{HostModel, Path};

fn link(routes: Vec<RouteSpec>) -> LinkSpec {
    let direction = DirectionSpec {
        mtu: Mtu {
            bytes: 9000,
            too_big: TooBig::Drop,
        },
        ..DirectionSpec::over(routes)
    };
    LinkSpec {
        name: "test".into(),
        seed: 1,
        interface_mtu: 9001,
        forward: direction.clone(),
        reverse: direction,
    }
}

fn route() -> RouteSpec {
    RouteSpec {
        rate: RateSpec::Fixed(10_000_000_000),
        queue: QueueSpec::Bytes(4 << 20),
        delay_ns: 100_000,
        ..RouteSpec::clean()
    }
}

fn plan(rate: u64) -> SurveyPlan {
    SurveyPlan {
        format: VideoFormat::of_rate(BitRate(rate), FrameRate::NTSC_60),
        step_ns: 3_000_000_000,
        max_flows: 16,
        max_bytes: u64::MAX,
    }
}

#[test]
fn a_survey_of_a_clean_path_finds_it_clean() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut store = Store::open(directory.path().join("weir.db")).expect("a store");
    let host = HostModel::default();
    let mut path = Path::new(&link(vec![route()]), &host, &host, "far", 7).expect("a path");
    let begun = std::time::Instant::now();
    let surveyed = path.survey(&plan(2_485_800_000), &mut store).expect("a survey");
    eprintln!("{:?}", begun.elapsed());
    eprintln!("{}", serde_json::to_string_pretty(&surveyed.summary.rtt).unwrap());
    eprintln!("{}", serde_json::to_string_pretty(&surveyed.summary.by_flows).unwrap());
    let _ = (LossSpec::Bernoulli(0.0), StepSummary::Mtu(Default::default()), RunFilter::default());
}
