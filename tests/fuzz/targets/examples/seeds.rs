//! Writes the seeds of every target to `<folder>/<target>/`: what a fuzzer begins with.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use restante_fuzz_targets::TARGETS;

#[path = "../tests/inputs/seeds.rs"]
mod seeds;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .map(PathBuf::from)
        .ok_or("usage: seeds <folder>")?;
    for target in &TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        for (name, seed) in seeds::seeds(target) {
            fs::write(
                folder.join(name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
                seed,
            )?;
        }
    }
    Ok(())
}
