//! Where a webhook is told: its URL, and the guard that keeps it out of networks that are not public.

mod guard;
mod ranges;

use std::fmt;

use url::{Host, Url};

pub use guard::{Forbidden, Guard};

/// Longest URL in characters (docs/spec/interface.md, "Limits").
const MAX_CHARACTERS: usize = 2048;

/// A URL that a webhook may have: HTTP or HTTPS, with a host, without user info.
#[derive(Clone, PartialEq, Eq)]
pub struct TargetUrl {
    /// As it was given.
    text: String,
    /// As it is asked for: without a fragment, with odd spellings of addresses resolved.
    url: Url,
}

/// Why a text is no [`TargetUrl`]; it reads on after the name of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetUrlError {
    /// Longer than a URL may be.
    #[error("must have at most {MAX_CHARACTERS} characters")]
    TooLong,
    /// Parsers disagree about what such characters mean.
    #[error("must not contain spaces or control characters; write them percent-encoded")]
    Character,
    /// No URL.
    #[error("must be an absolute URL such as https://example.com/hook ({0})")]
    Syntax(url::ParseError),
    /// Another scheme, or HTTP where that is not allowed.
    #[error("must begin with https:// (SVC_WEBHOOK_ALLOW_HTTP=true also allows http://)")]
    NotHttps,
    /// Another scheme.
    #[error("must begin with https:// or http://")]
    NotHttp,
    /// A user name, a password or the sign before which they stand.
    #[error("must not contain a user name or password; requests are authenticated by their signature")]
    UserInfo,
    /// No host, or one that is only found by guessing, as in `https:///example.com`.
    #[error("must name a host after ://, as https://example.com/hook does")]
    NoHost,
}

impl TargetUrl {
    /// Reads a URL; plain HTTP only if `allow_http`.
    pub fn parse(text: &str, allow_http: bool) -> Result<Self, TargetUrlError> {
        if text.chars().count() > MAX_CHARACTERS {
            return Err(TargetUrlError::TooLong);
        }
        if text.contains(|character: char| character.is_control() || character.is_whitespace()) {
            return Err(TargetUrlError::Character);
        }
        let mut url = Url::parse(text).map_err(TargetUrlError::Syntax)?;
        match (url.scheme(), allow_http) {
            ("https", _) | ("http", true) => (),
            (_, true) => return Err(TargetUrlError::NotHttp),
            (_, false) => return Err(TargetUrlError::NotHttps),
        }
        if has_user_info(text, &url) {
            return Err(TargetUrlError::UserInfo);
        }
        if url.host_str().is_none_or(str::is_empty) || !has_authority(text, &url) {
            return Err(TargetUrlError::NoHost);
        }
        url.set_fragment(None);
        Ok(Self {
            text: text.to_owned(),
            url,
        })
    }

    /// The text as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What is asked for.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The host that is connected to.
    pub(crate) fn host(&self) -> Host<&str> {
        self.url.host().expect("a TargetUrl has a host")
    }
}

/// Whether there is user info, an empty one too, of which the parsed URL does not tell.
fn has_user_info(text: &str, url: &Url) -> bool {
    let after_scheme = text[url.scheme().len() + 1..].trim_start_matches(['/', '\\']);
    let authority = after_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    !url.username().is_empty() || url.password().is_some() || authority.contains('@')
}

/// Whether the host stands where it belongs: parsers of URLs take the first part of a path for one.
fn has_authority(text: &str, url: &Url) -> bool {
    let after_scheme = text[url.scheme().len()..].strip_prefix("://");
    after_scheme.is_some_and(|rest| !rest.starts_with(['/', '\\']))
}

impl fmt::Debug for TargetUrl {
    /// Path and query may be a secret of the target, as in the URLs of chat services.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TargetUrl({}/..)", self.url.origin().ascii_serialization())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> TargetUrlError {
        TargetUrl::parse(text, true).unwrap_err()
    }

    #[test]
    fn a_url_is_kept_as_given_and_sent_without_its_fragment() {
        let text = "HTTPS://Example.COM/a%20b?c=d#e";
        let target = TargetUrl::parse(text, false).unwrap();
        assert_eq!(target.as_str(), text);
        assert_eq!(target.url().as_str(), "https://example.com/a%20b?c=d");
    }

    #[test]
    fn plain_http_needs_permission() {
        assert_eq!(
            TargetUrl::parse("http://example.com/", false),
            Err(TargetUrlError::NotHttps)
        );
        assert!(TargetUrl::parse("http://example.com/", true).is_ok());
        assert_eq!(
            TargetUrl::parse("ftp://example.com/", false),
            Err(TargetUrlError::NotHttps)
        );
        for text in ["ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)"] {
            assert_eq!(error(text), TargetUrlError::NotHttp, "{text}");
        }
    }

    #[test]
    fn user_info_is_refused_an_empty_one_too() {
        for text in [
            "https://user@example.com/",
            "https://user:password@example.com/",
            "https://:password@example.com/",
            "https://@example.com/",
            "https:user@example.com",
            "https:/\\@example.com",
        ] {
            assert_eq!(error(text), TargetUrlError::UserInfo, "{text}");
        }
        assert!(TargetUrl::parse("https://example.com/@a?b=@c#@", false).is_ok());
    }

    #[test]
    fn what_is_no_url_or_has_no_host_is_refused_with_an_example() {
        for text in [
            "",
            "example.com/hook",
            "/hook",
            "https://",
            "https:///",
            "https://a b.test/",
        ] {
            let text_of = TargetUrl::parse(text, true).unwrap_err().to_string();
            assert!(text_of.starts_with("must "), "{text}: {text_of}");
        }
        assert!(error("example.com").to_string().contains("https://example.com/hook"));
        for text in [
            "https://[::1",
            "https://1.2.3.256/",
            "https://exa%00mple.com/",
            "https://a:99999/",
        ] {
            assert!(matches!(error(text), TargetUrlError::Syntax(_)), "{text}");
        }
    }

    #[test]
    fn a_host_is_not_guessed() {
        for text in [
            "http:///a",
            "https:///example.com/a",
            "http:example.com",
            "https:/example.com",
            "https:\\\\example.com",
            "https:/\\example.com",
            "https://\\example.com",
        ] {
            assert_eq!(error(text), TargetUrlError::NoHost, "{text}");
        }
        assert!(TargetUrl::parse("hTTps://example.com", false).is_ok());
    }

    #[test]
    fn characters_that_parsers_drop_are_refused() {
        for text in [
            " https://a.test/",
            "https://a.test/\n",
            "https://a.test/\tb",
            "https://a.test/\r\nX: y",
        ] {
            assert_eq!(error(text), TargetUrlError::Character, "{text:?}");
        }
    }

    #[test]
    fn a_url_has_2048_characters_and_not_one_more() {
        let longest = format!("https://example.com/{}", "é".repeat(2028));
        assert!(TargetUrl::parse(&longest, false).is_ok());
        assert_eq!(error(&format!("{longest}é")), TargetUrlError::TooLong);
    }

    #[test]
    fn path_and_query_are_not_shown() {
        let target = TargetUrl::parse("https://hooks.test:8443/services/T0/secret?key=1", false).unwrap();
        assert_eq!(format!("{target:?}"), "TargetUrl(https://hooks.test:8443/..)");
    }
}
