//! What the table and the effective settings look like: `--check-config` and the reference page.

use std::fmt::Write as _;

use super::kind::Kind;
use super::resolve::Resolved;
use super::table::{DefaultValue, SECTIONS, Setting};

/// The settings as they hold, one a line, with where each came from; secrets are hidden.
///
/// Settings of features that this version does not have are left out: they have no effect.
pub fn effective(resolved: &Resolved) -> String {
    let mut text = format!("# profile: {}\n", resolved.profile);
    for entry in resolved.effective.iter().filter(|entry| entry.setting.is_built) {
        let name = entry.setting.variable();
        let value = entry.value.shown(entry.setting.kind);
        line(&mut text, format_args!("{name}={value}  # {}", entry.source.as_str()));
    }
    text
}

/// The default of a setting, as help and the reference page say it.
pub fn default_text(setting: &Setting) -> String {
    let code = |text: &str| format!("`{text}`");
    match setting.default {
        DefaultValue::Unset => "unset".into(),
        DefaultValue::Same("") => "empty".into(),
        DefaultValue::Same(text) => code(text),
        DefaultValue::ByProfile(laptop, production) => format!("{}; production: {}", code(laptop), code(production)),
        DefaultValue::LaptopOnly(laptop) => format!("{}; production: required", code(laptop)),
        DefaultValue::Computed { shown, .. } => shown.into(),
    }
}

/// The reference page of all settings, in Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(PREFACE);
    for section in SECTIONS {
        line(&mut page, format_args!("\n## {}\n", section.title));
        line(
            &mut page,
            format_args!("| Setting | Default | Values | Meaning |\n|---|---|---|---|"),
        );
        for setting in section.settings {
            line(&mut page, format_args!("{}", reference_row(setting)));
        }
    }
    page
}

const PREFACE: &str = "\
# Settings

<!-- Made from the table in bins/server/src/settings/table.rs; a test compares. Make it anew with
cargo run -p restante-server --bin server -- --settings-reference > docs/settings.md -->

Each setting is a variable of the environment and a flag of the server: `SVC_SMTP_PORT` is `--smtp-port`.
A flag wins over its variable, a variable over the default.
`server --check-config` checks all settings, prints what holds and where it came from, and ends.

A value that cannot be read, an unknown variable that begins with `SVC_`, or a setting of a feature that this version does not have stops the start; every error is named at once.
A switch is `true`, `1`, `yes` or `on`, or `false`, `0`, `no` or `off`; its flag alone means `true`.
Sizes are whole numbers of bytes.
";

fn reference_row(setting: &Setting) -> String {
    let mut name = format!("`{}`", setting.variable());
    if let Some(alias) = setting.alias {
        let _ = write!(name, " (also `SVC_{alias}`)");
    }
    let values = match setting.kind {
        Kind::Switch => "a switch".into(),
        kind => kind.expected(),
    };
    let note = if setting.is_built {
        ""
    } else {
        " Not available in this version."
    };
    format!(
        "| {name} | {} | {values} | {}{note} |",
        default_text(setting),
        setting.meaning
    )
}

/// Writing to a string cannot fail.
fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{arguments}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_is_the_one_in_the_repository() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        let kept = std::fs::read_to_string(path).unwrap();
        assert_eq!(kept, reference_page(), "make it anew: its head says how");
    }
}
