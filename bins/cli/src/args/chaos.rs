//! `restante chaos …`

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use restante_client::chaos::Delays;

use super::duration;

/// What is to be done with the faults of an inbox: that of `--inbox`, else the one in use.
#[derive(Debug, Subcommand)]
pub(crate) enum ChaosCommand {
    /// Show what is done to the mail of the inbox in use
    Show,
    /// Say what is to be done to its mail, in place of what was said before
    Set(Box<SetArgs>),
    /// Let its mail through again
    Clear,
}

/// `restante chaos set`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("faults").required(true).multiple(true))]
pub(crate) struct SetArgs {
    /// Answer late: by 3s, or by a random span such as 500ms..2s; at most 60s
    #[arg(long, group = "faults", value_name = "SPAN[..SPAN]", value_parser = delays)]
    pub(crate) latency: Option<Delays>,
    /// End connections as a server that shuts down does (FIN): always, or so often, 0 to 1
    #[arg(long, group = "faults", value_name = "RATE", value_parser = rate, num_args = 0..=1, require_equals = true,
        default_missing_value = "1", conflicts_with = "reset")]
    pub(crate) drop: Option<f64>,
    /// End them as a server that crashes does (RST)
    #[arg(long, group = "faults", value_name = "RATE", value_parser = rate, num_args = 0..=1, require_equals = true,
        default_missing_value = "1")]
    pub(crate) reset: Option<f64>,
    /// Refuse mail for now (4xx), so often, 0 to 1
    #[arg(long, group = "faults", value_name = "RATE", value_parser = rate)]
    pub(crate) error_rate: Option<f64>,
    /// Refuse it for good (5xx)
    #[arg(long, requires = "error_rate")]
    pub(crate) permanent: bool,
    /// Refuse each sender (451) until the second attempt, or until this one
    #[arg(long, group = "faults", value_name = "ATTEMPT", num_args = 0..=1, require_equals = true,
        default_missing_value = "2", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) greylist: Option<u32>,
    /// Take mail and throw it away
    #[arg(long, group = "faults")]
    pub(crate) blackhole: bool,
    /// Let webhooks hear of what was thrown away
    #[arg(long, requires = "blackhole")]
    pub(crate) tell_webhooks: bool,
    /// Let it end after so long, such as 90s, 10m or 2h
    #[arg(long = "for", value_name = "SPAN", value_parser = lasting)]
    pub(crate) lasting: Option<Duration>,
    /// Take all of it from a file with JSON of the interface, or from the standard input
    #[arg(long, group = "faults", value_name = "FILE|-", conflicts_with_all =
        ["latency", "drop", "reset", "error_rate", "permanent", "greylist", "blackhole", "tell_webhooks", "lasting"])]
    pub(crate) file: Option<PathBuf>,
}

/// Reads how often something happens.
fn rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    let rate = rate.filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| format!("expected a number from 0 to 1, got {text:?}"))
}

/// Reads one span, or two with `..` between them.
fn delays(text: &str) -> Result<Delays, String> {
    let (shortest, longest) = text.split_once("..").unwrap_or((text, text));
    let Some((shortest, longest)) = span(shortest).zip(span(longest)) else {
        return Err(format!(
            "expected a span in ms or s such as 500ms or 3s, or two such as 500ms..2s, at most 60s, got {text:?}"
        ));
    };
    if shortest > longest {
        return Err(format!(
            "expected the shorter span first, such as 500ms..2s, got {text:?}"
        ));
    }
    Ok(if text.contains("..") {
        Delays::between(shortest, longest)
    } else {
        Delays::of(longest)
    })
}

/// Reads how long faults last: in none there would be none.
fn lasting(text: &str) -> Result<Duration, String> {
    let span = duration::parse(text)?;
    let span = Some(span).filter(|span| !span.is_zero());
    span.ok_or_else(|| format!("expected a span above 0, such as 90s, 10m or 2h, got {text:?}"))
}

/// A span with its unit: a bare number could mean either.
fn span(text: &str) -> Option<Duration> {
    if let Some(digits) = text.strip_suffix("ms") {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        return digits.parse().ok().filter(|_| is_number).map(Duration::from_millis);
    }
    let seconds = text.ends_with('s').then(|| duration::parse(text))?;
    seconds.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_one_span_or_two() {
        let ms = Duration::from_millis;
        for (text, expected) in [
            ("3s", Delays::of(ms(3000))),
            ("0ms", Delays::of(ms(0))),
            ("500ms..2s", Delays::between(ms(500), ms(2000))),
            ("1s..1s", Delays::between(ms(1000), ms(1000))),
        ] {
            assert_eq!(delays(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "3",
            "500..2000",
            "ms",
            "s",
            "-1s",
            "+1ms",
            "2s..1s",
            "1s..",
            "..1s",
            "1s..2s..3s",
            "1m",
        ] {
            let error = delays(text).unwrap_err();
            assert!(
                error.contains("500ms..2s") && error.contains(&format!("{text:?}")),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_wrong_with_delays_is_told() {
        for (text, words) in [("2m", "at most 60s"), ("2s..1s", "the shorter span first")] {
            let error = delays(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn faults_last_some_time() {
        assert_eq!(lasting("1"), Ok(Duration::from_secs(1)));
        for text in ["0", "0s", "0d"] {
            assert!(lasting(text).unwrap_err().contains("above 0"), "{text}");
        }
        assert!(lasting("x").unwrap_err().contains("such as 90s"));
    }

    #[test]
    fn a_rate_is_from_0_to_1() {
        for (text, expected) in [("0", 0.0), ("1", 1.0), ("0.3", 0.3), ("1e-3", 0.001)] {
            assert_eq!(rate(text).map(f64::to_bits), Ok(f64::to_bits(expected)), "{text}");
        }
        for text in ["", "-0.1", "1.0001", "30%", "NaN", "inf"] {
            assert!(rate(text).unwrap_err().contains("from 0 to 1"), "{text}");
        }
    }
}
