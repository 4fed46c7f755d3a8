//! The handler of test emails.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use restante_envelope::digest::sha256;
use restante_inbox::{Announcement, Idempotency, TestEmail};
use restante_model::{EmailId, Inbox};
use restante_wire::TestEmailResource;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::answer;
use crate::body::JsonObject;
use crate::error::ApiError;
use crate::idempotency::idempotency;
use crate::memo::Answered;
use crate::state::Api;

mod request;
mod turn;

pub(crate) use self::turn::{Turn, Turns};

/// Nobody hears of any mail before those before it were told of: a client that does not take its answer must not hold
/// that up for longer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) async fn create(
    State(api): State<Arc<Api>>,
    turn: Turn,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let (email, sent) = request::read(body, api.inboxes.policy().profile)?;
    let idempotency = idempotency(&headers, &sent)?;
    drop(sent);
    let found = api.inboxes.recipient(&email.to).await;
    let inbox = found.map_err(|error| ApiError::receiving(&error, &email.to.to_string()))?;
    let request = idempotency.map(|idempotency| repeatable(idempotency, &inbox));
    let (stored, mut announcement) = oneshot::channel();
    let work = deposit(Arc::clone(&api), turn, inbox, email, stored);
    let answer = api.memo.once(&api.tasks, request, work).await?;
    // There is none if the answer is that to an earlier request.
    Ok(announcement.try_recv().map_or(answer, |first| told_after(&api, first)))
}

/// The key by which a request is remembered: that of the client, for the life of this inbox.
fn repeatable(idempotency: Idempotency, inbox: &Inbox) -> Idempotency {
    let scope = [b"test email".as_slice(), inbox.key.as_bytes()].concat();
    Idempotency {
        key: sha256(&[idempotency.key.as_slice(), &scope].concat()),
        ..idempotency
    }
}

/// Stores the email, also if its client hangs up meanwhile: what is stored must be told of.
async fn deposit(
    api: Arc<Api>,
    turn: Turn,
    inbox: Arc<Inbox>,
    email: TestEmail,
    stored: oneshot::Sender<Announcement>,
) -> Result<Answered, ApiError> {
    let (inboxes, address) = (api.inboxes.clone(), email.to.to_string());
    let max_bytes = api.settings.max_message_bytes;
    let depositing = api.tasks.spawn(async move {
        let _turn = turn;
        inboxes.deposit_test_email(inbox, email, max_bytes).await
    });
    let announcement = depositing.await.map_err(|_| ApiError::Internal)?;
    let announcement = announcement.map_err(|error| ApiError::depositing(error, &address))?;
    let answered = Answered::json(StatusCode::CREATED, &shown(id(&announcement)?));
    // With nobody left who waits for the answer, this drops the announcement, which tells of the email.
    let _ = stored.send(announcement);
    Ok(answered)
}

/// The answer; the email is told of when it is on the wire, as with the 250 of SMTP (decisions, section 6).
fn told_after(api: &Api, announcement: Announcement) -> Response<Body> {
    let resource = announcement.ids().next().map(shown);
    let (written, is_written) = oneshot::channel::<()>();
    api.tasks.spawn(async move {
        // An error is what is waited for: the sender was dropped with the last bytes of the answer.
        let _ = timeout(ANSWER_PATIENCE, is_written).await;
        drop(announcement);
    });
    let bytes = answer::holding(answer::to_bytes(&resource), written);
    answer::with_body(StatusCode::CREATED, Body::from(bytes))
}

fn id(announcement: &Announcement) -> Result<EmailId, ApiError> {
    announcement.ids().next().ok_or(ApiError::Internal)
}

fn shown(email_id: EmailId) -> TestEmailResource {
    TestEmailResource { email_id }
}
