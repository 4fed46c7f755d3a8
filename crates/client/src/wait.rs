//! Waiting in a test: for one email, for several, or that none comes.
//!
//! What is in the inbox already counts, so it does not matter whether the application sends before or after the wait
//! begins.
//! An email that cannot be opened ends a wait with its error: it could be the one that is waited for, and a wrong
//! signature must not look like a time-out.
//! [`Inbox::each_summary`] names it and shows the others, [`Inbox::delete_email`] removes it.
//! Trouble that may pass, of the network or the server, does not end a wait that has begun.
//! But that an email is not there is said only by a wait that could look when its time was over; one that could not
//! ends with what kept it from looking.

mod fetches;
mod search;
mod tally;
#[cfg(test)]
mod tests;

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};

use self::search::Search;
use crate::{Email, EmailMatcher, Error, Inbox};

/// How long an email is waited for unless said otherwise (interface, "Client-side defaults").
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long it is looked unless said otherwise whether none comes; such a wait takes all of it.
const WINDOW: Duration = Duration::from_secs(5);

impl Inbox {
    /// Waits for an email that fits, the oldest if there are several and none takes long to fetch; for 30 s unless [`WaitForEmail::timeout`] says otherwise.
    ///
    /// ```no_run
    /// # async fn example(inbox: restante_client::Inbox) -> Result<(), restante_client::Error> {
    /// use std::time::Duration;
    /// use restante_client::EmailMatcher;
    ///
    /// let welcome = inbox
    ///     .wait_for(EmailMatcher::new().subject("welcome"))
    ///     .timeout(Duration::from_secs(10))
    ///     .await?;
    /// assert!(welcome.links()[0].starts_with("https://shop.test/confirm"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for(&self, matcher: EmailMatcher) -> WaitForEmail {
        WaitForEmail {
            inbox: self.clone(),
            matcher,
            timeout: TIMEOUT,
        }
    }

    /// Waits for so many emails that fit; for 30 s unless [`WaitForEmails::timeout`] says otherwise.
    pub fn wait_for_many(&self, count: usize, matcher: EmailMatcher) -> WaitForEmails {
        WaitForEmails {
            inbox: self.clone(),
            matcher,
            count,
            timeout: TIMEOUT,
        }
    }

    /// Waits whether an email comes that fits, where none should; for 5 s unless [`WaitForNone::window`] says
    /// otherwise.
    pub fn wait_for_none(&self, matcher: EmailMatcher) -> WaitForNone {
        WaitForNone {
            inbox: self.clone(),
            matcher,
            window: WINDOW,
        }
    }
}

/// A wait for one email: `.await` begins it and gives an [`Email`].
///
/// # Errors
/// [`Error::WaitTimeout`] with how many others there were; [`Error::InboxNotFound`] if the inbox is gone;
/// [`Error::SignatureVerification`] and [`Error::Decryption`] of an email that cannot be opened; what ends a
/// subscription; what kept it from looking at the inbox, or at an email that could be the one, when the time was over.
#[derive(Debug)]
#[must_use = "it waits when it is awaited"]
pub struct WaitForEmail {
    inbox: Inbox,
    matcher: EmailMatcher,
    timeout: Duration,
}

/// A wait for several emails: `.await` begins it and gives them in the order of their arrival.
///
/// # Errors
/// As [`WaitForEmail`].
#[derive(Debug)]
#[must_use = "it waits when it is awaited"]
pub struct WaitForEmails {
    inbox: Inbox,
    matcher: EmailMatcher,
    count: usize,
    timeout: Duration,
}

/// A look for an email that should not come: `.await` begins it and takes the whole window if none comes.
///
/// # Errors
/// [`Error::UnexpectedEmail`] as soon as one is there that fits, and the others of [`WaitForEmail`] but its time-out.
#[derive(Debug)]
#[must_use = "it waits when it is awaited"]
pub struct WaitForNone {
    inbox: Inbox,
    matcher: EmailMatcher,
    window: Duration,
}

impl WaitForEmail {
    /// For how long; after it the inbox is looked at once more, which takes up to 10 s if the server is slow.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl WaitForEmails {
    /// For how long; after it the inbox is looked at once more, which takes up to 10 s if the server is slow.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl WaitForNone {
    /// For how long; after it the inbox is looked at once more, which takes up to 10 s if the server is slow.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }
}

impl IntoFuture for WaitForEmail {
    type Output = Result<Email, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let search = Search::new(self.inbox, self.matcher, 1);
        async move {
            let mut emails = search.run(self.timeout).await?.into_result(self.timeout)?;
            Ok(emails.swap_remove(0))
        }
        .boxed()
    }
}

impl IntoFuture for WaitForEmails {
    type Output = Result<Vec<Email>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let search = Search::new(self.inbox, self.matcher, self.count);
        async move { search.run(self.timeout).await?.into_result(self.timeout) }.boxed()
    }
}

impl IntoFuture for WaitForNone {
    type Output = Result<(), Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let search = Search::new(self.inbox, self.matcher, 1);
        async move { search.run(self.window).await?.none() }.boxed()
    }
}
