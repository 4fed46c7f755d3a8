//! Mail that fails on purpose: what an application does when the server is slow, refuses, hangs up or loses mail.
//!
//! ```
//! use std::time::Duration;
//! use restante_client::chaos::{Chaos, Delays, Errors, Greylisting};
//!
//! // The first attempt is refused with 451, the second one is taken.
//! let greylisted = Chaos::new().greylist(Greylisting::new());
//! // Every reply is late, and three in ten refuse.
//! let bad_day = Chaos::new()
//!     .latency(Delays::between(Duration::from_millis(500), Duration::from_secs(2)))
//!     .random_error(Errors::temporary().rate(0.3));
//! ```
//!
//! [`Inbox::set_chaos`] asks for it, [`NewInbox::chaos`](crate::NewInbox::chaos) from the first mail on.
//! One mail meets at most one of these, in this order: the connection ends, greylisting, an error, the blackhole; it is
//! late besides.
//! The whole of it in a test:
//!
//! ```no_run
#![doc = include_str!("../examples/unreliable.rs")]
//! ```
//!
//! Source: interface additions, "Faults".

mod sections;
mod wanted;

pub use restante_model::chaos::{
    Blackhole, ChaosConfig, ConnectionDrop, ErrorKind, Greylist, Latency, RandomError, TrackBy,
};
pub use sections::{Delays, Drops, Errors, Greylisting};
pub use wanted::Chaos;

use crate::http::Call;
use crate::routes::path;
use crate::{Error, Inbox};

impl Inbox {
    /// What is done to its mail: nothing, where `enabled` is false or `expires_at` is over.
    ///
    /// # Errors
    /// [`Error::InboxNotFound`]; [`Error::Api`] with 403 if chaos is switched off at the server (`SVC_CHAOS_ENABLED`),
    /// which [`ServerInfo::chaos_enabled`](crate::ServerInfo) tells beforehand.
    pub async fn chaos(&self) -> Result<ChaosConfig, Error> {
        self.client().http().json(Call::get(self.chaos_path())).await
    }

    /// Asks for faults, in place of those that there were; what the server made of it.
    ///
    /// # Errors
    /// As [`Inbox::chaos`], and [`Error::Api`] with 400 for a value out of its bounds.
    pub async fn set_chaos(&self, wanted: &Chaos) -> Result<ChaosConfig, Error> {
        let call = Call::post(self.chaos_path()).body(wanted);
        self.client().http().json(call).await
    }

    /// Ends all faults; where there are none it is no error.
    ///
    /// # Errors
    /// As [`Inbox::chaos`].
    pub async fn clear_chaos(&self) -> Result<(), Error> {
        self.client().http().done(Call::delete(self.chaos_path())).await
    }

    fn chaos_path(&self) -> String {
        path(["inboxes", self.address(), "chaos"])
    }
}
