//! Counting requests by client address in windows of time.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use std::collections::HashMap;
use tokio::time::Instant;

/// Addresses that are remembered before old windows are swept out.
const SWEEP_AT: usize = 10_000;

/// Allows so many requests of one address in a window.
#[derive(Debug)]
pub struct Throttle {
    limit: u32,
    window: Duration,
    seen: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    count: u32,
}

impl Throttle {
    /// `limit` requests in a `window`.
    pub fn new(limit: u32, window: Duration) -> Self {
        Self {
            limit,
            window,
            seen: Mutex::new(HashMap::new()),
        }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// How long to wait, when the limit of the window is used up.
    pub fn count(&self, ip: IpAddr) -> Result<(), Duration> {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= SWEEP_AT {
            seen.retain(|_, window| now.duration_since(window.began) < self.window);
        }
        let window = seen.entry(ip).or_insert(Window { began: now, count: 0 });
        if now.duration_since(window.began) >= self.window {
            *window = Window { began: now, count: 0 };
        }
        if window.count >= self.limit {
            return Err(self.window.saturating_sub(now.duration_since(window.began)));
        }
        window.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_window_fills_and_passes() {
        let throttle = Throttle::new(2, Duration::from_mins(1));
        let (one, two) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
        assert_eq!(throttle.count(one), Ok(()));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(throttle.count(one), Ok(()));
        assert_eq!(throttle.count(one), Err(Duration::from_secs(40)));
        assert_eq!(throttle.count(two), Ok(()));
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(throttle.count(one), Ok(()));
    }
}
