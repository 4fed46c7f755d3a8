//! Which inboxes are persistent, and which of them never end by themselves.

use std::time::Duration;

use restante_envelope::WireProfile;
use restante_inbox::{ChoicePolicy, CreateError, CreateRequest, FieldError, InboxPolicy, TtlWish};
use restante_model::{Clock as _, Inbox, Timestamp};

use crate::fixture::{Fixture, path, policy};

const POLICIES: [ChoicePolicy; 4] = [
    ChoicePolicy::Always,
    ChoicePolicy::Enabled,
    ChoicePolicy::Disabled,
    ChoicePolicy::Never,
];
const WISHES: [Option<bool>; 3] = [None, Some(true), Some(false)];
const PROFILES: [WireProfile; 2] = [WireProfile::Service, WireProfile::VaultSandbox];

/// Whether inboxes are persistent, by policy and wish, in the order of [`POLICIES`] and [`WISHES`].
const OUTCOMES: [[bool; 3]; 4] = [
    [true, true, true],
    [true, true, false],
    [false, true, false],
    [false, false, false],
];

fn fixture(profile: WireProfile, persistence: ChoicePolicy) -> Fixture {
    Fixture::with(InboxPolicy {
        profile,
        persistence,
        ..policy()
    })
}

fn request(persistent: Option<bool>, ttl: TtlWish) -> CreateRequest {
    CreateRequest {
        address: Some("bob@restante.test".into()),
        persistent,
        ttl,
        ..CreateRequest::default()
    }
}

/// Every policy, with every wish and what becomes of it.
fn table() -> impl Iterator<Item = (ChoicePolicy, Option<bool>, bool)> {
    POLICIES.into_iter().zip(OUTCOMES).flat_map(|(policy, outcomes)| {
        WISHES
            .into_iter()
            .zip(outcomes)
            .map(move |(wish, outcome)| (policy, wish, outcome))
    })
}

#[tokio::test]
async fn the_policy_decides_and_a_forbidden_wish_is_no_error() {
    for profile in PROFILES {
        for (persistence, wish, outcome) in table() {
            let fixture = fixture(profile, persistence);
            let inbox = fixture.inboxes.create(request(wish, TtlWish::Absent)).await.unwrap();
            let told = format!("{profile:?} {persistence} {wish:?}");
            assert_eq!(inbox.persistent, outcome, "{told}");
            let found = fixture.inboxes.find("bob@restante.test").await.unwrap();
            assert_eq!(found.persistent, outcome, "{told}");
            // Persistent or not, it ends when its time has come.
            let end = inbox.created_at.after(Duration::from_hours(1));
            assert_eq!(inbox.ends_at(), Some(end), "{told}");
        }
    }
}

#[tokio::test]
async fn an_end_that_is_null_is_none_only_for_what_asks_to_be_persistent_and_becomes_it() {
    for profile in PROFILES {
        for (persistence, wish, outcome) in table() {
            let fixture = fixture(profile, persistence);
            let created = fixture.inboxes.create(request(wish, TtlWish::Null)).await;
            let told = format!("{profile:?} {persistence} {wish:?}");
            if wish == Some(false) {
                let refused = CreateError::Invalid(vec![FieldError::TtlOfEphemeral]);
                assert_eq!(created.unwrap_err(), refused, "{told}");
                continue;
            }
            let stays = profile == WireProfile::VaultSandbox && wish == Some(true) && outcome;
            let inbox = created.unwrap();
            let default = inbox.created_at.after(Duration::from_hours(1));
            assert_eq!(inbox.ends_at(), (!stays).then_some(default), "{told}");
            assert_eq!(inbox.persistent, outcome, "{told}");
        }
    }
}

#[test]
fn the_refusal_names_both_fields() {
    let text = FieldError::TtlOfEphemeral.to_string();
    assert_eq!(text, "ttl must not be null together with persistence 'ephemeral'");
}

#[tokio::test]
async fn a_persistent_inbox_with_a_time_to_live_ends() {
    let fixture = fixture(WireProfile::VaultSandbox, ChoicePolicy::Always);
    let wish = request(Some(true), TtlWish::Secs(60));
    let inbox = fixture.inboxes.create(wish).await.unwrap();
    assert!(inbox.persistent);
    fixture.clock.advance(Duration::from_millis(59_999));
    assert!(fixture.inboxes.find("bob@restante.test").await.is_ok());
    fixture.clock.advance(Duration::from_millis(1));
    assert!(fixture.inboxes.find("bob@restante.test").await.is_err());
}

#[tokio::test]
async fn an_inbox_without_end_outlives_every_other_until_it_is_removed() {
    let fixture = fixture(WireProfile::VaultSandbox, ChoicePolicy::Enabled);
    let stays = fixture
        .inboxes
        .create(request(Some(true), TtlWish::Null))
        .await
        .unwrap();
    assert_eq!(stays.expires_at, Inbox::NEVER);
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), None, "nothing to come back for");
    let ends = fixture.create("eve@restante.test").await.unwrap();
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), Some(ends.expires_at));

    // A century, and the moment before the clock ends.
    fixture.advance_secs(100 * 365 * 86_400);
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), None);
    fixture.deposit(&[&stays], "Subject: a\r\n\r\n").await;
    let last = Timestamp::from_unix_ms(Inbox::NEVER.unix_ms() - 1);
    fixture.clock.advance(fixture.clock.now().until(last));
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), None);
    let found = fixture.inboxes.find("bob@restante.test").await.unwrap();
    assert_eq!(found.ends_at(), None);
    assert_eq!(fixture.inboxes.sync_status(&found).await.unwrap().email_count, 1);
    assert!(fixture.inboxes.recipient(&path("bob@restante.test")).await.is_ok());
    assert!(fixture.inboxes.find("eve@restante.test").await.is_err());

    fixture.inboxes.delete("bob@restante.test").await.unwrap();
    assert!(fixture.inboxes.find("bob@restante.test").await.is_err());
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), None);
    assert_eq!(fixture.store.usage().await.unwrap().emails, 0);
}

/// The task looks once a minute at least, whatever the next end is.
#[tokio::test(start_paused = true)]
async fn an_inbox_without_end_does_not_put_the_expiry_task_to_sleep() {
    let fixture = fixture(WireProfile::VaultSandbox, ChoicePolicy::Enabled);
    fixture
        .inboxes
        .create(request(Some(true), TtlWish::Null))
        .await
        .unwrap();
    let short = CreateRequest {
        address: Some("eve@restante.test".into()),
        ttl: TtlWish::Secs(60),
        ..CreateRequest::default()
    };
    fixture.inboxes.create(short).await.unwrap();
    let inboxes = fixture.inboxes.clone();
    let task = inboxes.run_expiry();
    let watch = async {
        fixture.advance_secs(60);
        for _ in 0..3600 {
            if fixture.store.usage().await.unwrap().inboxes == 1 {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        panic!("the task sleeps");
    };
    tokio::select! {
        () = task => panic!("it never returns"),
        () = watch => {}
    }
    assert!(fixture.inboxes.find("bob@restante.test").await.is_ok());
    assert!(fixture.inboxes.find("eve@restante.test").await.is_err());
}
