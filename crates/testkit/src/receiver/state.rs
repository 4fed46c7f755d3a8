//! What the threads of a receiver share with the test.

use std::collections::VecDeque;
use std::fmt;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::answer::Answer;
use super::request::Request;

/// How long a test waits for a request that does not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What decides about a request, after the script has ended.
pub(super) type Rule = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    script: VecDeque<Answer>,
    rule: Option<Rule>,
    requests: Vec<Request>,
    connections: Vec<TcpStream>,
    closed: usize,
    in_flight: usize,
    most_in_flight: usize,
    releases: usize,
    is_stopping: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state().script.extend(answers);
    }

    pub(super) fn rule(&self, rule: Rule) {
        self.state().rule = Some(rule);
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.state().connections.len()
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.state().most_in_flight
    }

    /// Keeps a handle with which [`Self::stop`] ends the connection; its number, from 1.
    pub(super) fn connected(&self, connection: TcpStream) -> usize {
        let mut state = self.state();
        state.connections.push(connection);
        self.changed.notify_all();
        state.connections.len()
    }

    /// A connection has ended.
    pub(super) fn disconnected(&self) {
        self.state().closed += 1;
        self.changed.notify_all();
    }

    /// Remembers a request and says what to do with it, and how many releases there were before it.
    pub(super) fn arrived(&self, request: &Request) -> (Answer, usize) {
        let mut state = self.state();
        let scripted = state.script.pop_front();
        let rule = state.rule.clone();
        state.in_flight += 1;
        state.most_in_flight = state.most_in_flight.max(state.in_flight);
        state.requests.push(request.clone());
        let releases = state.releases;
        self.changed.notify_all();
        drop(state);
        let by_rule = || rule.map_or_else(|| Answer::status(200), |rule| rule(request));
        (scripted.unwrap_or_else(by_rule), releases)
    }

    /// A request is about to be answered.
    pub(super) fn answering(&self) {
        self.state().in_flight -= 1;
    }

    pub(super) fn release(&self) {
        self.state().releases += 1;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.is_stopping = true;
        for connection in &state.connections {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
        self.changed.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state().is_stopping
    }

    /// Waits until this many requests have come.
    pub(super) fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        let state = self.wait(PATIENCE, |state| state.requests.len() >= count);
        let came = state.requests.len();
        let requests = state.requests.clone();
        drop(state);
        assert!(came >= count, "{came} of {count} requests came in {PATIENCE:?}");
        requests
    }

    /// Waits until no connection is open.
    pub(super) fn wait_for_disconnection(&self) {
        let state = self.wait(PATIENCE, |state| state.closed == state.connections.len());
        let open = state.connections.len() - state.closed;
        drop(state);
        assert_eq!(open, 0, "connections are open after {PATIENCE:?}");
    }

    /// Waits until there was a release after these, or the end.
    pub(super) fn wait_for_release(&self, before: usize) {
        drop(self.wait(Duration::MAX, |state| state.releases > before));
    }

    /// Waits this long, or until the end.
    pub(super) fn wait_for(&self, time: Duration) {
        drop(self.wait(time, |_| false));
    }

    /// Waits until the end.
    pub(super) fn wait_for_stop(&self) {
        self.wait_for(Duration::MAX);
    }

    /// Waits until the condition holds, the time is over or the receiver stops.
    fn wait(&self, time: Duration, holds: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waits = |state: &mut State| !state.is_stopping && !holds(state);
        let waited = self.changed.wait_timeout_while(self.state(), time, waits);
        waited.expect("no thread of the receiver panics with its state").0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no thread of the receiver panics with its state")
    }
}
