//! What is said of a panic: where it was, and never its words, which may quote mail.

use std::panic::PanicHookInfo;
use std::thread;

/// Logs panics by their place from now on, in the stead of the hook that prints their words.
pub fn log_places_only() {
    std::panic::set_hook(Box::new(log));
}

fn log(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    tracing::error!(
        target: "restante",
        place = place.as_deref().unwrap_or("unknown"),
        thread = thread::current().name().unwrap_or("unnamed"),
        "a panic"
    );
}
