//! Where the server is.

use url::Url;

use crate::Error;

/// Reads the base URL of a server, which may have a path.
///
/// An error shows the text only if it can be no key given in the wrong place, and holds no password and no query, in
/// which there may be a key too.
pub(super) fn parse(text: &str) -> Result<Url, Error> {
    let fault = |fault: &str| {
        let shown = if text.contains("://") && !text.contains(['@', '?', '#']) {
            format!(", got {text:?}")
        } else {
            String::new()
        };
        Error::Configuration(format!(
            "expected the server's URL such as http://127.0.0.1:8080{shown}: {fault}"
        ))
    };
    let url = Url::parse(text.trim()).map_err(|error| fault(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(fault("it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("it must have no user name and no password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("it must have no query and no fragment"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_of_a_server_is_refused_with_the_reason() {
        for (text, shown, fault) in [
            ("", "", "relative URL without a base"),
            ("localhost:8080", "", "it must begin with http:// or https://"),
            ("127.0.0.1:8080", "", "relative URL without a base"),
            (
                "ftp://a.test",
                r#", got "ftp://a.test""#,
                "it must begin with http:// or https://",
            ),
            ("http://", r#", got "http://""#, "empty host"),
            (
                "http://a.test:99999",
                r#", got "http://a.test:99999""#,
                "invalid port number",
            ),
            (
                "http://me:secret@a.test",
                "",
                "it must have no user name and no password",
            ),
            ("http://me@a.test", "", "it must have no user name and no password"),
            ("http://me:secret@a b", "", "invalid international domain name"),
            ("http://a.test?key=secret", "", "it must have no query and no fragment"),
            ("http://a.test/#secret", "", "it must have no query and no fragment"),
            ("http://a b?key=secret", "", "invalid international domain name"),
        ] {
            let expected = format!("expected the server's URL such as http://127.0.0.1:8080{shown}: {fault}");
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_key_in_the_place_of_the_url_is_not_shown() {
        let key = "Zm9yIHRlc3RzIG9ubHkgLSBub3QgYSByZWFsIGtleQ";
        let error = format!("{0} {0:?}", parse(key).unwrap_err());
        assert!(!error.contains(key), "{error}");
    }

    #[test]
    fn paths_ports_and_white_space_around_are_fine() {
        for (text, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
            (" https://mail.test/team/a/\n", "https://mail.test/team/a/"),
            ("HTTP://[::1]:1", "http://[::1]:1/"),
        ] {
            assert_eq!(parse(text).unwrap().as_str(), expected);
        }
    }
}
