//! What inboxes may ask for only where the server allows it.

use super::*;

#[test]
fn faults_a_spam_filter_and_mail_made_up_are_off_unless_asked_for() {
    let off = settings(
        &[],
        &[
            ("SVC_CHAOS_SEED", "7"),
            ("SVC_RSPAMD_URL", "http://scores.test:1"),
            ("SVC_SPAM_ANALYSIS_INBOX_DEFAULT", "yes"),
        ],
    );
    assert_eq!(
        (off.chaos, off.spam.is_none(), off.http.test_emails),
        (None, true, false)
    );
    let on = settings(
        &["--chaos-enabled", "--spam-analysis-enabled", "--sdk-development"],
        &[],
    );
    assert_eq!(on.chaos, Some(ChaosSettings { seed: None }));
    assert!(on.spam.is_some() && on.http.test_emails);
    for seed in [0, u64::MAX] {
        let seeded = settings(&["--chaos-enabled"], &[("SVC_CHAOS_SEED", &seed.to_string())]);
        assert_eq!(seeded.chaos, Some(ChaosSettings { seed: Some(seed) }));
    }
    assert_eq!(
        errors(&[], &[("SVC_CHAOS_SEED", "-1")]),
        "SVC_CHAOS_SEED: expected a number from 0 to 18446744073709551615, got \"-1\""
    );
}

#[test]
fn the_persistence_policy_is_one_of_four() {
    assert_eq!(settings(&[], &[]).inboxes.persistence, ChoicePolicy::Enabled);
    assert_eq!(settings(&[], &[DOMAINS]).inboxes.persistence, ChoicePolicy::Enabled);
    for policy in [
        ChoicePolicy::Always,
        ChoicePolicy::Enabled,
        ChoicePolicy::Disabled,
        ChoicePolicy::Never,
    ] {
        let name = policy.to_string();
        let given = settings(&[], &[("SVC_PERSISTENCE_POLICY", &name)]);
        assert_eq!(given.inboxes.persistence, policy);
    }
    let error = errors(&[], &[("SVC_PERSISTENCE_POLICY", "true")]);
    assert!(error.starts_with("SVC_PERSISTENCE_POLICY: expected "), "{error}");
}

#[test]
fn what_stands_before_the_host_of_a_url_is_not_repeated() {
    assert_eq!(
        errors(&[], &[("SVC_RSPAMD_URL", "http://user:secret@scores.test")]),
        "SVC_RSPAMD_URL: expected an http:// or https:// URL without user, query and fragment"
    );
    assert_eq!(
        errors(&[], &[("SVC_RSPAMD_URL", "scores.test")]),
        "SVC_RSPAMD_URL: expected an http:// or https:// URL without user, query and fragment, got \"scores.test\""
    );
}
