//! Rules between settings.

use super::error::SettingError;
use super::kind::Value;
use super::resolve::{Resolved, Source};
use crate::listen::ListenAddress;

/// Settings that come together or not at all.
const PAIRS: &[(&str, &str)] = &[
    ("TLS_CERT_PATH", "TLS_KEY_PATH"),
    ("SERVER_SIGNATURE_SECRET_KEY_PATH", "SERVER_SIGNATURE_PUBLIC_KEY_PATH"),
];

/// The hosts and ports of listeners.
const LISTENERS: &[(&str, &str)] = &[
    ("SMTP_HOST", "SMTP_PORT"),
    ("SMTP_HOST", "SMTP_TLS_PORT"),
    ("SERVER_HOST", "SERVER_PORT"),
    ("SERVER_HOST", "SERVER_HTTPS_PORT"),
];

/// Checks every rule whose settings could all be read; `unsound` names those that could not.
pub(super) fn check(resolved: &Resolved, unsound: &[&str]) -> Vec<SettingError> {
    let rules = Rules { resolved, unsound };
    let pairs = PAIRS.iter().filter_map(|(one, other)| rules.pair(one, other));
    pairs
        .chain(rules.strict_key())
        .chain(rules.default_ttl())
        .chain(rules.inflight())
        .chain(rules.smtp_listener())
        .chain(rules.ports())
        .chain(rules.one_certificate())
        .chain(rules.certificate())
        .collect()
}

struct Rules<'a> {
    resolved: &'a Resolved,
    unsound: &'a [&'a str],
}

impl Rules<'_> {
    fn are_sound(&self, names: &[&str]) -> bool {
        names.iter().all(|name| !self.unsound.contains(name))
    }

    fn is_set(&self, name: &str) -> bool {
        self.resolved.entry(name).value != Value::Unset
    }

    fn pair(&self, one: &str, other: &str) -> Option<SettingError> {
        let (missing, given) = match (self.is_set(one), self.is_set(other)) {
            (true, false) => (other, one),
            (false, true) => (one, other),
            (true, true) | (false, false) => return None,
        };
        self.are_sound(&[one, other]).then(|| SettingError::Required {
            name: Source::Default.spelling(missing),
            because: format!("together with {}", self.spelled(given)),
        })
    }

    /// Interface, "Authentication": strict mode requires manual configuration instead of generation.
    fn strict_key(&self) -> Option<SettingError> {
        let (key, strict) = ("LOCAL_API_KEY", "LOCAL_API_KEY_STRICT");
        let lacks = self.resolved.switch(strict) && !self.is_set(key);
        (lacks && self.are_sound(&[key, strict])).then(|| SettingError::Required {
            name: Source::Default.spelling(key),
            because: format!("since {} is true", self.spelled(strict)),
        })
    }

    fn default_ttl(&self) -> Option<SettingError> {
        let (ttl, max) = ("LOCAL_INBOX_DEFAULT_TTL", "LOCAL_INBOX_MAX_TTL");
        let longest = self.resolved.number(max);
        let expected = || format!("at most {longest}, which is SVC_{max}");
        self.bound(ttl, max, |secs| secs <= longest, expected)
    }

    /// One message that grows by doubling must fit.
    fn inflight(&self) -> Option<SettingError> {
        let (inflight, message) = ("SMTP_MAX_INFLIGHT_BYTES", "SMTP_MAX_MESSAGE_SIZE");
        let least = 2 * self.resolved.number(message);
        let expected = || format!("at least {least}, which is twice SVC_{message}");
        self.bound(inflight, message, |bytes| bytes >= least, expected)
    }

    fn smtp_listener(&self) -> Option<SettingError> {
        let (plain, tls) = ("SMTP_PORT", "SMTP_TLS_PORT");
        let has_none = !self.is_set(plain) && !self.is_set(tls);
        (has_none && self.are_sound(&[plain, tls])).then(|| SettingError::Malformed {
            name: self.spelled(plain),
            expected: format!("a port, since SVC_{tls} is off"),
            got: Some("off".into()),
        })
    }

    /// Listeners with the same address and port; 0 is another port for each.
    fn ports(&self) -> Vec<SettingError> {
        let listeners: Vec<_> = LISTENERS
            .iter()
            .filter(|(_, port)| *port != "SERVER_HTTPS_PORT" || self.resolved.switch("SERVER_HTTPS_ENABLED"))
            .filter(|(host, port)| self.are_sound(&[host, port]))
            .filter_map(|(host, port)| Some((*port, self.resolved.listen(host, port)?)))
            .filter(|(_, address)| address.port != 0)
            .collect();
        let clash = |(index, (name, address)): (usize, &(&str, ListenAddress))| {
            let (other, _) = listeners[..index].iter().find(|(_, other)| other == address)?;
            Some(SettingError::SamePort {
                name: self.spelled(name),
                other: self.spelled(other),
                address: *address,
            })
        };
        listeners.iter().enumerate().filter_map(clash).collect()
    }

    fn one_certificate(&self) -> Option<SettingError> {
        let (made, given) = ("TLS_SELF_SIGNED", "TLS_CERT_PATH");
        (self.resolved.switch(made) && self.is_set(given)).then(|| SettingError::Excluded {
            name: self.spelled(made),
            other: self.spelled(given),
        })
    }

    /// A certificate for whatever asks for TLS. A half of a pair is an error of its own.
    fn certificate(&self) -> Vec<SettingError> {
        let sources = ["TLS_CERT_PATH", "TLS_KEY_PATH", "TLS_SELF_SIGNED"];
        let has_one = self.resolved.switch("TLS_SELF_SIGNED") || self.is_set(sources[0]) || self.is_set(sources[1]);
        if has_one || !self.are_sound(&sources) {
            return Vec::new();
        }
        let asks = [
            ("SMTP_TLS_PORT", self.is_set("SMTP_TLS_PORT")),
            ("SERVER_HTTPS_ENABLED", self.resolved.switch("SERVER_HTTPS_ENABLED")),
        ];
        let asks = asks.into_iter().filter(|(_, asks)| *asks);
        asks.map(|(name, _)| SettingError::NoCertificate {
            name: self.spelled(name),
        })
        .collect()
    }

    /// As it was given.
    fn spelled(&self, name: &str) -> String {
        self.resolved.entry(name).source.spelling(name)
    }

    fn bound(
        &self,
        name: &str,
        other: &str,
        holds: impl Fn(u64) -> bool,
        expected: impl Fn() -> String,
    ) -> Option<SettingError> {
        let number = self.resolved.number(name);
        (!holds(number) && self.are_sound(&[name, other])).then(|| SettingError::Malformed {
            name: self.spelled(name),
            expected: expected(),
            got: Some(number.to_string()),
        })
    }
}
