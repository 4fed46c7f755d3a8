//! Which emails are meant: what is waited for.

use std::fmt;
use std::sync::Arc;

use crate::{Email, EmailSummary};

/// Which emails are meant: those that fulfil every condition; without a condition all of them.
///
/// Texts are looked for anywhere in what they are compared with, without regard to case.
/// A condition may be set several times: each narrows the choice.
///
/// ```
/// use restante_client::EmailMatcher;
///
/// let welcome = EmailMatcher::new().subject("welcome").from("noreply@shop.test").header("X-Campaign", "spring");
/// assert_eq!(welcome.to_string(), r#"subject "welcome", from "noreply@shop.test", X-Campaign "spring""#);
/// ```
#[derive(Clone, Default)]
#[must_use = "a matcher does nothing by itself"]
pub struct EmailMatcher {
    conditions: Vec<Condition>,
}

#[derive(Clone)]
enum Condition {
    Subject(Needle),
    From(Needle),
    To(Needle),
    Text(Needle),
    Header { name: String, text: Needle },
    Predicate(Arc<dyn Fn(&Email) -> bool + Send + Sync>),
}

/// A text that is looked for.
#[derive(Clone)]
struct Needle {
    as_given: String,
    lowercase: String,
}

impl Needle {
    fn new(text: String) -> Self {
        Self {
            lowercase: text.to_lowercase(),
            as_given: text,
        }
    }

    fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.lowercase)
    }
}

impl EmailMatcher {
    /// Every email.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whose subject contains this.
    pub fn subject(self, text: impl Into<String>) -> Self {
        self.and(Condition::Subject(Needle::new(text.into())))
    }

    /// Whose From header (else reverse-path) contains this.
    pub fn from(self, text: impl Into<String>) -> Self {
        self.and(Condition::From(Needle::new(text.into())))
    }

    /// Of whose recipients one contains this: the forward-path with its tag.
    pub fn to(self, text: impl Into<String>) -> Self {
        self.and(Condition::To(Needle::new(text.into())))
    }

    /// Whose plain text, or what was made of the HTML for want of one, contains this.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.and(Condition::Text(Needle::new(text.into())))
    }

    /// With a header of this name whose value contains this; an empty text asks for the header alone.
    pub fn header(self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.and(Condition::Header {
            name: name.into(),
            text: Needle::new(text.into()),
        })
    }

    /// For which this says yes; it is asked last, of emails that fulfil the other conditions.
    pub fn predicate(self, predicate: impl Fn(&Email) -> bool + Send + Sync + 'static) -> Self {
        self.and(Condition::Predicate(Arc::new(predicate)))
    }

    /// Whether what a list shows of an email fits; conditions on its content are left out.
    pub fn matches_summary(&self, email: &EmailSummary) -> bool {
        let fits = |condition: &Condition| condition.fits_summary(email).unwrap_or(true);
        self.conditions.iter().all(fits)
    }

    /// Whether an email fits.
    pub fn matches(&self, email: &Email) -> bool {
        let (asking, looking): (Vec<_>, Vec<_>) = self.conditions.iter().partition(|condition| condition.asks());
        self.matches_summary(&email.summary) && looking.iter().chain(&asking).all(|condition| condition.fits(email))
    }

    fn and(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }
}

impl Condition {
    /// Whether a summary fits; `None` if that takes the content.
    fn fits_summary(&self, email: &EmailSummary) -> Option<bool> {
        match self {
            Self::Subject(text) => Some(text.is_in(email.subject())),
            Self::From(text) => Some(text.is_in(email.from())),
            Self::To(text) => Some(email.to().iter().any(|address| text.is_in(address))),
            Self::Text(_) | Self::Header { .. } | Self::Predicate(_) => None,
        }
    }

