//! `restante webhook …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use restante_client::DeliveryId;
use restante_client::webhooks::{BuiltInTemplate, EventType, FilterOperator, FilterRule};

/// What is to be done with webhooks: the global ones, or those of one inbox.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// The webhooks of the inbox in use instead of the global ones; `--inbox ADDRESS` means that inbox's
    #[arg(long)]
    pub(crate) for_inbox: bool,
}

/// What is to be done with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// List the webhooks
    #[command(alias = "ls")]
    List(ScopeOnly),
    /// Create a webhook
    Create(CreateArgs),
    /// Show a webhook with its statistics
    Show(ShowArgs),
    /// Change a webhook
    Update(UpdateArgs),
    /// Delete webhooks
    #[command(alias = "rm")]
    Delete(DeleteArgs),
    /// Send a test event, and show what the target answers
    Test(OneArgs),
    /// Replace the signing secret; the old one stays valid for an hour
    Rotate(OneArgs),
    /// List the last deliveries, newest first
    Deliveries(DeliveriesArgs),
    /// Deliver an event once more
    Redeliver(RedeliverArgs),
}

/// No more than the scope.
#[derive(Debug, Args)]
pub(crate) struct ScopeOnly {
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// One webhook.
#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// Its id, or as much of its beginning or end as no other has
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its id, or as much of its beginning or end as no other has
    pub(crate) id: String,
    /// Print the signing secret alone
    #[arg(long)]
    pub(crate) secret: bool,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// What a filter, a template and a description are made of.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "the help shows the words as they are typed")]
pub(crate) struct ContentArgs {
    /// default, slack, discord, teams, simple, notification or zapier; or a file with a body of your own, which is JSON
    /// with {{variables}}
    #[arg(long, value_name = "NAME|@FILE", value_parser = template)]
    pub(crate) template: Option<TemplateChoice>,
    /// The content type of a body of your own
    #[arg(long, value_name = "TYPE", requires = "template")]
    pub(crate) content_type: Option<String>,
    /// Only events whose mail fits, such as 'subject contains order'; may be given several times.
    /// Fields: subject, from.address, from.name, to.address, to.name, body.text, body.html, header.NAME.
    /// Operators: equals, contains, starts_with, ends_with, domain, regex, exists
    #[arg(long = "filter", value_name = "FIELD OPERATOR VALUE", value_parser = rule, verbatim_doc_comment)]
    pub(crate) filters: Vec<FilterRule>,
    /// One fitting filter is enough, instead of all
    #[arg(long, requires = "filters")]
    pub(crate) filter_any: bool,
    /// Filters regard case
    #[arg(long, requires = "filters")]
    pub(crate) case_sensitive: bool,
    /// A file with the whole filter as the API takes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["filters", "require_auth"])]
    pub(crate) filter_json: Option<PathBuf>,
    /// Only mail that passes SPF, DKIM and DMARC
    #[arg(long)]
    pub(crate) require_auth: bool,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
}

/// `restante webhook create`
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Where events are posted to
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// A kind of event: email.received, email.stored or email.deleted; may be given several times
    #[arg(
        long = "event",
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "email.received",
        value_parser = event
    )]
    pub(crate) events: Vec<EventType>,
    #[command(flatten)]
    pub(crate) content: ContentArgs,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook update`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
pub(crate) struct UpdateArgs {
    /// Its id, or as much of its beginning or end as no other has
    pub(crate) id: String,
    /// Where events are posted to
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// A kind of event: email.received, email.stored or email.deleted; may be given several times
    #[arg(long = "event", value_name = "KIND", value_delimiter = ',', value_parser = event)]
    pub(crate) events: Vec<EventType>,
    #[command(flatten)]
    pub(crate) content: ContentArgs,
    /// Remove the template
    #[arg(long, conflicts_with = "template")]
    pub(crate) no_template: bool,
    /// Remove the filter
    #[arg(long, conflicts_with_all = ["filters", "filter_json", "require_auth"])]
    pub(crate) no_filter: bool,
    /// Remove the description
    #[arg(long, conflicts_with = "description")]
    pub(crate) no_description: bool,
    /// Deliver again
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    /// Deliver no more
    #[arg(long)]
    pub(crate) disable: bool,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Their ids, or as much of their beginning or end as no other has
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook deliveries`
#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    /// The webhook's id, or as much of its beginning or end as no other has
    pub(crate) id: String,
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<u32>,
    /// Those before this delivery: the `next` of the page before
    #[arg(long, value_name = "DELIVERY")]
    pub(crate) before: Option<DeliveryId>,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook redeliver`
#[derive(Debug, Args)]
pub(crate) struct RedeliverArgs {
    /// The webhook's id, or as much of its beginning or end as no other has
    pub(crate) id: String,
    /// The delivery's id
    pub(crate) delivery: DeliveryId,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// What payloads are made by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateChoice {
    /// A shape of the server's.
    BuiltIn(BuiltInTemplate),
    /// The body in this file.
    File(PathBuf),
}

fn template(text: &str) -> Result<TemplateChoice, String> {
    if let Some(path) = text.strip_prefix('@') {
        return Ok(TemplateChoice::File(path.into()));
    }
    let built_in = BuiltInTemplate::ALL
        .into_iter()
        .find(|template| template.as_str() == text);
    built_in.map(TemplateChoice::BuiltIn).ok_or_else(|| {
        let names = BuiltInTemplate::ALL.map(BuiltInTemplate::as_str).join(", ");
        format!("expected one of {names}, or @FILE with a body of your own")
    })
}

fn event(text: &str) -> Result<EventType, String> {
    let kinds = [
        EventType::EmailReceived,
        EventType::EmailStored,
        EventType::EmailDeleted,
    ];
    let found = kinds.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| format!("expected one of {}", kinds.map(EventType::as_str).join(", ")))
}

/// Reads `subject contains order`; the value is the rest, with its spaces.
fn rule(text: &str) -> Result<FilterRule, String> {
    let expected = || {
        let operators = FilterOperator::ALL.map(FilterOperator::as_str).join(", ");
        format!("expected FIELD OPERATOR VALUE, such as 'subject contains order', with one of {operators}")
    };
    let (field, rest) = text.trim_start().split_once(' ').ok_or_else(expected)?;
    let (word, value) = match rest.trim_start().split_once(' ') {
        Some((word, value)) => (word, Some(value.to_owned())),
        None => (rest.trim_start(), None),
    };
    let operator = FilterOperator::parse(word).ok_or_else(expected)?;
    let header = field
        .strip_prefix(FilterRule::HEADER_FIELD)
        .is_some_and(|name| !name.is_empty());
    if !header && !FilterRule::FIELDS.contains(&field) {
        return Err(format!(
            "no mail has a field {field}: expected {} or header.NAME",
            FilterRule::FIELDS.join(", ")
        ));
    }
    if value.is_none() && operator != FilterOperator::Exists {
        return Err(expected());
    }
    Ok(FilterRule {
        field: field.to_owned(),
        operator,
        value,
        case_sensitive: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_field_an_operator_and_a_value() {
        for (text, field, operator, value) in [
            (
                "subject contains Welcome back ",
                "subject",
                FilterOperator::Contains,
                Some("Welcome back "),
            ),
            ("header.X-Id exists", "header.X-Id", FilterOperator::Exists, None),
            (
                "from.address  domain shop.test",
                "from.address",
                FilterOperator::Domain,
                Some("shop.test"),
            ),
            (
                "body.text regex ^a b$",
                "body.text",
                FilterOperator::Regex,
                Some("^a b$"),
            ),
        ] {
            let value = value.map(str::to_owned);
            let expected = FilterRule {
                field: field.into(),
                operator,
                value,
                case_sensitive: false,
            };
            assert_eq!(rule(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "subject",
            "subject is x",
            "subject contains",
            "header. exists",
            "Subject contains x",
        ] {
            assert!(rule(text).is_err(), "{text}");
        }
    }

    #[test]
    fn templates_are_names_or_files() {
        assert_eq!(template("slack"), Ok(TemplateChoice::BuiltIn(BuiltInTemplate::Slack)));
        assert_eq!(template("@a.json"), Ok(TemplateChoice::File("a.json".into())));
        assert!(template("irc").unwrap_err().contains("slack, discord"));
    }

    #[test]
    fn events_are_the_words_of_the_wire() {
        assert_eq!(event("email.deleted"), Ok(EventType::EmailDeleted));
        assert!(
            event("email.opened")
                .unwrap_err()
                .contains("email.received, email.stored, email.deleted")
        );
    }
}
