//! The ledger finds what must not be, and nothing else: small stories of one or two inboxes.

use std::collections::BTreeMap;

use super::*;

const NOW: u64 = 1_000;
const END: u64 = 90_000;
const MESSAGE: Digest = [1; 32];

/// A ledger with inboxes at the places 1 and 2.
fn two_inboxes() -> Pages {
    let mut pages = Ledger::new(3, 2).pages().clone();
    for place in [1, 2] {
        pages.creating(place, None);
        pages.created(place, END);
    }
    pages
}

/// The same, with an email `a` at place 1.
fn with_mail() -> Pages {
    let mut pages = two_inboxes();
    pages.sending(MESSAGE, &[(1, 1)]);
    pages.stored(MESSAGE, vec!["a".to_owned()]);
    pages
}

#[test]
fn webhooks_must_be_told_of_what_was_acknowledged() {
    let mut pages = two_inboxes();
    pages.sending(MESSAGE, &[(1, 1)]);
    assert_eq!(pages.events, []);
    pages.stored(MESSAGE, vec!["a".to_owned()]);
    pages.granted("a", Wish::Mark);
    pages.granted("a", Wish::Delete);
    let told: Vec<_> = pages.events.iter().map(|(event, id)| (*event, id.as_str())).collect();
    assert_eq!(
        told,
        [("email.received", "a"), ("email.stored", "a"), ("email.deleted", "a")]
    );
}

fn email(message: Digest) -> FoundEmail {
    FoundEmail {
        is_read: false,
        record: [9; 32],
        source: Some(Source {
            answer: [8; 32],
            message: Some(message),
        }),
    }
}

/// What the server shows: emails by place.
fn found(emails: &[(usize, &str, Digest)]) -> Found {
    let inbox = |place: usize| FoundInbox {
        expires_ms: END,
        is_encrypted: false,
        emails: emails
            .iter()
            .filter(|(at, ..)| *at == place)
            .map(|(_, id, message)| ((*id).to_owned(), email(*message)))
            .collect::<BTreeMap<_, _>>(),
    };
    Found {
        begun_ms: NOW,
        ended_ms: NOW + 1,
        inboxes: vec![None, Some(inbox(1)), Some(inbox(2))],
    }
}

/// The kinds of what is found when the server shows this.
fn settled(pages: &mut Pages, found: &Found) -> Vec<&'static str> {
    pages.settle(found);
    let kind = |violation: Violation| match violation {
        Violation::Lost(_) => "lost",
        Violation::Returned(_) => "returned",
        Violation::Changed(_) => "changed",
        Violation::Torn(_) => "torn",
        Violation::Refused(_) => "refused",
    };
    pages.violations.drain(..).map(kind).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn what_was_acknowledged_is_there() {
    assert_eq!(settled(&mut with_mail(), &found(&[(1, "a", MESSAGE)])), NOTHING);
    assert_eq!(settled(&mut with_mail(), &found(&[])), ["lost"]);
    let mut pages = with_mail();
    let mut gone = found(&[]);
    gone.inboxes[1] = None;
    assert_eq!(settled(&mut pages, &gone), ["lost"], "the inbox is gone with its mail");
}

#[test]
fn an_email_is_what_was_sent_and_stays_as_it_was_seen() {
    assert_eq!(settled(&mut with_mail(), &found(&[(1, "a", [2; 32])])), ["changed"]);
    let mut pages = with_mail();
    let mut seen = found(&[(1, "a", MESSAGE)]);
    assert_eq!(settled(&mut pages, &seen), NOTHING);
    let email = seen.inboxes[1].as_mut().unwrap().emails.get_mut("a").unwrap();
    email.record = [7; 32];
    email.source.as_mut().unwrap().answer = [7; 32];
    assert_eq!(settled(&mut pages, &seen), ["changed", "changed"]);
}

