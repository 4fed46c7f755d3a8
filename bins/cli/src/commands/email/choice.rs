//! Which email is meant.

use restante_client::{EmailId, EmailMatcher, Error, Inbox};

use crate::args::email::{ChangeArgs, ChoiceArgs, EmailChoice};
use crate::commands::partial_id;
use crate::failure::Failure;

/// The email that is meant.
pub(super) async fn find(inbox: &Inbox, choice: &ChoiceArgs) -> Result<EmailId, Failure> {
    match (&choice.subject, &choice.id) {
        (Some(subject), _) => latest_about(inbox, subject).await,
        (None, EmailChoice::Id(id)) => Ok(*id),
        (None, choice) => one_of(&ids(inbox).await?, choice, inbox),
    }
}

/// The emails that are meant, each once.
pub(super) async fn find_all(inbox: &Inbox, wanted: &ChangeArgs) -> Result<Vec<EmailId>, Failure> {
    if wanted.all {
        return Ok(ids(inbox).await?);
    }
    let complete = wanted.ids.iter().all(|choice| matches!(choice, EmailChoice::Id(_)));
    let known = if complete { Vec::new() } else { ids(inbox).await? };
    let mut found = Vec::new();
    for choice in &wanted.ids {
        let id = one_of(&known, choice, inbox)?;
        if !found.contains(&id) {
            found.push(id);
        }
    }
    Ok(found)
}

fn one_of(newest_first: &[EmailId], choice: &EmailChoice, inbox: &Inbox) -> Result<EmailId, Failure> {
    match choice {
        EmailChoice::Id(id) => Ok(*id),
        EmailChoice::Part(part) => partial_id::resolve(newest_first, part, "email"),
        EmailChoice::Latest => newest_first.first().copied().ok_or_else(|| {
            let address = inbox.address();
            Failure::Usage(format!(
                "there is no mail at {address} yet; `restante wait` waits for it"
            ))
        }),
    }
}

async fn latest_about(inbox: &Inbox, subject: &str) -> Result<EmailId, Failure> {
    let wanted = EmailMatcher::new().subject(subject);
    let emails = inbox.each_summary().await?;
    let mut readable = emails.iter().flatten();
    let found = readable.find(|email| wanted.matches_summary(email));
    found.map(|email| email.id).ok_or_else(|| {
        Failure::Usage(format!(
            "no email at {} has {wanted}; `restante wait` waits for it",
            inbox.address()
        ))
    })
}

/// The ids of all emails, newest first, whether they can be opened or not.
async fn ids(inbox: &Inbox) -> Result<Vec<EmailId>, Error> {
    let emails = inbox.each_summary().await?;
    Ok(emails
        .iter()
        .map(|email| email.as_ref().map_or_else(|email| email.id, |email| email.id))
        .collect())
}
