//! Prints `docs/clouds.md`, as the tables have it.

fn main() -> Result<(), weir_mesh::MeshError> {
    print!("{}", weir_mesh::clouds_page::clouds_page()?);
    Ok(())
}
