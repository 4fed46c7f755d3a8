//! Prints what messages parse to, in the form of tests/fixtures/messages/*.json:
//! `cargo run -p restante-message --example expected -- tests/fixtures/messages/plain.eml`.
//! With `--write` before the files, writes it beside each; read the difference before you commit it.

use std::path::Path;

#[path = "../tests/shape/expected.rs"]
mod expected;

fn main() -> std::io::Result<()> {
    let (options, files): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    for file in files {
        let json = expected::json(&restante_message::parse(&std::fs::read(&file)?));
        if options.iter().any(|option| option == "--write") {
            std::fs::write(Path::new(&file).with_extension("json"), json)?;
        } else {
            print!("{json}");
        }
    }
    Ok(())
}