    fn fits(&self, email: &Email) -> bool {
        match self {
            Self::Subject(_) | Self::From(_) | Self::To(_) => self.fits_summary(&email.summary) == Some(true),
            Self::Text(text) => email.text().is_some_and(|body| text.is_in(body)),
            Self::Header { name, text } => email.header(name).is_some_and(|value| text.is_in(value)),
            Self::Predicate(predicate) => predicate(email),
        }
    }

    /// Whether the test's own code decides.
    fn asks(&self) -> bool {
        matches!(self, Self::Predicate(_))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject(text) => write!(f, "subject {:?}", text.as_given),
            Self::From(text) => write!(f, "from {:?}", text.as_given),
            Self::To(text) => write!(f, "to {:?}", text.as_given),
            Self::Text(text) => write!(f, "text {:?}", text.as_given),
            Self::Header { name, text } => write!(f, "{name} {:?}", text.as_given),
            Self::Predicate(_) => f.write_str("what the predicate asks"),
        }
    }
}

impl fmt::Display for EmailMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.conditions.split_first() else {
            return f.write_str("any content");
        };
        write!(f, "{first}")?;
        others.iter().try_for_each(|condition| write!(f, ", {condition}"))
    }
}

impl fmt::Debug for EmailMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmailMatcher({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::email::tests::email;

    fn any() -> EmailMatcher {
        EmailMatcher::new()
    }

    /// The email is from `Alice <alice@sender.test>`, to `bob+tag@restante.test`, and its subject is `Grüße aus Köln`.
    #[test]
    fn texts_are_looked_for_anywhere_and_without_regard_to_case() {
        let table = [
            (any(), true),
            (any().subject("GRÜSSE"), false),
            (any().subject("grüße"), true),
            (any().subject("AUS KÖLN"), true),
            (any().subject("köln aus"), false),
            (any().subject(""), true),
            (any().from("ALICE <alice"), true),
            (any().from("bob"), false),
            (any().to("Bob+Tag@"), true),
            (any().to("alice"), false),
            (any().text("SECOND line"), true),
            (any().text("third"), false),
            (any().header("X-Campaign", "spring"), true),
            (any().header("x-CAMPAIGN", "SPRING"), true),
            (any().header("x-campaign", "autumn"), false),
            (any().header("x-campaign", ""), true),
            (any().header("x-other", ""), false),
            (any().predicate(|email| email.links().len() == 1), true),
            (any().predicate(|email| email.links().is_empty()), false),
        ];
        let email = email();
        for (matcher, expected) in table {
            assert_eq!(matcher.matches(&email), expected, "{matcher}");
        }
    }

    #[test]
    fn every_condition_must_hold() {
        let email = email();
        assert!(any().subject("aus").subject("köln").from("alice").matches(&email));
        assert!(!any().subject("aus").subject("bonn").matches(&email));
        assert!(!any().subject("aus").text("third").matches(&email));
    }

    #[test]
    fn a_summary_answers_for_what_it_shows_alone() {
        let summary = &email().summary;
        assert!(any().subject("köln").text("third").matches_summary(summary));
        assert!(
            any()
                .predicate(|_| false)
                .header("x-other", "")
                .matches_summary(summary)
        );
        assert!(!any().subject("bonn").text("second").matches_summary(summary));
    }

    #[test]
    fn a_predicate_sees_only_what_fits_otherwise() {
        let never = any()
            .predicate(|_| panic!("it was asked"))
            .subject("köln")
            .text("third");
        assert!(!never.matches(&email()));
    }

    #[test]
    fn it_shows_its_conditions_in_their_order() {
        assert_eq!(any().to_string(), "any content");
        let matcher = any().text("a \"b\"").to("c").header("X-D", "e").predicate(|_| true);
        let shown = r#"text "a \"b\"", to "c", X-D "e", what the predicate asks"#;
        assert_eq!(matcher.to_string(), shown);
        assert_eq!(format!("{matcher:?}"), format!("EmailMatcher({shown})"));
    }
}