#[test]
fn a_mark_that_was_acknowledged_stays_and_none_comes_by_itself() {
    let mut dice = Dice::seeded(1);
    let mut marked = found(&[(1, "a", MESSAGE)]);
    marked.inboxes[1].as_mut().unwrap().emails.get_mut("a").unwrap().is_read = true;
    assert_eq!(settled(&mut with_mail(), &marked), ["changed"]);
    let mut pages = with_mail();
    assert!(pages.wish(&mut dice, Wish::Mark, NOW).is_some());
    assert_eq!(settled(&mut pages.clone(), &found(&[(1, "a", MESSAGE)])), NOTHING);
    assert_eq!(settled(&mut pages, &marked), NOTHING, "it was asked for");
    assert_eq!(
        settled(&mut pages, &found(&[(1, "a", MESSAGE)])),
        ["lost"],
        "seen once, it stays"
    );
}

#[test]
fn a_deletion_without_an_answer_has_happened_or_not_for_good() {
    let mut dice = Dice::seeded(1);
    let mut asked = with_mail();
    assert!(asked.wish(&mut dice, Wish::Delete, NOW).is_some());
    let mut gone = asked.clone();
    assert_eq!(settled(&mut gone, &found(&[])), NOTHING);
    assert_eq!(settled(&mut gone, &found(&[(1, "a", MESSAGE)])), ["returned"]);
    assert_eq!(settled(&mut asked, &found(&[(1, "a", MESSAGE)])), NOTHING);
    assert_eq!(settled(&mut asked, &found(&[])), ["lost"]);
}

#[test]
fn what_was_deleted_does_not_come_back() {
    let mut dice = Dice::seeded(1);
    let mut pages = with_mail();
    pages.wish(&mut dice, Wish::Delete, NOW);
    pages.granted("a", Wish::Delete);
    assert_eq!(settled(&mut pages, &found(&[(1, "a", MESSAGE)])), ["returned"]);
}

#[test]
fn an_inbox_that_was_deleted_does_not_come_back_nor_its_mail() {
    let mut pages = with_mail();
    pages.deleting(1);
    pages.deleted(1);
    assert_eq!(
        settled(&mut pages.clone(), &found(&[(1, "a", MESSAGE)])),
        ["returned", "returned"]
    );
    pages.creating(1, None);
    pages.created(1, END);
    assert_eq!(settled(&mut pages.clone(), &found(&[])), NOTHING);
    assert_eq!(settled(&mut pages, &found(&[(1, "a", MESSAGE)])), ["returned"]);
}

#[test]
fn an_inbox_that_has_expired_is_gone() {
    let mut late = found(&[]);
    (late.begun_ms, late.ended_ms) = (END, END + 1);
    assert_eq!(settled(&mut with_mail(), &late), ["returned", "returned", "lost"]);
    late.inboxes = vec![None, None, None];
    assert_eq!(settled(&mut with_mail(), &late), NOTHING);
}

#[test]
fn the_deletion_of_all_says_how_many_there_were() {
    let cleared = |deleted, ended_ms| {
        let mut pages = with_mail();
        pages.creating(0, None);
        pages.created(0, END + 10);
        let ends = pages.clearing(NOW);
        pages.cleared(deleted, ends.as_deref(), ended_ms);
        assert_eq!((pages.tally.inbox_deletions, pages.mails.len()), (3, 0));
        pages.violations.len()
    };
    assert_eq!(cleared(Some(3), NOW), 0);
    assert_eq!([None, Some(2), Some(4)].map(|deleted| cleared(deleted, NOW)), [1; 3]);
    // Two may have expired before their turn came.
    assert_eq!([0, 1, 2, 3].map(|deleted| cleared(Some(deleted), END)), [1, 0, 0, 0]);
}

#[test]
fn how_many_there_were_is_not_certain_while_one_may_be_gone() {
    let mut pages = two_inboxes();
    assert_eq!(pages.clone().clearing(END), Some(Vec::new()), "both have expired");
    pages.deleting(1);
    assert_eq!(pages.clearing(NOW), None);
    pages.cleared(Some(1), None, NOW);
    assert_eq!(pages.violations, []);
}

