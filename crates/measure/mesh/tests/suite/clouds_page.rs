//! `docs/clouds.md` is what the tables say.

use std::path::Path;

use weir_mesh::clouds_page::clouds_page;

#[test]
fn the_page_of_clouds_is_as_the_tables_have_it_and_marks_what_nobody_read_at_the_provider() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/clouds.md");
    let page = clouds_page().unwrap();
    let there = std::fs::read_to_string(&path).unwrap();
    assert!(
        there == page,
        "docs/clouds.md is not what the tables say: cargo run -p weir-mesh --example clouds > docs/clouds.md"
    );
    for cloud in ["## AWS", "## Google Cloud", "## Azure", "## Oracle Cloud"] {
        assert!(page.contains(cloud));
    }
    // An hour at 1 Gbit/s is 450 GB; read by others than the provider.
    assert!(
        page.contains("| a GB to the internet | 0.09 USD (third party); 1 Gbit/s for an hour 40.50 USD |")
    );
    // Prices from memory, and rates that the provider's page has.
    assert!(page.contains("| `m5.8xlarge` | 10 Gbit/s | 10 Gbit/s | 1.536 USD (unverified) |"));
    assert!(page.contains("| `t3.micro` | 0.064 Gbit/s (unverified) |"));
}
