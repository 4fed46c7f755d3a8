//! The faults of an inbox, for people.

use std::time::Duration;

use restante_client::Timestamp;
use restante_client::chaos::{
    Blackhole, ChaosConfig, ConnectionDrop, ErrorKind, Greylist, Latency, RandomError, TrackBy,
};

use super::table::Table;
use super::time;

/// Whether anything is done, and what.
pub(crate) fn table(address: &str, config: &ChaosConfig, now: Timestamp) -> Table {
    let mut table = Table::facts();
    table.fact("Inbox", address);
    table.fact("Chaos", state(config, now));
    let sections = [
        ("Latency", config.latency.filter(|section| section.enabled).map(latency)),
        (
            "Connections",
            config.connection_drop.filter(|section| section.enabled).map(drops),
        ),
        (
            "Greylisting",
            config.greylist.filter(|section| section.enabled).map(greylist),
        ),
        (
            "Errors",
            config
                .random_error
                .as_ref()
                .filter(|section| section.enabled)
                .map(errors),
        ),
        (
            "Blackhole",
            config.blackhole.filter(|section| section.enabled).map(blackhole),
        ),
    ];
    for (name, text) in sections {
        if let Some(text) = text {
            table.fact(name, text);
        }
    }
    table
}

fn state(config: &ChaosConfig, now: Timestamp) -> String {
    match config.expires_at {
        _ if !config.enabled => "off".to_owned(),
        None => "on".to_owned(),
        Some(end) if config.is_on(now) => format!("on, ends {}", time::relative(end, now)),
        Some(end) => format!("off, ended {}", time::relative(end, now)),
    }
}

fn latency(latency: Latency) -> String {
    let span = |ms| {
        if ms < 1000 {
            format!("{ms} ms")
        } else {
            format!("{} s", Duration::from_millis(ms).as_secs_f64())
        }
    };
    let (shortest, longest) = (latency.min_delay_ms, latency.max_delay_ms);
    let delay = if latency.jitter && shortest < longest {
        format!("{} to {}", span(shortest), span(longest))
    } else {
        span(shortest.max(longest))
    };
    format!("{}, {delay}", often(latency.probability))
}

fn drops(drops: ConnectionDrop) -> String {
    let how = if drops.graceful { "ended (FIN)" } else { "reset (RST)" };
    format!("{how}, {}", often(drops.probability))
}

fn greylist(greylist: Greylist) -> String {
    let window = time::span(Duration::from_millis(greylist.retry_window_ms));
    let by = match greylist.track_by {
        TrackBy::Ip => "client address",
        TrackBy::Sender => "sender",
        TrackBy::IpSender => "client address and sender",
    };
    format!("attempt {} within {window} is taken, by {by}", greylist.max_attempts)
}

fn errors(errors: &RandomError) -> String {
    let kinds = errors.error_types.iter().map(|kind| match kind {
        ErrorKind::Temporary => "temporary (4xx)",
        ErrorKind::Permanent => "permanent (5xx)",
    });
    let kinds = kinds.collect::<Vec<_>>().join(" or ");
    format!("{kinds}, {}", often(errors.error_rate))
}

fn blackhole(blackhole: Blackhole) -> String {
    let heard = if blackhole.trigger_webhooks {
        "webhooks hear of it"
    } else {
        "nobody hears of it"
    };
    format!("mail is thrown away, {heard}")
}

/// For example `always`, or `30 % of the time`.
fn often(rate: f64) -> String {
    if rate >= 1.0 {
        return "always".to_owned();
    }
    // Not 30.000000000000004.
    let percent = (rate * 100.0 * 1000.0).round() / 1000.0;
    format!("{percent} % of the time")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(config: serde_json::Value) -> String {
        let config: ChaosConfig = serde_json::from_value(config).unwrap();
        let table = table("a@x.test", &config, Timestamp::from_unix_ms(60_000));
        anstream::adapter::strip_str(&table.render(None)).to_string()
    }

    #[test]
    fn a_table_says_what_is_done() {
        let config = json!({
            "enabled": true,
            "expiresAt": "1970-01-01T00:11:00.000Z",
            "latency": {
                "enabled": true, "minDelayMs": 500, "maxDelayMs": 2500, "jitter": true, "probability": 1.0,
            },
            "connectionDrop": { "enabled": true, "probability": 0.3, "graceful": false },
            "randomError": { "enabled": true, "errorRate": 0.005, "errorTypes": ["temporary", "permanent"] },
            "greylist": { "enabled": true, "retryWindowMs": 300_000, "maxAttempts": 2, "trackBy": "ip_sender" },
            "blackhole": { "enabled": true, "triggerWebhooks": false },
        });
        assert_eq!(
            shown(config),
            "Inbox        a@x.test\n\
             Chaos        on, ends in 10 min\n\
             Latency      always, 500 ms to 2.5 s\n\
             Connections  reset (RST), 30 % of the time\n\
             Greylisting  attempt 2 within 5 min is taken, by client address and sender\n\
             Errors       temporary (4xx) or permanent (5xx), 0.5 % of the time\n\
             Blackhole    mail is thrown away, nobody hears of it\n"
        );
    }

    #[test]
    fn what_is_off_is_not_shown() {
        assert_eq!(shown(json!({ "enabled": false })), "Inbox  a@x.test\nChaos  off\n");
        let over = json!({
            "enabled": true,
            "expiresAt": "1970-01-01T00:00:57.000Z",
            "blackhole": { "enabled": false, "triggerWebhooks": true },
        });
        assert_eq!(shown(over), "Inbox  a@x.test\nChaos  off, ended 3 s ago\n");
    }

    #[test]
    fn a_delay_without_jitter_is_the_longer_one() {
        for (jitter, shortest, longest, expected) in [
            (true, 0, 999, "0 ms to 999 ms"),
            (true, 1000, 1000, "1 s"),
            (true, 3000, 1000, "3 s"),
            (false, 1000, 2000, "2 s"),
            (false, 2000, 1000, "2 s"),
        ] {
            let latency = Latency {
                enabled: true,
                min_delay_ms: shortest,
                max_delay_ms: longest,
                jitter,
                probability: 0.5,
            };
            assert_eq!(super::latency(latency), format!("50 % of the time, {expected}"));
        }
    }
}