#[test]
fn a_creation_without_an_answer_has_happened_or_not_for_good() {
    let mut pages = two_inboxes();
    pages.deleting(1);
    pages.deleted(1);
    pages.creating(1, None);
    let mut none = found(&[]);
    none.inboxes[1] = None;
    let mut created = pages.clone();
    assert_eq!(settled(&mut created, &found(&[])), NOTHING);
    assert_eq!(settled(&mut created, &none), ["lost"]);
    assert_eq!(settled(&mut pages, &none), NOTHING);
    assert_eq!(settled(&mut pages, &found(&[])), ["returned"]);
}

#[test]
fn a_message_without_an_answer_is_at_all_of_its_recipients_or_at_none() {
    let mut pages = two_inboxes();
    pages.sending(MESSAGE, &[(1, 1), (2, 1)]);
    assert_eq!(settled(&mut pages.clone(), &found(&[])), NOTHING);
    let both = found(&[(1, "a", MESSAGE), (2, "b", MESSAGE)]);
    assert_eq!(settled(&mut pages.clone(), &both), NOTHING);
    assert_eq!(settled(&mut pages.clone(), &found(&[(1, "a", MESSAGE)])), ["torn"]);
    let twice = found(&[(1, "a", MESSAGE), (1, "c", MESSAGE), (2, "b", MESSAGE)]);
    assert_eq!(settled(&mut pages.clone(), &twice), ["torn"]);
    assert_eq!(settled(&mut pages.clone(), &found(&[(1, "a", [3; 32])])), ["changed"]);
    assert_eq!(settled(&mut pages, &found(&[])), NOTHING);
    assert_eq!(settled(&mut pages, &both), ["returned", "returned"].map(|_| "changed"));
}

#[test]
fn mail_that_may_be_of_either_life_is_there_or_not_for_good() {
    let mut pages = two_inboxes();
    pages.sending(MESSAGE, &[(1, 1)]);
    pages.deleting(1);
    pages.deleted(1);
    pages.creating(1, None);
    pages.created(1, END);
    pages.stored(MESSAGE, vec!["a".to_owned()]);
    let mut gone = pages.clone();
    assert_eq!(settled(&mut gone, &found(&[])), NOTHING);
    assert_eq!(settled(&mut gone, &found(&[(1, "a", MESSAGE)])), ["returned"]);
    assert_eq!(settled(&mut pages, &found(&[(1, "a", MESSAGE)])), NOTHING);
    assert_eq!(settled(&mut pages, &found(&[])), ["lost"]);
}

#[test]
fn the_flooded_inbox_keeps_the_newest() {
    let mut pages = two_inboxes();
    pages.creating(FLOODED, None);
    pages.created(FLOODED, END);
    let flood = |ids: &[&str]| {
        let emails: Vec<_> = ids.iter().map(|id| (1, *id, MESSAGE)).collect();
        let mut found = found(&emails);
        found.inboxes[FLOODED] = found.inboxes[1].clone();
        found.inboxes[1].as_mut().unwrap().emails.clear();
        found
    };
    for id in ["a", "b", "c"] {
        pages.sending(MESSAGE, &[(FLOODED, 1)]);
        pages.stored(MESSAGE, vec![id.to_owned()]);
    }
    assert_eq!(settled(&mut pages.clone(), &flood(&["a", "c"])), ["lost"]);
    assert_eq!(settled(&mut pages, &flood(&["b", "c"])), NOTHING);
    assert_eq!(settled(&mut pages, &flood(&["a", "b", "c"])), ["returned"]);
}

#[test]
fn a_refusal_needs_a_reason() {
    let refused = |pages: &mut Pages, now_ms| {
        pages.sending(MESSAGE, &[(1, 1)]);
        pages.refused(&MESSAGE, "550", now_ms);
        pages.violations.len()
    };
    assert_eq!(refused(&mut two_inboxes(), NOW), 1);
    assert_eq!(refused(&mut two_inboxes(), END), 0);
    let mut deleting = two_inboxes();
    deleting.deleting(1);
    assert_eq!(refused(&mut deleting, NOW), 0);
    let mut pages = with_mail();
    pages.not_found("a", Wish::Read, NOW);
    assert_eq!(pages.violations.len(), 1);
    pages.not_found("a", Wish::Read, END);
    assert_eq!(pages.violations.len(), 1);
}
