//! Histories made by hand: those that no store of promises can show are rejected, the others are not.

use super::*;
use crate::history::operation::{Action, End, Shown, Summary};
use crate::trial::emails_hash::emails_hash;

/// An operation with an answer.
fn op(invoked: u64, answered: u64, action: Action) -> Operation {
    Operation {
        invoked,
        end: End::Answered(answered),
        action,
    }
}

/// One whose connection broke.
fn lost(invoked: u64, broken: u64, action: Action) -> Operation {
    Operation {
        invoked,
        end: End::Broken(broken),
        action,
    }
}

fn list(letters: &[Letter]) -> Action {
    Action::List(letters.iter().map(|letter| (*letter, false)).collect())
}

fn ids() -> Ids {
    (1..10).map(|letter| (letter, format!("msg_{letter}"))).collect()
}

fn sync(letters: &[Letter]) -> Action {
    let ids: Vec<String> = letters.iter().map(|letter| format!("msg_{letter}")).collect();
    Action::Sync(Summary {
        count: letters.len(),
        hash: emails_hash(ids.iter().map(String::as_str)),
    })
}

/// Behind the creation of the inbox.
fn is_accepted(operations: &[Operation]) -> bool {
    let created = op(0, 1, Action::Create(1));
    let all: Vec<_> = std::iter::once(created).chain(operations.iter().cloned()).collect();
    match check(&all, &ids()) {
        Ok(()) => true,
        Err(Rejection::Unexplained { answer, states, .. }) => {
            assert!(operations.contains(&answer), "a rejection names what does not fit");
            assert!(!states.is_empty(), "and what it does not fit to");
            false
        }
        Err(undecided) => panic!("a small history is searched to its end: {undecided:?}"),
    }
}

use Action::{Delete, Deliver, Expire, Mark, NoEmail, NoInbox, Remove, Taken};

/// Each of these stories has an order.
fn assert_accepted(stories: &[(&str, &[Operation])]) {
    for (name, operations) in stories {
        assert!(is_accepted(operations), "{name}");
    }
}

#[test]
fn histories_of_a_store_that_keeps_its_promises_are_accepted() {
    assert_accepted(&[
        ("nothing", &[]),
        (
            "in order",
            &[
                op(2, 3, Deliver(1)),
                op(4, 5, list(&[1])),
                op(6, 7, Delete(1)),
                op(8, 9, list(&[])),
            ],
        ),
        (
            "a list beside a delivery sees it",
            &[op(2, 6, Deliver(1)), op(3, 4, list(&[1])), op(5, 7, list(&[1]))],
        ),
        (
            "or not yet",
            &[op(2, 6, Deliver(1)), op(3, 4, list(&[])), op(5, 7, list(&[1]))],
        ),
        (
            "deliveries side by side",
            &[
                op(2, 9, Deliver(1)),
                op(2, 9, Deliver(2)),
                op(3, 4, list(&[2])),
                op(5, 6, list(&[1, 2])),
            ],
        ),
        (
            "an unanswered delivery that happened late",
            &[lost(2, 6, Deliver(1)), op(4, 5, list(&[])), op(7, 8, list(&[1]))],
        ),
        (
            "one that happened and shows later",
            &[lost(2, 3, Deliver(1)), lost(2, 3, Delete(1)), op(6, 7, list(&[1]))],
        ),
        (
            "one that never did",
            &[lost(2, 3, Deliver(1)), op(4, 5, list(&[])), op(6, 7, list(&[]))],
        ),
        (
            "an unanswered deletion that happened",
            &[
                op(2, 3, Deliver(1)),
                lost(4, 5, Delete(1)),
                op(5, 6, list(&[])),
                op(7, 8, NoEmail(1)),
            ],
        ),
        (
            "one that did not",
            &[op(2, 3, Deliver(1)), lost(4, 5, Delete(1)), op(5, 6, list(&[1]))],
        ),
        ("a taken address", &[op(2, 3, Taken)]),
        (
            "a sync that fits",
            &[op(2, 3, Deliver(1)), op(3, 4, Deliver(2)), op(5, 6, sync(&[1, 2]))],
        ),
    ]);
}

#[test]
fn histories_of_several_lives_of_an_inbox_are_accepted() {
    assert_accepted(&[
        (
            "a delivery into the life before",
            &[
                op(2, 9, Deliver(1)),
                op(3, 4, Remove),
                op(5, 6, Action::Create(2)),
                op(10, 11, list(&[])),
            ],
        ),
        (
            "or into the next",
            &[
                op(2, 9, Deliver(1)),
                op(3, 4, Remove),
                op(5, 6, Action::Create(2)),
                op(10, 11, list(&[1])),
            ],
        ),
        (
            "the end of a life",
            &[
                op(2, 3, Deliver(1)),
                op(5, 6, Expire(1)),
                op(7, 8, NoInbox),
                op(9, 10, Action::Create(2)),
            ],
        ),
        (
            "a life that was over before it could expire",
            &[
                op(2, 3, Remove),
                op(4, 5, Action::Create(2)),
                op(6, 7, Expire(1)),
                op(8, 9, list(&[])),
            ],
        ),
        (
            "the end of a life whose creation broke",
            &[
                op(2, 3, Remove),
                lost(4, 5, Action::Create(2)),
                op(6, 7, list(&[])),
                op(8, 9, Expire(2)),
                op(10, 11, NoInbox),
            ],
        ),
    ]);
}

