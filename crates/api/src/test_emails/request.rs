//! Reading what a test email is to say.

use bytes::Bytes;
use restante_envelope::WireProfile;
use restante_inbox::test_email::{ForcedVerdicts, Sender, Subject, TestEmail, forward_path};
use restante_model::address::ADDRESS_MAX;
use restante_model::auth::{SpfVerdict, Verdict};
use serde_json::Value;

use crate::body::JsonObject;
use crate::error::ApiError;
use crate::fields::Fields;

/// Characters of a subject, at most.
const SUBJECT_MAX: usize = 998;
const FROM: &str = "test@restante.test";
const SUBJECT: &str = "Test Email";
const TEXT: &str = "Test email body";

const SPF: [SpfVerdict; 7] = [
    SpfVerdict::Pass,
    SpfVerdict::Fail,
    SpfVerdict::Softfail,
    SpfVerdict::Neutral,
    SpfVerdict::None,
    SpfVerdict::Temperror,
    SpfVerdict::Permerror,
];
const OTHERS: [Verdict; 3] = [Verdict::Pass, Verdict::Fail, Verdict::None];

/// What is asked for, with the bytes as sent.
///
/// # Errors
/// 400 with every field that breaks a rule.
pub(super) fn read(mut body: JsonObject, profile: WireProfile) -> Result<(TestEmail, Bytes), ApiError> {
    let email = email(&mut body.fields, profile);
    let sent = body.finish()?;
    // Whatever is missing was noted.
    email.map(|email| (email, sent)).ok_or(ApiError::Internal)
}

fn email(fields: &mut Fields, profile: WireProfile) -> Option<TestEmail> {
    let to = parsed(fields, "to", None, ADDRESS_MAX, |text| forward_path(&text));
    let from = parsed(fields, "from", Some(FROM), ADDRESS_MAX, |text| Sender::parse(&text));
    let subject = parsed(fields, "subject", Some(SUBJECT), SUBJECT_MAX, Subject::parse);
    let text = fields.text("text");
    let html = fields.text("html");
    let verdicts = fields.object("auth").map(|mut auth| {
        let verdicts = verdicts(&mut auth, profile);
        fields.absorb(auth);
        verdicts
    });
    Some(TestEmail {
        to: to?,
        from: from?,
        subject: subject?,
        text: text.unwrap_or_else(|| TEXT.to_owned()),
        html,
        verdicts: verdicts.unwrap_or_default(),
    })
}

/// Takes a text of so many characters at most; `None` if it breaks a rule, which is noted.
fn parsed<T, E: std::error::Error>(
    fields: &mut Fields,
    name: &str,
    default: Option<&str>,
    max: usize,
    parse: impl FnOnce(String) -> Result<T, E>,
) -> Option<T> {
    let text = match (fields.take(name), default) {
        (Some(Value::String(text)), _) => text,
        (Some(_), _) => return fields.wrong(name, "must be a string"),
        (None, Some(default)) => default.to_owned(),
        (None, None) => return fields.wrong(name, "is required"),
    };
    if text.chars().count() > max {
        return fields.wrong(name, &format!("must be at most {max} characters"));
    }
    parse(text).map_err(|error| fields.note(name, &error.to_string())).ok()
}

fn verdicts(auth: &mut Fields, profile: WireProfile) -> ForcedVerdicts {
    let all = ForcedVerdicts::default();
    ForcedVerdicts {
        spf: one_of(auth, "spf", &SPF.map(|verdict| (verdict.as_str().into(), verdict))).unwrap_or(all.spf),
        dkim: one_of(auth, "dkim", &words()).unwrap_or(all.dkim),
        dmarc: one_of(auth, "dmarc", &words()).unwrap_or(all.dmarc),
        reverse_dns: reverse_dns(auth, profile).unwrap_or(all.reverse_dns),
    }
}

/// The words of all checks but SPF.
fn words() -> Vec<(Value, Verdict)> {
    OTHERS
        .iter()
        .map(|verdict| (verdict.as_str().into(), *verdict))
        .collect()
}

/// The result of reverse DNS: in the other profile it may be a boolean (decisions, section 1).
fn reverse_dns(auth: &mut Fields, profile: WireProfile) -> Option<Verdict> {
    let mut values = words();
    match profile {
        WireProfile::Service => {}
        WireProfile::VaultSandbox => values.extend([(true.into(), Verdict::Pass), (false.into(), Verdict::Fail)]),
    }
    one_of(auth, "reverseDns", &values)
}

