//! What a wait has seen so far.

use std::collections::BTreeSet;
use std::time::Duration;

use restante_model::EmailId;

use crate::{Email, EmailMatcher, EmailSummary, Error};

/// The emails of a wait: those that fit, and how many others there were. Each counts once.
#[derive(Debug)]
pub(super) struct Tally {
    matcher: EmailMatcher,
    wanted: usize,
    found: Vec<Email>,
    others: usize,
    seen: BTreeSet<EmailId>,
}

impl Tally {
    pub(super) fn new(matcher: EmailMatcher, wanted: usize) -> Self {
        Self {
            matcher,
            wanted,
            found: Vec::new(),
            others: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Whether there are as many as are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= self.wanted
    }

    /// Whether an email has to be fetched, which is said once; one that has not counts.
    pub(super) fn needs(&mut self, email: &EmailSummary) -> bool {
        if self.is_full() || !self.seen.insert(email.id) {
            return false;
        }
        let fits = self.matcher.matches_summary(email);
        self.others += usize::from(!fits);
        fits
    }

    /// Takes a fetched email in.
    pub(super) fn add(&mut self, email: Email) {
        if self.matcher.matches(&email) {
            self.found.push(email);
        } else {
            self.others += 1;
        }
    }

    /// The emails in the order of their arrival, which is that of their ids, if there are enough of them.
    pub(super) fn into_result(mut self, limit: Duration) -> Result<Vec<Email>, Error> {
        if self.is_full() {
            self.found.sort_by_key(Email::id);
            return Ok(self.found);
        }
        Err(Error::WaitTimeout {
            wanted: self.wanted,
            found: self.found.len(),
            matching: self.matcher.to_string(),
            others: self.others,
            limit,
        })
    }

    /// Success if there is no email.
    pub(super) fn none(self) -> Result<(), Error> {
        match self.found.first() {
            None => Ok(()),
            Some(email) => Err(Error::UnexpectedEmail {
                id: email.id(),
                matching: self.matcher.to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::email::tests::{email, numbered};

    const LIMIT: Duration = Duration::from_millis(1500);

    fn numbered_email(number: u32, subject: &str) -> Email {
        Email {
            summary: numbered(number, subject),
            ..email()
        }
    }

    /// Lets the tally see an email as a wait does; whether it was fetched.
    fn see(tally: &mut Tally, number: u32, subject: &str) -> bool {
        let email = numbered_email(number, subject);
        let fetched = tally.needs(&email.summary);
        if fetched {
            tally.add(email);
        }
        fetched
    }

    fn welcome(wanted: usize) -> Tally {
        Tally::new(EmailMatcher::new().subject("welcome"), wanted)
    }

    #[test]
    fn only_what_its_summary_lets_hope_is_fetched() {
        let mut tally = welcome(2);
        assert!(!see(&mut tally, 1, "other"));
        assert!(see(&mut tally, 2, "welcome"));
        assert!(!see(&mut tally, 2, "welcome"), "it was seen");
        assert!(see(&mut tally, 3, "Welcome!"));
        assert!(!see(&mut tally, 4, "welcome"), "there are enough");
        assert!(tally.is_full());
    }

    #[test]
    fn emails_come_in_the_order_of_their_arrival() {
        let mut tally = welcome(3);
        for number in [7, 2, 5] {
            see(&mut tally, number, "welcome");
        }
        let ids: Vec<_> = tally.into_result(LIMIT).unwrap().iter().map(Email::id).collect();
        assert_eq!(ids, [2, 5, 7].map(|number| numbered(number, "").id));
    }

    #[test]
    fn a_time_out_tells_what_was_there() {
        let matcher = EmailMatcher::new().subject("welcome").text("third line");
        let mut tally = Tally::new(matcher, 2);
        see(&mut tally, 1, "other");
        see(&mut tally, 1, "other");
        see(&mut tally, 2, "welcome");
        see(&mut tally, 2, "welcome");
        let error = tally.into_result(LIMIT).unwrap_err().to_string();
        let expected = r#"0 of 2 emails with subject "welcome", text "third line" within 1.5 s; others there: 2"#;
        assert_eq!(error, expected);
    }

    #[test]
    fn what_should_not_come_is_named() {
        let mut tally = welcome(1);
        see(&mut tally, 1, "other");
        assert!(!tally.is_full());
        see(&mut tally, 2, "welcome");
        assert!(tally.is_full());
        let error = tally.none().unwrap_err();
        let id = numbered(2, "").id;
        assert_eq!(
            error.to_string(),
            format!(r#"an email with subject "welcome" came: {id}"#)
        );
        let mut tally = welcome(1);
        see(&mut tally, 1, "other");
        assert!(tally.none().is_ok());
    }

    #[test]
    fn none_are_there_at_once() {
        assert!(welcome(0).is_full());
        assert!(welcome(0).into_result(LIMIT).unwrap().is_empty());
    }
}