#[test]
fn what_no_order_explains_is_rejected() {
    let rejected: &[(&str, &[Operation])] = &[
        ("a stale read", &[op(2, 3, Deliver(1)), op(4, 5, list(&[]))]),
        (
            "a lost email",
            &[op(2, 3, Deliver(1)), op(4, 5, list(&[1])), op(6, 7, list(&[]))],
        ),
        (
            "a lost deletion",
            &[op(2, 3, Deliver(1)), op(4, 5, Delete(1)), op(6, 7, list(&[1]))],
        ),
        (
            "one from the dead",
            &[
                op(2, 3, Deliver(1)),
                lost(4, 9, Delete(1)),
                op(5, 6, list(&[])),
                op(7, 8, list(&[1])),
            ],
        ),
        (
            "one that happened when its server was gone",
            &[lost(2, 3, Deliver(1)), op(4, 5, list(&[])), op(6, 7, list(&[1]))],
        ),
        (
            "a life whose creation broke and that has expired",
            &[
                op(2, 3, Remove),
                lost(4, 5, Action::Create(2)),
                op(6, 7, list(&[])),
                op(8, 9, Expire(2)),
                op(10, 11, list(&[])),
            ],
        ),
        ("an inbox from the dead", &[op(2, 3, Remove), op(4, 5, list(&[]))]),
        (
            "one that has expired",
            &[op(2, 3, Deliver(1)), op(4, 5, Expire(1)), op(6, 7, list(&[1]))],
        ),
        (
            "mail of the life before",
            &[
                op(2, 3, Deliver(1)),
                op(4, 5, Remove),
                op(6, 7, Action::Create(2)),
                op(8, 9, list(&[1])),
            ],
        ),
        (
            "two that see each other's only",
            &[
                op(2, 9, Deliver(1)),
                op(2, 9, Deliver(2)),
                op(3, 4, list(&[1])),
                op(5, 6, list(&[2])),
            ],
        ),
        (
            "deleted twice",
            &[op(2, 3, Deliver(1)), op(4, 9, Delete(1)), op(5, 9, Delete(1))],
        ),
        ("an address given twice", &[op(2, 3, Action::Create(2))]),
        ("a free address that is taken", &[op(2, 3, Remove), op(4, 5, Taken)]),
        ("seen before it was sent", &[op(2, 3, list(&[1])), op(4, 5, Deliver(1))]),
        (
            "an email that is not found",
            &[op(2, 3, Deliver(1)), op(4, 5, NoEmail(1))],
        ),
        ("an inbox that is not found", &[op(2, 3, NoInbox)]),
        ("a sync of another set", &[op(2, 3, Deliver(1)), op(4, 5, sync(&[2]))]),
        ("a sync of another count", &[op(2, 3, Deliver(1)), op(4, 5, sync(&[]))]),
    ];
    for (name, operations) in rejected {
        assert!(!is_accepted(operations), "{name}");
    }
}

#[test]
fn a_mark_stays() {
    let shown = |is_read| Action::List(Shown::from([(1, is_read)]));
    let story = |after| [op(2, 3, Deliver(1)), op(4, 5, Mark(1)), op(6, 7, after)];
    assert!(is_accepted(&story(shown(true))));
    assert!(!is_accepted(&story(shown(false))));
    assert!(!is_accepted(&[op(2, 3, Deliver(1)), op(4, 5, shown(true))]));
}

#[test]
fn a_letter_without_an_id_leaves_only_the_count_of_a_sync() {
    let with = |count| {
        let summary = Summary {
            count,
            hash: "unknown".to_owned(),
        };
        [lost(2, 3, Deliver(99)), op(4, 5, Action::Sync(summary))]
    };
    assert!(is_accepted(&with(1)));
    assert!(!is_accepted(&with(2)));
}

#[test]
fn a_long_history_with_much_side_by_side_is_searched_in_time() {
    let mut operations = Vec::new();
    let mut sent: Vec<Letter> = Vec::new();
    for round in 0..300_u32 {
        let at = u64::from(round) * 100 + 10;
        for n in 0..6 {
            let letter = round * 6 + n;
            operations.push(op(at + u64::from(n), at + 50, Deliver(letter)));
            sent.push(letter);
        }
        operations.push(op(at + 60, at + 70, list(&sent)));
        for letter in sent.drain(..) {
            operations.push(op(at + 75, at + 90, Delete(letter)));
        }
    }
    assert!(is_accepted(&operations));
    let last = operations.last().expect("there are some").end.moment();
    operations.push(op(last + 1, last + 2, list(&[1])));
    assert!(!is_accepted(&operations));
}

#[test]
fn a_history_that_needs_too_long_a_search_is_not_decided() {
    let mut operations = vec![op(0, 1, Action::Create(1))];
    operations.extend((1..20).map(|letter| op(u64::from(letter) + 1, 100, Deliver(letter))));
    let all: Vec<Letter> = (1..20).collect();
    operations.push(op(101, 102, list(&all)));
    let undecided = Rejection::Undecided { from: 2, to: 100 };
    assert_eq!(Search::of(&operations, &ids(), 1_000).run(), Err(undecided));
}
