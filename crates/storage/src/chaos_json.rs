//! What is done to the mail of an inbox, as the JSON that is stored and exported.
//!
//! JSON, as the configuration leaves out what was not given: postcard cannot tell what is absent.

use bytes::Bytes;
use restante_model::ChaosConfig;

/// Bytes of a configuration, at most: it is part of the head of a record (one with everything takes about 600).
pub(crate) const CHAOS_MAX: usize = 2 * 1024;

/// The JSON of a configuration; none of one that could not be read back, or is too long.
pub(crate) fn encode(chaos: &ChaosConfig) -> Option<Bytes> {
    let json = serde_json::to_vec(chaos).ok().filter(|json| json.len() <= CHAOS_MAX)?;
    // A probability that is no number is written as null.
    decode(&json)?;
    Some(json.into())
}

/// The configuration in stored JSON.
pub(crate) fn decode(json: &[u8]) -> Option<ChaosConfig> {
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use restante_model::Timestamp;
    use restante_model::chaos::{Blackhole, ConnectionDrop, ErrorKind, Greylist, Latency, RandomError, TrackBy};

    use super::*;

    fn everything() -> ChaosConfig {
        ChaosConfig {
            enabled: true,
            expires_at: Some(Timestamp::MAX),
            latency: Some(Latency {
                enabled: true,
                min_delay_ms: u64::MAX,
                max_delay_ms: u64::MAX,
                jitter: false,
                probability: 0.1 + 0.2,
            }),
            connection_drop: Some(ConnectionDrop {
                enabled: true,
                probability: 1.0 / 3.0,
                graceful: true,
            }),
            random_error: Some(RandomError {
                enabled: true,
                error_rate: f64::MIN_POSITIVE,
                error_types: vec![ErrorKind::Temporary, ErrorKind::Permanent],
            }),
            greylist: Some(Greylist {
                enabled: true,
                retry_window_ms: u64::MAX,
                max_attempts: u32::MAX,
                track_by: TrackBy::IpSender,
            }),
            blackhole: Some(Blackhole {
                enabled: true,
                trigger_webhooks: true,
            }),
        }
    }

    #[test]
    fn the_largest_configuration_is_stored() {
        let json = encode(&everything()).unwrap();
        assert!(json.len() < CHAOS_MAX / 2, "{}", json.len());
        assert!(decode(&json).is_some_and(|read| read.greylist == everything().greylist));
    }

    #[test]
    fn what_could_not_be_read_back_is_not_stored() {
        let mut chaos = everything();
        chaos.latency = chaos.latency.map(|latency| Latency {
            probability: f64::NAN,
            ..latency
        });
        assert_eq!(encode(&chaos), None);
        let mut chaos = everything();
        chaos.random_error = chaos.random_error.map(|error| RandomError {
            error_types: vec![ErrorKind::Temporary; 200],
            ..error
        });
        assert_eq!(encode(&chaos), None);
        assert_eq!(decode(b"{}"), None);
    }
}
