//! `restante webhook`

use crate::args::webhook::WebhookCommand;
use crate::context::Context;
use crate::failure::Failure;

/// Does it.
#[expect(clippy::unused_async, reason = "it will ask the server")]
pub(crate) async fn run(_context: &Context, _command: WebhookCommand) -> Result<(), Failure> {
    Err(Failure::Usage("this version cannot do that yet".to_owned()))
}
