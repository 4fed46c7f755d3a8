//! What is said of a panic; alone in its process, which has one hook.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use restante_server::logs::{self, Color};
use restante_server::panics;
use restante_server::settings::{LogFormat, LogSettings};

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_is_logged_by_its_place_and_not_by_its_words() {
    let settings = LogSettings {
        format: LogFormat::Json,
        level: tracing::Level::ERROR,
    };
    let page = Page::default();
    let writer = page.clone();
    let subscriber = logs::subscriber(settings, Color::Plain, move || writer.clone());
    panics::log_places_only();
    let line = line!() + 2;
    let outcome = tracing::subscriber::with_default(subscriber, || {
        catch_unwind(AssertUnwindSafe(|| panic!("{}", "the text of a mail")))
    });
    assert!(outcome.is_err());

    let logged = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let logged: serde_json::Value = serde_json::from_str(&logged).unwrap_or_else(|error| panic!("{error}: {logged}"));
    let place = logged["place"].as_str().unwrap();
    assert!(place.contains(&format!("panics.rs:{line}:")), "{place}");
    assert_eq!(
        (&logged["message"], &logged["thread"]),
        (
            &"a panic".into(),
            &"a_panic_is_logged_by_its_place_and_not_by_its_words".into()
        )
    );
    assert!(!logged.to_string().contains("mail"), "{logged}");
}
