//! The same operations by aws-lc-rs and by pqcrypto (the `PQClean` implementations), in both directions.
//!
//! pqcrypto is not asked what is invalid: its AVX2 build accepts signatures and keys that it should refuse.

use pqcrypto_mldsa::mldsa65;
use pqcrypto_mlkem::mlkem768;
use pqcrypto_traits::kem::{Ciphertext as _, PublicKey as _, SecretKey as _, SharedSecret as _};
use pqcrypto_traits::sign::{DetachedSignature as _, PublicKey as _, SecretKey as _};

use crate::transcript::Transcript;
use crate::{DecapsulationKey, EncapsulationKey, PayloadPart, Signature, SigningKey, VerifyingKey, WireProfile, seal};

const ROUNDS: usize = 50;

#[test]
fn secrets_encapsulated_here_are_decapsulated_there() {
    for _ in 0..ROUNDS {
        let (public, secret) = mlkem768::keypair();
        let (ct_kem, sent) = EncapsulationKey::parse(public.as_bytes()).unwrap().encapsulate();
        let received = mlkem768::decapsulate(&mlkem768::Ciphertext::from_bytes(ct_kem.as_ref()).unwrap(), &secret);
        assert_eq!(sent.as_ref(), received.as_bytes());
    }
}

#[test]
fn secrets_encapsulated_there_are_decapsulated_here() {
    for _ in 0..ROUNDS {
        let key = DecapsulationKey::generate();
        let public = mlkem768::PublicKey::from_bytes(key.encapsulation_key().as_bytes()).unwrap();
        let (sent, ct_kem) = mlkem768::encapsulate(&public);
        assert_eq!(key.decapsulate(ct_kem.as_bytes()).unwrap().as_ref(), sent.as_bytes());
    }
}

/// Both reject a forged ciphertext with the same pseudorandom secret, which depends on `z`.
#[test]
fn keys_of_either_side_decapsulate_alike_on_the_other() {
    for _ in 0..ROUNDS {
        let (_, secret) = mlkem768::keypair();
        let key = DecapsulationKey::parse(secret.as_bytes()).unwrap();
        let (ct_kem, sent) = key.encapsulation_key().encapsulate();
        let mut forged = ct_kem.as_ref().to_vec();
        forged[0] ^= 1;
        let there = mlkem768::decapsulate(&mlkem768::Ciphertext::from_bytes(&forged).unwrap(), &secret);
        let here = key.decapsulate(&forged).unwrap();
        assert_eq!(here.as_ref(), there.as_bytes());
        assert_ne!(here.as_ref(), sent.as_ref());
    }
}

#[test]
fn payloads_signed_here_verify_there() {
    let key = SigningKey::generate();
    let public = mldsa65::PublicKey::from_bytes(key.verifying_key().as_bytes()).unwrap();
    let client = DecapsulationKey::generate();
    let (profile, part) = (WireProfile::Service, PayloadPart::Raw);
    for round in 0..ROUNDS {
        let sealed = seal(profile, part, client.encapsulation_key(), &vec![0; round]);
        let signature = sealed.sign(profile, part, &key);
        let aad = profile.aad(part);
        let transcript = Transcript {
            profile,
            sealed: &sealed,
            aad,
            verifying_key: key.verifying_key(),
        }
        .to_bytes();
        let signature = mldsa65::DetachedSignature::from_bytes(signature.as_bytes()).unwrap();
        mldsa65::verify_detached_signature(&signature, &transcript, &public).unwrap();
    }
}

#[test]
fn messages_signed_there_verify_here() {
    let (public, secret) = mldsa65::keypair();
    let key = VerifyingKey::parse(public.as_bytes()).unwrap();
    for round in 0..ROUNDS {
        let message = vec![1; round];
        let signature = mldsa65::detached_sign(&message, &secret);
        let mut signature = signature.as_bytes().to_vec();
        assert!(key.verifies(&message, &Signature::parse(&signature).unwrap()));
        signature[round] ^= 1;
        assert!(!key.verifies(&message, &Signature::parse(&signature).unwrap()));
    }
}

#[test]
fn signing_keys_of_there_sign_here() {
    let (public, secret) = mldsa65::keypair();
    let key = SigningKey::from_raw(secret.as_bytes()).unwrap();
    assert_eq!(key.verifying_key().as_bytes(), public.as_bytes());
    let signature = mldsa65::DetachedSignature::from_bytes(key.sign(b"hello").as_bytes()).unwrap();
    mldsa65::verify_detached_signature(&signature, b"hello", &public).unwrap();
}
