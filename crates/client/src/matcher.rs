//! Which emails are meant: what is waited for.

use std::fmt;
use std::sync::Arc;

use crate::{Email, EmailSummary};

/// Which emails are meant; without a condition all of them.
///
/// Texts are looked for anywhere in what they are compared with, without regard to case.
///
/// ```
/// use restante_client::EmailMatcher;
///
/// let welcome = EmailMatcher::new().subject("welcome").from("noreply@shop.test").header("X-Campaign", "spring");
/// assert_eq!(welcome.to_string(), r#"subject "welcome", from "noreply@shop.test", X-Campaign "spring""#);
/// ```
#[derive(Clone, Default)]
pub struct EmailMatcher {
    subject: Option<String>,
    from: Option<String>,
    to: Option<String>,
    text: Option<String>,
    headers: Vec<(String, String)>,
    predicates: Vec<Predicate>,
}

#[derive(Clone)]
struct Predicate(Arc<dyn Fn(&Email) -> bool + Send + Sync>);

impl EmailMatcher {
    /// Every email.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whose subject contains this.
    #[must_use]
    pub fn subject(mut self, text: impl Into<String>) -> Self {
        self.subject = Some(text.into());
        self
    }

    /// Whose From header (else reverse-path) contains this.
    #[must_use]
    pub fn from(mut self, text: impl Into<String>) -> Self {
        self.from = Some(text.into());
        self
    }

    /// Of whose recipients one contains this: the forward-path with its tag.
    #[must_use]
    pub fn to(mut self, text: impl Into<String>) -> Self {
        self.to = Some(text.into());
        self
    }

    /// Whose plain text contains this.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With a header of this name whose value contains this.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// For which this says yes.
    #[must_use]
    pub fn predicate(mut self, predicate: impl Fn(&Email) -> bool + Send + Sync + 'static) -> Self {
        self.predicates.push(Predicate(Arc::new(predicate)));
        self
    }

    /// Whether what a list shows of an email fits.
    pub fn matches_summary(&self, email: &EmailSummary) -> bool {
        fits(self.subject.as_deref(), [email.subject()])
            && fits(self.from.as_deref(), [email.from()])
            && fits(self.to.as_deref(), email.to().iter().map(String::as_str))
    }

    /// Whether an email fits.
    pub fn matches(&self, email: &Email) -> bool {
        self.matches_summary(&email.summary)
            && fits(self.text.as_deref(), email.text())
            && self
                .headers
                .iter()
                .all(|(name, text)| fits(Some(text), email.header(name)))
            && self.predicates.iter().all(|predicate| (predicate.0)(email))
    }
}

fn fits<'a>(wanted: Option<&str>, values: impl IntoIterator<Item = &'a str>) -> bool {
    let Some(wanted) = wanted.map(str::to_lowercase) else {
        return true;
    };
    values.into_iter().any(|value| value.to_lowercase().contains(&wanted))
}

impl fmt::Display for EmailMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            ("subject", &self.subject),
            ("from", &self.from),
            ("to", &self.to),
            ("text", &self.text),
        ];
        let named = named.iter().filter_map(|(name, text)| Some((*name, text.as_ref()?)));
        let headers = self.headers.iter().map(|(name, text)| (name.as_str(), text));
        let mut conditions: Vec<_> = named
            .chain(headers)
            .map(|(name, text)| format!("{name} {text:?}"))
            .collect();
        if !self.predicates.is_empty() {
            conditions.push("what the predicate asks".to_owned());
        }
        if conditions.is_empty() {
            conditions.push("any content".to_owned());
        }
        f.write_str(&conditions.join(", "))
    }
}

impl fmt::Debug for EmailMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmailMatcher({self})")
    }
}
