//! Records and what they say of a client, as tables; the names that they ask for are in `case.test.zone`.
//!
//! The verdicts were compared with those of pyspf 2.0.14.

use restante_model::auth::SpfVerdict::{self, Fail, Neutral, Pass, Permerror, Softfail, Temperror};
use restante_testkit::dns::Trouble;

use super::spf;
use crate::bench::{Bench, assert_says};

/// What follows the version in a record, the verdict, and what the details say.
type Case<'a> = (&'a str, SpfVerdict, &'a str);

/// Publishes each record at a domain of its own and asks about mail from joe.
async fn assert_cases(client: &str, cases: &[Case<'_>]) {
    let bench = Bench::new();
    for (number, (terms, verdict, details)) in cases.iter().enumerate() {
        let domain = format!("c{number}.case.test");
        bench.dns.add_txt(&domain, &format!("v=spf1 {terms}"));
        let result = spf(&bench, client, "mail.reverse.test", &format!("joe@{domain}")).await;
        assert_eq!(result.result, *verdict, "{terms}: {result:?}");
        assert_says(result.details.as_ref(), details);
    }
}

#[tokio::test]
async fn an_include_matches_only_what_the_other_record_passes() {
    assert_cases(
        "192.0.2.10",
        &[
            ("-include:includes.case.test ?all", Fail, ""),
            ("?include:includes.case.test -all", Neutral, ""),
            ("~include:includes.case.test -all", Softfail, ""),
            ("+include:includes.case.test -all", Pass, ""),
            ("-include:redirects.case.test ?all", Fail, ""),
            ("include:excludes.case.test ?all", Neutral, ""),
            ("include:doubts.case.test -all", Fail, ""),
            ("include:doubts.case.test ip4:192.0.2.10 -all", Pass, ""),
            ("include:fails.case.test ip4:192.0.2.10 -all", Pass, ""),
            ("include:softfails.case.test -all", Fail, ""),
            ("include:neutral.case.test -all", Fail, ""),
            ("include:own.case.test -all", Pass, ""),
            (
                "include:none.case.test ip4:192.0.2.10",
                Permerror,
                "the SPF record of c12.case.test includes none.case.test, which has no SPF record",
            ),
            (
                "include:%{h1} -all",
                Permerror,
                "c13.case.test includes what is not a domain name",
            ),
            (
                "include:a..test -all",
                Permerror,
                "c14.case.test includes what is not a domain name",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_domain_of_a_broken_record_is_named() {
    for verb in ["include:", "redirect="] {
        assert_cases(
            "192.0.2.10",
            &[
                (
                    &format!("{verb}two.case.test"),
                    Permerror,
                    "two.case.test has several SPF records, and only one is allowed; c0.case.test publishes v=spf1 ",
                ),
                (
                    &format!("{verb}broken.case.test"),
                    Permerror,
                    "the SPF record of broken.case.test is malformed at ip4:192.0.2.999; c1.case.test publishes",
                ),
                (
                    &format!("{verb}unknown.case.test"),
                    Permerror,
                    "the SPF record of unknown.case.test is malformed at postcard:example",
                ),
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn redirect_applies_when_nothing_matches() {
    assert_cases(
        "192.0.2.10",
        &[
            ("redirect=passes.case.test ip4:198.51.100.1", Pass, ""),
            ("redirect=passes.case.test -all", Fail, ""),
            ("redirect=own.case.test", Pass, ""),
            ("redirect=neutral.case.test", Neutral, ""),
            (
                "redirect=none.case.test",
                Permerror,
                "the SPF record of c4.case.test redirects to none.case.test, which has no SPF record",
            ),
            (
                "redirect=circle.case.test",
                Permerror,
                "the next one by the SPF record of circle.case.test",
            ),
            (
                "redirect=passes.case.test redirect=passes.case.test",
                Permerror,
                "the SPF record of c6.case.test is malformed: it has redirect= twice",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_syntax_error_anywhere_spoils_the_record() {
    let bad = [
        "a:host.case.test/33",
        "a:host.case.test//129",
        "a:host.case.test/24/64",
        "a:host.case.test/",
        "a:host.case.test/24//",
        "ip4:192.0.2.10/032",
        "a:111.222.33.44",
        "a:museum",
        "a:museum.",
        "a:abc.123",
        "a:%{d}x",
        "a:%",
        "a:%{a}",
        "a:%{d",
        "exists:%(ir).list.case.test",
        "exists:%{l0}.list.case.test",
        "exists:%{c}.case.test",
        "ip4:192.0.2.10é",
        "moo=é",
        "moo=%{z}",
        "moo.cow/far_out=man:dog/cat",
        "=x",
        "ip6:::1/129",
        "ptr:",
        "include",
        "redirect=",
        "exp=",
        "all:x",
        "foo",
        "a\t-all",
    ];
    let records = bad.map(|term| {
        (
            format!("+all {term}"),
            format!("is malformed at {}", term.replace('\t', "?")),
        )
    });
    let cases: Vec<Case<'_>> = records
        .iter()
        .map(|(terms, details)| (terms.as_str(), Permerror, details.as_str()))
        .collect();
    assert_cases("192.0.2.10", &cases).await;
}

#[tokio::test]
async fn modifiers_that_are_not_known_say_nothing() {
    assert_cases(
        "192.0.2.10",
        &[
            ("moo.cow-far_out=man:dog/cat ip4:192.0.2.10 -all", Pass, ""),
            ("a=host.case.test -all", Fail, ""),
            ("mx=mail.case.test -all", Fail, ""),
            ("ip4=192.0.2.10 -all", Fail, ""),
            ("all=x -all", Fail, ""),
            ("include=passes.case.test -all", Fail, ""),
            ("moo=%{d} v=spf1 ?all", Neutral, ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn networks_hold_clients_of_their_family() {
    assert_cases(
        "192.0.2.10",
        &[
            ("ip6:::/0 -all", Fail, ""),
            ("ip6:::ffff:0:0/96 -all", Fail, ""),
            ("ip4:0.0.0.0/0 -all", Pass, ""),
            ("a:near.case.test -all", Fail, ""),
            ("a:near.case.test/22 -all", Pass, ""),
            ("a:near.case.test/0 -all", Pass, ""),
            ("a:six.case.test//0 -all", Fail, ""),
            ("a:alias.case.test/32//64 -all", Pass, ""),
            ("A:HOST.CASE.TEST. -all", Pass, ""),
            ("mx:mail.case.test/24 -all", Pass, ""),
        ],
    )
    .await;
    assert_cases(
        "2001:db8::10",
        &[
            ("ip4:0.0.0.0/0 -all", Fail, ""),
            ("ip6:::/0 -all", Pass, ""),
            ("a:host.case.test -all", Pass, ""),
            ("a:six.case.test/0 -all", Pass, ""),
            ("a:near.case.test//0 -all", Fail, ""),
            ("mx:mail.case.test -all", Pass, ""),
            ("exists:%{ir}.%{v}.list.case.test -all", Pass, ""),
            ("exists:host.case.test -all", Pass, ""),
            ("exists:six.case.test -all", Fail, ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn exists_asks_for_what_its_macros_make() {
    assert_cases(
        "192.0.2.10",
        &[
            ("exists:%{l}.list.case.test -all", Pass, ""),
            ("exists:%{l1r-}.list.case.test -all", Pass, ""),
            ("exists:%{l200}.list.case.test -all", Pass, ""),
            ("exists:%{ir}.list.case.test -all", Pass, ""),
            ("exists:%{ir}.%{v}.list.case.test -all", Pass, ""),
            ("exists:%{i}.list.case.test -all", Fail, ""),
            ("exists:%{h}.list.case.test -all", Pass, ""),
            ("exists:a=b.list.case.test -all", Fail, ""),
            ("exists:six.case.test -all", Fail, ""),
            ("exists:alias.case.test -all", Pass, ""),
            ("exists:%{ir} -all", Fail, ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn any_local_part_makes_a_name_or_none() {
    let bench = Bench::new();
    bench
        .dns
        .add_txt("local.case.test", "v=spf1 exists:%{l}.list.case.test -all");
    let overlong = "x".repeat(64);
    for (local, verdict) in [
        ("joe", Pass),
        ("c=d", Fail),
        ("\"a b\"", Fail),
        ("jörg", Fail),
        ("a..b", Fail),
        ("a\\b", Fail),
        (overlong.as_str(), Fail),
    ] {
        let result = spf(
            &bench,
            "192.0.2.10",
            "mail.reverse.test",
            &format!("{local}@local.case.test"),
        )
        .await;
        assert_eq!(result.result, verdict, "{local}: {result:?}");
    }
}

#[tokio::test]
async fn a_name_that_no_query_can_carry_is_not_asked_for() {
    assert_cases(
        "192.0.2.10",
        &[
            ("a:x..test ip4:192.0.2.10 -all", Pass, ""),
            ("mx:x..test -all", Fail, ""),
            ("exists:x..test -all", Fail, ""),
            ("ptr:x..test -all", Fail, ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_name_of_a_client_counts_if_it_points_back() {
    assert_cases(
        "192.0.2.10",
        &[
            ("ptr:reverse.test -all", Pass, ""),
            ("ptr:Reverse.TEST. -all", Pass, ""),
            ("ptr:mail.reverse.test -all", Pass, ""),
            ("ptr:everse.test -all", Fail, ""),
            ("ptr -all", Fail, ""),
            ("exists:%{p}.list.case.test -all", Pass, ""),
        ],
    )
    .await;
    let liar = [
        ("ptr:reverse.test -all", Fail, ""),
        ("exists:%{p}.list.case.test -all", Fail, ""),
    ];
    assert_cases("192.0.2.11", &liar).await;
    // The name that points back is the eleventh, the DNS has trouble, or there is no name.
    for client in ["192.0.2.17", "192.0.2.13", "192.0.2.12"] {
        assert_cases(client, &[("ptr:reverse.test -all", Fail, "")]).await;
    }
}

#[tokio::test]
async fn ten_terms_may_ask() {
    let ten = "a:near.case.test ".repeat(10);
    let eleven = "a:near.case.test ".repeat(11);
    assert_cases(
        "192.0.2.10",
        &[
            (&format!("{ten}ip4:192.0.2.10 -all"), Pass, ""),
            (
                &format!("{eleven}ip4:192.0.2.10 -all"),
                Permerror,
                "more than 10 lookups are needed, the next one by the SPF record of c1.case.test",
            ),
            (&format!("ip4:192.0.2.10 {eleven}"), Pass, ""),
            ("include:hop2.case.test -all", Pass, ""),
            (
                "include:hop1.case.test -all",
                Permerror,
                "the next one by the SPF record of hop10.case.test",
            ),
            (
                "include:c5.case.test -all",
                Permerror,
                "the next one by the SPF record of c5.case.test",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn two_lookups_may_find_nothing() {
    assert_cases(
        "192.0.2.10",
        &[
            ("a:void1.case.test exists:void2.case.test ip4:192.0.2.10 -all", Pass, ""),
            (
                "a:void1.case.test mx:void2.case.test exists:void3.case.test ip4:192.0.2.10 -all",
                Permerror,
                "more than 2 lookups found nothing, the last one by the SPF record of c1.case.test",
            ),
            (
                "a:six.case.test a:six.case.test a:six.case.test +all",
                Permerror,
                "found nothing",
            ),
            ("mx:hollow.case.test -all", Pass, ""),
            ("mx:dead.case.test -all", Permerror, "found nothing"),
            ("mx:nothing.case.test ip4:192.0.2.10 -all", Pass, ""),
            (
                "ptr:void1.case.test ptr:void2.case.test ptr:void3.case.test +all",
                Pass,
                "",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn ten_mail_servers_may_be_asked_for() {
    assert_cases(
        "192.0.2.10",
        &[
            ("mx:ten.case.test -all", Pass, ""),
            (
                "mx:eleven.case.test -all",
                Permerror,
                "the SPF record of c1.case.test asks for the mail servers of eleven.case.test, which are more than 10",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn trouble_ends_the_evaluation_and_is_named() {
    let bench = Bench::new();
    bench.dns.trouble("sick.case.test", Trouble::ServFail);
    for (number, (term, asked)) in [
        ("a:sick.case.test", "looking up the addresses of sick.case.test: "),
        ("mx:sick.case.test", "looking up the mail servers of sick.case.test: "),
        ("exists:sick.case.test", "looking up the addresses of sick.case.test: "),
        (
            "include:sick.case.test",
            "looking up the SPF record of sick.case.test: ",
        ),
        (
            "redirect=sick.case.test",
            "looking up the SPF record of sick.case.test: ",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let domain = format!("t{number}.case.test");
        bench.dns.add_txt(&domain, &format!("v=spf1 ip4:198.51.100.1 {term}"));
        let result = spf(&bench, "192.0.2.10", "mail.reverse.test", &format!("joe@{domain}")).await;
        assert_eq!(result.result, Temperror, "{term}: {result:?}");
        assert_says(result.details.as_ref(), asked);
        assert_says(
            result.details.as_ref(),
            &format!("; {domain} publishes v=spf1 ip4:198.51.100.1 {term}"),
        );
    }
}

#[tokio::test]
async fn a_domain_may_explain_a_fail() {
    assert_cases(
        "192.0.2.10",
        &[
            (
                "-all exp=why.case.test",
                Fail,
                "exp=why.case.test; the domain says: 192.0.2.10 is not one of c0.case.test's, says joe %20%",
            ),
            (
                "redirect=fails.case.test exp=why-pieces.case.test",
                Fail,
                "not one of fails.case.test's",
            ),
            ("-all exp=why-pieces.case.test", Fail, "the domain says: one two"),
            (
                "-all exp=why-name.case.test",
                Fail,
                "the domain says: mail.reverse.test at unknown, 1794700800",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_explanation_that_cannot_be_read_is_left_out() {
    let bench = Bench::new();
    for (number, terms) in [
        "-all exp=why-two.case.test",
        "-all exp=why-bad.case.test",
        "-all exp=why-wide.case.test",
        "-all exp=none.case.test",
        "-all exp=servfail.spf.test",
        "-all exp=a..test",
        "~all exp=why.case.test",
        "include:fails.case.test -all",
    ]
    .into_iter()
    .enumerate()
    {
        let domain = format!("e{number}.case.test");
        bench.dns.add_txt(&domain, &format!("v=spf1 {terms}"));
        let result = spf(&bench, "192.0.2.10", "mail.reverse.test", &format!("joe@{domain}")).await;
        assert!(matches!(result.result, Fail | Softfail), "{terms}: {result:?}");
        let details = result.details.expect("details");
        assert!(details.ends_with(terms), "{details}");
    }
}
