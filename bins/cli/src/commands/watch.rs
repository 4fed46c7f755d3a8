//! `restante watch`

use restante_client::{Arrival, Error, Existing, Inbox, Watch};

use crate::args::wait::WatchArgs;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{self, clean};

/// Shows mail as it arrives: until Ctrl-C, or until there were so many.
pub(crate) async fn run(context: &Context, wanted: WatchArgs) -> Result<(), Failure> {
    let inboxes = inboxes(context, &wanted).await?;
    let existing = if wanted.existing {
        Existing::Deliver
    } else {
        Existing::Skip
    };
    let watch = context.client.watch(&inboxes, existing).await?;
    // Machines wait for it too: what comes from now on is shown.
    let addresses: Vec<_> = inboxes.iter().map(|inbox| clean::line(inbox.address())).collect();
    context
        .output
        .note(&format!("watching {}; Ctrl-C ends it", addresses.join(", ")));
    follow(context, watch, wanted.count, inboxes.len() > 1).await
}

async fn follow(context: &Context, mut watch: Watch, count: Option<u32>, several: bool) -> Result<(), Failure> {
    let mut shown = 0;
    let mut last = None;
    while count.is_none_or(|count| shown < count) {
        match watch.next().await {
            Some(Ok(arrival)) => {
                show(context, &arrival, several)?;
                shown += 1;
            }
            Some(Err(error)) if ends(&error) => last = Some(error),
            Some(Err(error)) => context.output.note(&clean::line(&format!("error: {error}"))),
            None => return Err(last.map_or_else(|| Failure::Usage("all inboxes are gone".to_owned()), Failure::from)),
        }
    }
    Ok(())
}

/// Whether a subscription ends with this error; others are of one email or one inbox.
fn ends(error: &Error) -> bool {
    matches!(
        error,
        Error::Unauthorized(_) | Error::Closed | Error::Stream(_) | Error::Strategy(_)
    )
}

/// The inboxes that are meant, each once.
async fn inboxes(context: &Context, wanted: &WatchArgs) -> Result<Vec<Inbox>, Failure> {
    if wanted.all {
        return context.readable_inboxes().await;
    }
    if wanted.addresses.is_empty() {
        return Ok(vec![context.inbox(None).await?]);
    }
    let mut inboxes: Vec<Inbox> = Vec::new();
    for address in &wanted.addresses {
        let inbox = context.inbox(Some(address)).await?;
        if inboxes.iter().all(|known| known.hash() != inbox.hash()) {
            inboxes.push(inbox);
        }
    }
    Ok(inboxes)
}

fn show(context: &Context, arrival: &Arrival, several: bool) -> Result<(), Failure> {
    if context.output.json {
        return Ok(context.output.json_line(&arrival.email)?);
    }
    let inbox = several.then(|| arrival.inbox.address());
    Ok(context
        .output
        .line(&output::email::arrival(&arrival.email, inbox, context.output.width()))?)
}
