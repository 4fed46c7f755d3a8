//! The guard: every network of docs/spec/decisions.md, section 7, by address and by name.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use restante_webhook::{Forbidden, Guard, Lookup, TargetUrl, Unresolved};
use url::{Host, Url};

/// Answers every name with the same addresses.
#[derive(Debug)]
struct Always(Vec<IpAddr>);

#[async_trait]
impl Lookup for Always {
    async fn addresses(&self, _name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        Ok(self.0.clone())
    }
}

/// Knows no name.
#[derive(Debug)]
struct Nothing;

#[async_trait]
impl Lookup for Nothing {
    async fn addresses(&self, _name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        Err(Unresolved::NoAddress)
    }
}

/// Never answers.
#[derive(Debug)]
struct Silence;

#[async_trait]
impl Lookup for Silence {
    async fn addresses(&self, _name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        std::future::pending().await
    }
}

/// The URLs of a file of `tests/fixtures/targets`.
fn targets(file: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/targets");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("https://"));
    lines.map(|line| line.split_once(' ').unwrap().0.to_owned()).collect()
}

async fn check(url: &str, lookup: impl Lookup + 'static) -> Result<(), Forbidden> {
    let url = TargetUrl::parse(url, true).unwrap();
    Guard::new(false, Arc::new(lookup)).check(&url).await
}

async fn check_name(addresses: &[&str]) -> Result<(), Forbidden> {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    check("https://hooks.example.com/", Always(addresses)).await
}

/// The addresses in the URLs of a file.
fn addresses(file: &str) -> Vec<String> {
    let hosts = targets(file).into_iter().map(|url| Url::parse(&url).unwrap());
    hosts
        .filter_map(|url| match url.host() {
            Some(Host::Ipv4(address)) => Some(address.to_string()),
            Some(Host::Ipv6(address)) => Some(address.to_string()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn forbidden_targets_are_refused_by_their_url() {
    let targets = targets("forbidden.txt");
    assert!(targets.len() > 80, "only {}", targets.len());
    for url in targets {
        assert!(check(&url, Nothing).await.is_err(), "{url} passes");
    }
}

#[tokio::test]
async fn public_targets_pass() {
    let targets = targets("allowed.txt");
    assert!(targets.len() > 25, "only {}", targets.len());
    for url in targets {
        assert_eq!(check(&url, Nothing).await, Ok(()), "{url}");
    }
}

#[tokio::test]
async fn names_are_judged_by_their_addresses() {
    let (forbidden, allowed) = (addresses("forbidden.txt"), addresses("allowed.txt"));
    assert!(forbidden.len() > 80 && allowed.len() > 25);
    for address in forbidden {
        assert!(check_name(&[&address]).await.is_err(), "{address} passes");
    }
    for address in allowed {
        assert_eq!(check_name(&[&address]).await, Ok(()), "{address}");
    }
}

#[tokio::test]
async fn one_forbidden_address_among_several_forbids_the_name() {
    let public = ["8.8.8.8", "2001:4860:4860::8888", "1.1.1.1"];
    assert_eq!(check_name(&public).await, Ok(()));
    for forbidden in ["127.0.0.1", "10.0.0.1", "::1", "fd00::1"] {
        for place in 0..=public.len() {
            let mut several = public.to_vec();
            several.insert(place, forbidden);
            assert!(check_name(&several).await.is_err(), "{several:?} passes");
        }
    }
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_accepted() {
    assert_eq!(check("https://not-yet.example.com/", Nothing).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_name_is_waited_for_a_second() {
    let start = tokio::time::Instant::now();
    assert_eq!(check("https://slow.example.com/", Silence).await, Ok(()));
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn the_refusal_says_what_the_target_is_and_not_where() {
    let error = check_name(&["10.11.12.13"]).await.unwrap_err().to_string();
    assert!(error.contains("not public (private)"), "{error}");
    assert!(error.contains("SVC_WEBHOOK_ALLOW_PRIVATE_TARGETS=true"), "{error}");
    assert!(!error.contains("10.11.12.13"), "{error}");
}

#[tokio::test]
async fn private_targets_pass_if_they_are_allowed() {
    for url in targets("forbidden.txt") {
        let url = TargetUrl::parse(&url, true).unwrap();
        assert_eq!(Guard::new(true, Arc::new(Silence)).check(&url).await, Ok(()), "{url:?}");
    }
}
