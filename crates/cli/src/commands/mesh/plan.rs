//! `weir mesh plan`: the tests of a run, their duration, traffic and cost.

use crate::args::{AddressesName, FilterArgs, GlobalOptions, MeshPlanArgs, PresetName, ShapeArgs};
use weir_mesh::MeshError;
use weir_mesh::estimate::{Limits, TestShape};
use weir_mesh::filter::{Addresses, Apart, ExactPair, Filters};
use weir_mesh::hosts::{Host, MOST_BYTES, read_hosts};
use weir_mesh::made::{Made, Wish};
use weir_mesh::place::{PlaceName, Places, cloud};
use weir_mesh::preset::Preset;
use weir_mesh::select::Tested;
use weir_results::{Store, StoreError};

use super::super::Failure;
use super::super::output::print;
use super::super::tables;

/// Prints the plan.
pub fn run(args: &MeshPlanArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let made = make(args, global)?;
    if global.json {
        print(&format!("{}\n", made.json()))?;
    } else {
        print(&tables::mesh_plan(&made))?;
    }
    Ok(made.check()?)
}

/// Makes the plan of the arguments.
pub fn make(args: &MeshPlanArgs, global: &GlobalOptions) -> Result<Made, Failure> {
    let preset = args.filter.preset.map(preset);
    let mut filters = filters(&args.filter)?;
    if let Some(preset) = preset {
        filters = Filters {
            all_regions: filters.all_regions,
            one_way: filters.one_way,
            addresses: filters.addresses,
            peering: filters.peering,
            again: filters.again,
            max_tests: filters.max_tests,
            ..preset.filters()
        };
    }
    if args.hosts.is_some() && args.filter.machines.is_some() {
        return Err(Failure::usage(
            "--machines conflicts with --hosts: it sets the number of machines to launch",
        ));
    }
    let hosts = args.hosts.as_ref();
    let hosts = hosts.map(|path| hosts_of(path, args.group.as_deref(), Places::known()));
    Ok(Made::of(Wish {
        hosts: hosts.transpose()?,
        machines: match preset {
            Some(preset) => preset.machines(),
            None => machines(&args.filter)?,
        },
        filters,
        shape: preset.map_or_else(|| shape(&args.shape), Preset::shape),
        limits: Limits {
            max_usd: args.cost.max_usd,
            max_bytes: args.cost.max_gb.map(|gigabytes| (gigabytes * 1e9) as u64),
        },
        expected_bps: args.cost.expect_rate.0,
        prices: &super::prices(args.cost.prices.as_deref())?,
        tested: &tested(global)?,
        preset,
    })?)
}

fn preset(name: PresetName) -> Preset {
    match name {
        PresetName::Article => Preset::Article,
        PresetName::Placement => Preset::Placement,
        PresetName::Media => Preset::Media,
    }
}

/// The hosts of a file, those of one group only if it is named.
pub fn hosts_of(path: &std::path::Path, group: Option<&str>, places: &Places) -> Result<Vec<Host>, Failure> {
    let (name, bytes) = super::read_file(path, MOST_BYTES as u64)?;
    let mut hosts = read_hosts(&name, &bytes, places)?;
    if let Some(group) = group {
        hosts.retain(|host| host.groups.iter().any(|of_host| of_host == group));
        if hosts.is_empty() {
            return Err(Failure::usage(format!("no hosts in group '{group}' of {name}")));
        }
    }
    Ok(hosts)
}

/// Parts of a test.
pub fn shape(args: &ShapeArgs) -> TestShape {
    TestShape {
        rtt_ns: args.rtt_for.0,
        tcp_ns: args.tcp_for.0,
        streams: args.streams,
        udp_ns: args.udp_for.0,
        udp_bps: args.udp_rate.0,
        max_bytes: args.max_bytes.0,
        survey: args.survey,
        window_bytes: args.window.map(|window| window.0),
    }
}

fn filters(args: &FilterArgs) -> Result<Filters, MeshError> {
    let distance = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
    let pairs: Vec<ExactPair> = args
        .pair
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let apart = if args.all_hosts {
        Apart::Hosts
    } else if args.zones || pairs.iter().any(ExactPair::names_zones) {
        Apart::Zones
    } else {
        Apart::Regions
    };
    Ok(Filters {
        pairs,
        clouds: args
            .cloud
            .iter()
            .map(|name| cloud(name).map(str::to_owned))
            .collect::<Result<_, _>>()?,
        cloud_pairs: args
            .cloud_pair
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()?,
        min_distance: distance(&args.min_distance)?,
        max_distance: distance(&args.max_distance)?,
        max_regions: args.max_regions.map(|most| most as usize),
        apart,
        all_regions: args.all_regions,
        addresses: match args.addresses {
            AddressesName::Private => Addresses::Private,
            AddressesName::Public => Addresses::Public,
            AddressesName::Both => Addresses::Both,
        },
        peering: args.peering,
        one_way: args.one_way,
        again: args.again,
        max_tests: args.max_tests.map(|most| most as usize),
    })
}

/// Planned number of machines per region.
fn machines(args: &FilterArgs) -> Result<u16, Failure> {
    let several = args.zones || args.all_hosts;
    match args.machines {
        Some(machines @ 2..) if !several => Err(Failure::usage(format!(
            "--machines {machines} needs --zones (each in its own zone) or --all-hosts (all in one zone); without them, one \
            host per region takes part"
        ))),
        Some(machines) => Ok(machines),
        None => Ok(if several { 2 } else { 1 }),
    }
}

/// Number of stored tests per pair; none without a results store.
fn tested(global: &GlobalOptions) -> Result<Tested, Failure> {
    let store = match Store::open_read_only(&global.db) {
        Ok(store) => store,
        Err(StoreError::NotFound { .. }) => return Ok(Tested::new()),
        Err(error) => return Err(error.into()),
    };
    let counts = store.mesh_pair_counts()?;
    Ok(counts
        .into_iter()
        .map(|([from_cloud, from, to_cloud, to], tests)| {
            (
                (PlaceName::new(&from_cloud, &from), PlaceName::new(&to_cloud, &to)),
                tests,
            )
        })
        .collect())
}