/// Takes what one of the values stands for.
fn one_of<T: Copy>(fields: &mut Fields, name: &str, values: &[(Value, T)]) -> Option<T> {
    let given = fields.take(name)?;
    let found = values.iter().find(|(value, _)| *value == given);
    found.map(|(_, meaning)| *meaning).or_else(|| {
        let shown = values.iter().map(|(value, _)| match value {
            Value::String(word) => word.clone(),
            other => other.to_string(),
        });
        let shown: Vec<_> = shown.collect();
        fields.wrong(name, &format!("must be one of {}", shown.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(body: &Value, profile: WireProfile) -> Vec<String> {
        match read(JsonObject::of(body), profile) {
            Ok(_) => Vec::new(),
            Err(ApiError::Invalid(errors)) => errors,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn every_field_that_is_wrong_is_named_at_once() {
        let body = json!({
            "from": 1, "subject": "a\nb", "text": [], "html": 1, "txt": "",
            "auth": { "spf": "skipped", "dkim": "softfail", "dmarc": true, "reverseDns": "PASS", "arc": "pass" },
        });
        let expected = [
            "to is required",
            "from must be a string",
            "subject must not contain control characters",
            "text must be a string",
            "html must be a string",
            "auth.spf must be one of pass, fail, softfail, neutral, none, temperror, permerror",
            "auth.dkim must be one of pass, fail, none",
            "auth.dmarc must be one of pass, fail, none",
            "auth.reverseDns must be one of pass, fail, none",
            "property auth.arc should not exist",
            "property txt should not exist",
        ];
        assert_eq!(refusal(&body, WireProfile::Service), expected);
    }

    #[test]
    fn booleans_are_results_of_reverse_dns_in_the_other_profile_only() {
        let body = |value: Value| json!({ "to": "a@x.test", "auth": { "reverseDns": value } });
        for flag in [true, false] {
            let refused = ["auth.reverseDns must be one of pass, fail, none"];
            assert_eq!(refusal(&body(flag.into()), WireProfile::Service), refused);
            let (email, _) = read(JsonObject::of(&body(flag.into())), WireProfile::VaultSandbox)
                .ok()
                .unwrap();
            let expected = if flag { Verdict::Pass } else { Verdict::Fail };
            assert_eq!(email.verdicts.reverse_dns, expected);
        }
        let refused = ["auth.reverseDns must be one of pass, fail, none, true, false"];
        for value in [json!("skipped"), json!("true"), json!(1), json!(0)] {
            assert_eq!(refusal(&body(value), WireProfile::VaultSandbox), refused);
        }
    }

    #[test]
    fn every_length_has_its_bound() {
        let to = |length: usize| format!("{}@x.test", "a".repeat(length - 7));
        let from = |length: usize| format!("{} <a@x.test>", "ü".repeat(length - 11));
        for (body, errors) in [
            (json!({ "to": to(254) }), vec![]),
            (json!({ "to": to(255) }), vec!["to must be at most 254 characters"]),
            (json!({ "to": "a@x", "from": from(254) }), vec![]),
            (
                json!({ "to": "a@x", "from": from(255) }),
                vec!["from must be at most 254 characters"],
            ),
            (json!({ "to": "a@x", "subject": "😀".repeat(998) }), vec![]),
            (
                json!({ "to": "a@x", "subject": "x".repeat(999) }),
                vec!["subject must be at most 998 characters"],
            ),
            (json!({ "to": "a" }), vec!["to must be an email address"]),
            (json!({ "to": null }), vec!["to is required"]),
            (json!({ "to": 1 }), vec!["to must be a string"]),
            (json!({ "to": "a@x", "auth": [] }), vec!["auth must be an object"]),
            (
                json!({ "to": "a@x", "from": null, "subject": null, "text": null, "html": null, "auth": null }),
                vec![],
            ),
            (
                json!({ "to": "a@x", "auth": { "spf": null, "dkim": null, "dmarc": null, "reverseDns": null } }),
                vec![],
            ),
        ] {
            assert_eq!(refusal(&body, WireProfile::Service), errors, "{body}");
        }
    }
}
