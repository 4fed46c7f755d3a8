//! When a subscription asks again, and when it opens its stream again.
//!
//! Source: interface, "Client-side defaults".

use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, PollingSettings, ReconnectSettings};

/// Stands for moments that are later than the clock can tell.
const NEVER: Duration = Duration::from_hours(30 * 365 * 24);

/// The moment after a pause, which may be as long as a duration can be.
pub(super) fn after(pause: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(pause).unwrap_or_else(|| now + NEVER)
}

/// How long the server asks to wait after a failure.
pub(super) fn asked(failure: &Error) -> Duration {
    let answer = failure.answer();
    answer.and_then(|answer| answer.retry_after).unwrap_or_default()
}

/// The pauses between two questions.
#[derive(Debug)]
pub(super) struct PollingSchedule {
    settings: PollingSettings,
    pause: Duration,
}

impl PollingSchedule {
    pub(super) fn new(settings: PollingSettings) -> Self {
        Self {
            settings,
            pause: settings.initial,
        }
    }

    /// The pause after an answer; `fraction`, from 0 to 1, is how much of the jitter is added.
    pub(super) fn next_pause(&mut self, changed: bool, fraction: f64) -> Duration {
        if changed {
            self.reset();
        }
        let pause = self.pause;
        self.pause = scale(pause, self.settings.multiplier.max(1.0))
            .min(self.settings.max)
            .max(pause);
        pause.saturating_add(scale(pause, self.settings.jitter * fraction))
    }

    /// Begins again with the first pause.
    pub(super) fn reset(&mut self) {
        self.pause = self.settings.initial;
    }
}

/// A factor that is no number or below zero counts as zero; what is too long is the longest.
fn scale(pause: Duration, factor: f64) -> Duration {
    let seconds = (pause.as_secs_f64() * factor).max(0.0);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// The pauses before a broken stream is opened again.
#[derive(Debug)]
pub(super) struct ReconnectSchedule {
    settings: ReconnectSettings,
    failures: u32,
    pause: Duration,
}

impl ReconnectSchedule {
    pub(super) fn new(settings: ReconnectSettings) -> Self {
        Self {
            settings,
            failures: 0,
            pause: settings.delay,
        }
    }

    /// The pause after a failure; `None` after as many failed attempts to reconnect as there may be.
    pub(super) fn next_pause(&mut self) -> Option<Duration> {
        if self.failures >= self.settings.max_attempts {
            return None;
        }
        self.failures += 1;
        let pause = self.pause;
        self.pause = pause.saturating_mul(2);
        Some(pause)
    }

    /// Begins again: the stream was open.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.settings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn polling() -> PollingSchedule {
        PollingSchedule::new(Settings::default().polling)
    }

    #[test]
    fn polling_slows_down_to_the_longest_pause() {
        let mut schedule = polling();
        let pauses: Vec<_> = (0..10).map(|_| schedule.next_pause(false, 0.0).as_millis()).collect();
        let expected = [2000, 3000, 4500, 6750, 10_125, 15_187, 22_781, 30_000, 30_000, 30_000];
        assert_eq!(pauses, expected);
    }

    #[test]
    fn a_change_makes_polling_fast_again() {
        let mut schedule = polling();
        let changes = [false, false, true, false, true, true, false];
        let pauses = changes.map(|changed| schedule.next_pause(changed, 0.0).as_secs());
        assert_eq!(pauses, [2, 3, 2, 3, 2, 2, 3]);
    }

    #[test]
    fn jitter_adds_up_to_its_share_and_does_not_grow() {
        for (fraction, expected) in [(0.0, 2000), (0.5, 2300), (1.0, 2600)] {
            let mut schedule = polling();
            assert_eq!(schedule.next_pause(false, fraction).as_millis(), expected);
            assert_eq!(schedule.next_pause(false, 0.0).as_millis(), 3000);
        }
    }

    #[test]
    fn polling_settings_without_sense_neither_panic_nor_speed_up() {
        let base = Settings::default().polling;
        let odd = [
            PollingSettings {
                multiplier: 0.0,
                ..base
            },
            PollingSettings {
                multiplier: f64::NAN,
                jitter: f64::NAN,
                ..base
            },
            PollingSettings {
                multiplier: f64::INFINITY,
                jitter: -3.0,
                ..base
            },
            PollingSettings {
                max: Duration::ZERO,
                ..base
            },
        ];
        for settings in odd {
            let mut schedule = PollingSchedule::new(settings);
            for _ in 0..5 {
                assert!(schedule.next_pause(false, 1.0) >= base.initial, "{settings:?}");
            }
        }
    }

    #[test]
    fn reconnecting_doubles_its_pause_and_gives_up() {
        let mut schedule = ReconnectSchedule::new(Settings::default().reconnect);
        let pauses: Vec<_> = std::iter::from_fn(|| schedule.next_pause())
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]);
    }

    #[test]
    fn an_open_stream_resets_the_pauses_and_their_count() {
        let mut schedule = ReconnectSchedule::new(Settings::default().reconnect);
        assert_eq!((0..10).filter_map(|_| schedule.next_pause()).count(), 10);
        schedule.reset();
        assert_eq!(schedule.next_pause(), Some(Duration::from_secs(5)));
    }
}
