//! New secrets, and the hour in which two are valid.

use std::time::Duration;

use restante_model::Clock as _;
use restante_webhook::{Idempotency, Owner, WebhookError, WebhookSecret};

use crate::fixture::Fixture;

const KEY: Idempotency = Idempotency {
    key: [1; 32],
    body: [0; 32],
};

#[tokio::test]
async fn for_an_hour_after_a_rotation_both_secrets_sign() {
    let mut world = Fixture::new().await;
    let id = world.webhook().await;
    let former = world.get(id).await.secret;
    let rotation = world.webhooks.rotate_secret(&Owner::Global, id, None).await.unwrap();
    let hour = Duration::from_hours(1);
    assert_eq!(rotation.id, id);
    assert_eq!(rotation.previous_valid_until, world.clock.now().after(hour));
    assert_ne!(rotation.secret.expose(), former.expose());
    assert_eq!(world.get(id).await.secret.expose(), rotation.secret.expose());

    world.start();
    world.clock.advance(Duration::from_millis(3_599_999));
    world.mail("within the hour").await;
    world.receiver.wait_for(1).await;
    world.clock.advance(Duration::from_millis(1));
    world.mail("after it").await;
    let requests = world.receiver.wait_for(2).await;
    let signature = |name: &str, request: usize| requests[request].header(name).map(str::to_owned);
    let expected = |secret: &WebhookSecret, request: usize| {
        let body = &requests[request].body;
        let timestamp = signature("x-vault-timestamp", request).unwrap();
        let message = [timestamp.as_bytes(), b".", body].concat();
        let code = restante_envelope::digest::hmac_sha256(secret.expose().as_bytes(), &message);
        let digits = code.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
        Some(format!("sha256={hex}"))
    };
    assert_eq!(signature("x-vault-signature", 0), expected(&rotation.secret, 0));
    assert_eq!(signature("x-vault-signature-previous", 0), expected(&former, 0));
    assert_eq!(signature("webhook-signature", 0).unwrap().split(' ').count(), 2);
    assert_eq!(signature("x-vault-signature", 1), expected(&rotation.secret, 1));
    assert_eq!(signature("x-vault-signature-previous", 1), None);
    assert_eq!(signature("webhook-signature", 1).unwrap().split(' ').count(), 1);
}

#[tokio::test]
async fn a_repeated_rotation_is_answered_like_the_first_for_ten_minutes() {
    let world = Fixture::new().await;
    let id = world.webhook().await;
    let rotate = async |key| world.webhooks.rotate_secret(&Owner::Global, id, key).await;
    let (first, again) = tokio::join!(rotate(Some(KEY)), rotate(Some(KEY)));
    let (first, again) = (first.unwrap(), again.unwrap());
    assert_eq!(first.secret.expose(), again.secret.expose());
    assert_eq!(first.previous_valid_until, again.previous_valid_until);
    let other = Idempotency { body: [2; 32], ..KEY };
    assert_eq!(rotate(Some(other)).await.unwrap_err(), WebhookError::IdempotencyReused);

    let second = rotate(None).await.unwrap();
    world.clock.advance(Duration::from_secs(599));
    assert_eq!(rotate(Some(KEY)).await.unwrap().secret.expose(), first.secret.expose());
    assert_eq!(world.get(id).await.secret.expose(), second.secret.expose());
    world.clock.advance(Duration::from_secs(1));
    let later = rotate(Some(KEY)).await.unwrap();
    assert_ne!(later.secret.expose(), first.secret.expose());
    assert_eq!(world.get(id).await.secret.expose(), later.secret.expose());
}

#[tokio::test]
async fn each_of_sixteen_rotations_can_be_repeated_whatever_came_after_it() {
    let world = Fixture::new().await;
    let id = world.webhook().await;
    let rotate = async |number: u8| {
        let key = Idempotency {
            key: [number; 32],
            ..KEY
        };
        let rotation = world.webhooks.rotate_secret(&Owner::Global, id, Some(key)).await;
        let rotation = rotation.unwrap();
        (rotation.secret.expose().to_owned(), rotation.previous_valid_until)
    };
    let mut first = Vec::new();
    for number in 0..16 {
        first.push(rotate(number).await);
        world.clock.advance(Duration::from_secs(30));
    }
    for (number, expected) in (0..16).zip(&first) {
        assert_eq!(&rotate(number).await, expected, "{number}");
    }
    assert_eq!(world.get(id).await.secret.expose(), first[15].0);
    // One more, and the oldest is forgotten.
    rotate(16).await;
    assert_eq!(rotate(1).await, first[1]);
    assert_ne!(rotate(0).await, first[0]);
}
