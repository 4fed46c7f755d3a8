//! `restante send`

use crate::args::send::SendArgs;
use crate::context::Context;
use crate::failure::Failure;

/// Does it.
#[expect(clippy::unused_async, reason = "it will ask the server")]
pub(crate) async fn run(_context: &Context, _mail: SendArgs) -> Result<(), Failure> {
    Err(Failure::Usage("this version cannot do that yet".to_owned()))
}
