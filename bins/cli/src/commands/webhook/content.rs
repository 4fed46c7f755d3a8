//! Flags become a webhook, or a change of one.

use std::path::Path;

use restante_client::webhooks::{CustomTemplate, FilterConfig, NewWebhook, WebhookTemplate, WebhookUpdate};

use crate::args::webhook::{ContentArgs, CreateArgs, TemplateChoice, UpdateArgs};
use crate::failure::Failure;

/// The webhook that is to be created.
pub(super) fn new(wanted: &CreateArgs) -> Result<NewWebhook, Failure> {
    let mut new = NewWebhook::new(&wanted.target, wanted.events.iter().copied());
    if let Some(template) = template(&wanted.content)? {
        new = new.template(template);
    }
    if let Some(filter) = filter(&wanted.content)? {
        new = new.filter(filter);
    }
    if let Some(description) = &wanted.content.description {
        new = new.description(description);
    }
    Ok(new)
}

/// The change that is wanted.
pub(super) fn update(wanted: &UpdateArgs) -> Result<WebhookUpdate, Failure> {
    let mut update = WebhookUpdate::new();
    if let Some(target) = &wanted.target {
        update = update.url(target);
    }
    if !wanted.events.is_empty() {
        update = update.events(wanted.events.iter().copied());
    }
    update = match template(&wanted.content)? {
        Some(template) => update.template(template),
        None if wanted.no_template => update.remove_template(),
        None => update,
    };
    update = match filter(&wanted.content)? {
        Some(filter) => update.filter(filter),
        None if wanted.no_filter => update.remove_filter(),
        None => update,
    };
    update = match &wanted.content.description {
        Some(description) => update.description(description),
        None if wanted.no_description => update.remove_description(),
        None => update,
    };
    if wanted.enable || wanted.disable {
        update = update.enabled(wanted.enable);
    }
    if update == WebhookUpdate::new() {
        return Err(Failure::Usage(
            "nothing is to be changed: --help shows what can be".to_owned(),
        ));
    }
    Ok(update)
}

fn template(wanted: &ContentArgs) -> Result<Option<WebhookTemplate>, Failure> {
    Ok(match (&wanted.template, &wanted.content_type) {
        (None, _) => None,
        (Some(TemplateChoice::BuiltIn(built_in)), None) => Some((*built_in).into()),
        (Some(TemplateChoice::BuiltIn(_)), Some(_)) => {
            let text = "--content-type goes with a body of your own (--template @FILE): the built-in ones are JSON";
            return Err(Failure::Usage(text.to_owned()));
        }
        (Some(TemplateChoice::File(path)), content_type) => {
            let custom = CustomTemplate::new(text(path)?);
            let custom = match content_type {
                Some(content_type) => custom.content_type(content_type),
                None => custom,
            };
            Some(custom.into())
        }
    })
}

fn filter(wanted: &ContentArgs) -> Result<Option<FilterConfig>, Failure> {
    if let Some(path) = &wanted.filter_json {
        let filter = serde_json::from_str(&text(path)?);
        let filter = filter.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())));
        return filter.map(Some);
    }
    if wanted.filters.is_empty() && !wanted.require_auth {
        return Ok(None);
    }
    let start = if wanted.filter_any {
        FilterConfig::any()
    } else {
        FilterConfig::all()
    };
    let rules = wanted.filters.iter().cloned();
    let filter = rules.fold(start, |filter, mut rule| {
        rule.case_sensitive = wanted.case_sensitive;
        filter.with(rule)
    });
    Ok(Some(if wanted.require_auth {
        filter.require_auth(true)
    } else {
        filter
    }))
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|source| Failure::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::args::webhook::WebhookCommand;
    use crate::args::{Arguments, Command};

    fn command(line: &[&str]) -> WebhookCommand {
        let line = ["restante", "webhook"].iter().chain(line);
        match Arguments::try_parse_from(line).unwrap().command {
            Command::Webhook(command) => command,
            other => panic!("{other:?}"),
        }
    }

    fn created(line: &[&str]) -> Value {
        let line = [&["create", "https://example.test/"], line].concat();
        match command(&line) {
            WebhookCommand::Create(wanted) => serde_json::to_value(new(&wanted).unwrap()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn updated(line: &[&str]) -> Result<Value, Failure> {
        match command(&[&["update", "whk_1"], line].concat()) {
            WebhookCommand::Update(wanted) => update(&wanted).map(|update| serde_json::to_value(update).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_webhook_is_made_of_flags() {
        assert_eq!(
            created(&[]),
            json!({ "url": "https://example.test/", "events": ["email.received"] })
        );
        let all = created(&[
            "--event",
            "email.stored",
            "--event=email.deleted",
            "--template=slack",
            "--filter=subject contains a b",
            "--filter=header.X-Id exists",
            "--filter-any",
            "--case-sensitive",
            "--require-auth",
            "--description=x",
        ]);
        let expected = json!({
            "url": "https://example.test/",
            "events": ["email.stored", "email.deleted"],
            "template": "slack",
            "filter": {
                "mode": "any",
                "rules": [
                    { "field": "subject", "operator": "contains", "value": "a b", "caseSensitive": true },
                    { "field": "header.X-Id", "operator": "exists", "caseSensitive": true },
                ],
                "requireAuth": true,
            },
            "description": "x",
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn bodies_and_filters_come_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let (body, rules) = (folder.path().join("body"), folder.path().join("rules"));
        std::fs::write(&body, "{{id}}").unwrap();
        std::fs::write(&rules, r#"{"mode":"any","rules":[],"requireAuth":false}"#).unwrap();
        let template = format!("--template=@{}", body.display());
        let filter = format!("--filter-json={}", rules.display());
        let made = created(&[&template, "--content-type=text/plain", &filter]);
        assert_eq!(
            made["template"],
            json!({ "type": "custom", "body": "{{id}}", "contentType": "text/plain" })
        );
        assert_eq!(
            made["filter"],
            json!({ "mode": "any", "rules": [], "requireAuth": false })
        );
    }

    #[test]
    fn an_update_changes_what_is_named() {
        let removed = updated(&["--no-template", "--no-filter", "--no-description", "--disable"]).unwrap();
        assert_eq!(
            removed,
            json!({ "template": null, "filter": null, "description": null, "enabled": false })
        );
        let changed = updated(&["--target=https://b.test/", "--event=email.stored", "--enable"]).unwrap();
        assert_eq!(
            changed,
            json!({ "url": "https://b.test/", "events": ["email.stored"], "enabled": true })
        );
        assert!(updated(&[]).is_err());
        assert!(updated(&["--template=slack", "--content-type=text/plain"]).is_err());
    }
}
