//! `restante wait`

use restante_client::{Email, EmailMatcher, Inbox};

use crate::args::wait::{MatcherArgs, WaitArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::spinner::Spinner;
use crate::output::{self, clean};

/// Waits for mail, or that none comes.
///
/// # Errors
/// [`restante_client::Error::WaitTimeout`] and [`restante_client::Error::UnexpectedEmail`] are the answer no: exit code 1.
pub(crate) async fn run(context: &Context, wanted: WaitArgs) -> Result<(), Failure> {
    let inbox = context.inbox(None).await?;
    let matcher = matcher(&wanted.matcher);
    if wanted.none {
        return none(context, &inbox, &matcher, &wanted).await;
    }
    let emails = wait(&inbox, &matcher, &wanted).await?;
    if wanted.quiet {
        return Ok(());
    }
    match (context.output.json, wanted.count, emails.as_slice()) {
        (true, None, [email]) => context.output.json(email)?,
        (true, _, emails) => context.output.json(&emails)?,
        (false, _, emails) => {
            let shown: Vec<String> = emails
                .iter()
                .map(|email| output::email::found(email, context.output.width()))
                .collect();
            context.output.text(&format!("{}\n", shown.join("\n\n")))?;
        }
    }
    Ok(())
}

async fn wait(inbox: &Inbox, matcher: &EmailMatcher, wanted: &WaitArgs) -> Result<Vec<Email>, Failure> {
    let _spinner = spinner("waiting for", inbox, matcher);
    let timeout = wanted.timeout();
    let Some(count) = wanted.count else {
        return Ok(vec![inbox.wait_for(matcher.clone()).timeout(timeout).await?]);
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(inbox.wait_for_many(count, matcher.clone()).timeout(timeout).await?)
}

async fn none(context: &Context, inbox: &Inbox, matcher: &EmailMatcher, wanted: &WaitArgs) -> Result<(), Failure> {
    let spinner = spinner("waiting that none comes of", inbox, matcher);
    let window = wanted.timeout();
    inbox.wait_for_none(matcher.clone()).window(window).await?;
    drop(spinner);
    match (wanted.quiet, context.output.json) {
        (true, _) => {}
        (false, true) => context.output.json(&[(); 0])?,
        (false, false) => {
            let matcher = clean::line(&matcher.to_string());
            context
                .output
                .line(&format!("no email with {matcher} in {} s", window.as_secs()))?;
        }
    }
    Ok(())
}

fn spinner(doing: &str, inbox: &Inbox, matcher: &EmailMatcher) -> Spinner {
    Spinner::start(clean::line(&format!(
        "{doing} emails with {matcher} at {}",
        inbox.address()
    )))
}

/// What the flags ask for.
fn matcher(wanted: &MatcherArgs) -> EmailMatcher {
    let mut matcher = EmailMatcher::new();
    if let Some(text) = &wanted.subject {
        matcher = matcher.subject(text);
    }
    if let Some(text) = &wanted.from {
        matcher = matcher.from(text);
    }
    if let Some(text) = &wanted.to {
        matcher = matcher.to(text);
    }
    if let Some(text) = &wanted.text {
        matcher = matcher.text(text);
    }
    wanted
        .headers
        .iter()
        .fold(matcher, |matcher, (name, text)| matcher.header(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_is_a_condition() {
        let none = MatcherArgs {
            subject: None,
            from: None,
            to: None,
            text: None,
            headers: Vec::new(),
        };
        assert_eq!(matcher(&none).to_string(), EmailMatcher::new().to_string());
        let all = MatcherArgs {
            subject: Some("s".into()),
            from: Some("f".into()),
            to: Some("t".into()),
            text: Some("x".into()),
            headers: vec![("X-A".into(), "1".into()), ("X-B".into(), "2".into())],
        };
        let expected = EmailMatcher::new()
            .subject("s")
            .from("f")
            .to("t")
            .text("x")
            .header("X-A", "1")
            .header("X-B", "2");
        assert_eq!(matcher(&all).to_string(), expected.to_string());
    }
}
