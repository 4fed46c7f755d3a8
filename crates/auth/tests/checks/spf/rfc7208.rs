//! The examples of RFC 7208, appendix A.

use restante_model::auth::SpfVerdict::{self, Fail, Pass};

use super::spf;
use crate::bench::Bench;

/// Appendix A, and the addresses whose names the appendix uses.
const ZONE: &str = "
$TTL 300
example.com. IN MX 10 mail-a.example.com.
example.com. IN MX 20 mail-b.example.com.
example.com. IN A 192.0.2.10
example.com. IN A 192.0.2.11
amy.example.com. IN A 192.0.2.65
bob.example.com. IN A 192.0.2.66
mail-a.example.com. IN A 192.0.2.129
mail-b.example.com. IN A 192.0.2.130
www.example.com. IN CNAME example.com.
example.org. IN MX 10 mail-c.example.org.
mail-c.example.org. IN A 192.0.2.140
65.2.0.192.in-addr.arpa. IN PTR amy.example.com.
66.2.0.192.in-addr.arpa. IN PTR bob.example.com.
129.2.0.192.in-addr.arpa. IN PTR mail-a.example.com.
130.2.0.192.in-addr.arpa. IN PTR mail-b.example.com.
140.2.0.192.in-addr.arpa. IN PTR mail-c.example.org.
4.0.0.10.in-addr.arpa. IN PTR bob.example.com.
mary.mobile-users._spf.example.com. IN A 127.0.0.2
fred.mobile-users._spf.example.com. IN A 127.0.0.2
15.15.168.192.joel.remote-users._spf.example.com. IN A 127.0.0.2
";

async fn assert_verdicts(record: &str, local_part: &str, verdicts: &[(&str, SpfVerdict)]) {
    let bench = Bench::new();
    bench.dns.add(ZONE);
    bench.dns.add_txt("example.com", record);
    for (client, verdict) in verdicts {
        let result = spf(
            &bench,
            client,
            "mail-a.example.com",
            &format!("{local_part}@example.com"),
        )
        .await;
        assert_eq!(result.result, *verdict, "{record} {client}: {result:?}");
    }
}

#[tokio::test]
async fn simple_examples() {
    // Appendix A.1.
    let any = [("192.0.2.10", Pass), ("203.0.113.9", Pass), ("2001:db8::1", Pass)];
    let none = [("192.0.2.10", Fail), ("192.0.2.129", Fail), ("192.0.2.140", Fail)];
    let a = [("192.0.2.10", Pass), ("192.0.2.11", Pass), ("192.0.2.65", Fail)];
    let mx = [("192.0.2.129", Pass), ("192.0.2.130", Pass), ("192.0.2.140", Fail)];
    let other_mx = [("192.0.2.140", Pass), ("192.0.2.129", Fail)];
    let both_mx = [("192.0.2.129", Pass), ("192.0.2.130", Pass), ("192.0.2.140", Pass)];
    let ranges = [
        ("192.0.2.131", Pass),
        ("192.0.2.143", Pass),
        ("192.0.2.132", Fail),
        ("192.0.2.139", Fail),
    ];
    let ptr = [("192.0.2.65", Pass), ("192.0.2.140", Fail), ("10.0.0.4", Fail)];
    let ip4 = [("192.0.2.65", Fail), ("192.0.2.129", Pass)];
    for (record, verdicts) in [
        ("v=spf1 +all", &any[..]),
        ("v=spf1 a -all", &a),
        ("v=spf1 a:example.org -all", &none),
        ("v=spf1 mx -all", &mx),
        ("v=spf1 mx:example.org -all", &other_mx),
        ("v=spf1 mx mx:example.org -all", &both_mx),
        ("v=spf1 mx/30 mx:example.org/30 -all", &ranges),
        ("v=spf1 ptr -all", &ptr),
        ("v=spf1 ip4:192.0.2.128/28 -all", &ip4),
    ] {
        assert_verdicts(record, "joe", verdicts).await;
    }
}

#[tokio::test]
async fn multiple_domains_and_lists() {
    // Appendix A.2 and A.3: one record for all, and names of users with or without their addresses.
    let users = "v=spf1 mx exists:%{l}.mobile-users._spf.%{d} exists:%{ir}.%{l}.remote-users._spf.%{d} -all";
    assert_verdicts(users, "mary", &[("203.0.113.9", Pass)]).await;
    assert_verdicts(users, "eve", &[("203.0.113.9", Fail), ("192.0.2.129", Pass)]).await;
    assert_verdicts(users, "joel", &[("192.168.15.15", Pass), ("192.168.15.16", Fail)]).await;
}

#[tokio::test]
async fn multiple_requirements() {
    // Appendix A.4: a client has to be in both lists.
    let bench = Bench::new();
    bench.dns.add(ZONE);
    for (domain, record) in [
        (
            "example.com",
            "v=spf1 -include:ip4._spf.%{d} -include:ptr._spf.%{d} +all",
        ),
        ("ip4._spf.example.com", "v=spf1 -ip4:192.0.2.0/24 +all"),
        ("ptr._spf.example.com", "v=spf1 -ptr:example.com +all"),
    ] {
        bench.dns.add_txt(domain, record);
    }
    for (client, verdict) in [("192.0.2.65", Pass), ("192.0.2.140", Fail), ("10.0.0.4", Fail)] {
        let result = spf(&bench, client, "amy.example.com", "joe@example.com").await;
        assert_eq!(result.result, verdict, "{client}: {result:?}");
    }
}
