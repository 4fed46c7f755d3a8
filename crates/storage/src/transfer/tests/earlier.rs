//! Streams of earlier versions.

use super::*;

/// What the first versions wrote, byte for byte.
const VERSION_1: &[&str] = &[
    "727374455850525401000000",
    "190000007adec456eda43ced00ac020773657276696365036f6e650374776f057468726565",
    "3e000000920584f093429882010101010101010101010101010101010103614062020202020202020202020202020202020202020202020202020202020202020201036b65790101ac02",
    "19000000e540ffba613beea802030303030303030303030303030303038001010102026869",
    "04000000c88329832b8129e803010102",
];
const VERSION_2: &[&str] = &[
    "727374455850525402000000",
    VERSION_1[1],
    VERSION_1[2],
    VERSION_1[3],
    "04000000c883298364b12c3204000809",
    "3e000000827227688e8f6adf04010404040404040404040404040404040401010101010101010101010101010101010702ac0201ad0201000201020301ac020101ae0206636f6e666967",
    "2b00000040994594a10e72b604020801010101010101010101010101010101030303030303030303030303030303038001000464617461",
    "4b000000b3bcfdd8730bc857040209010101010101010101010101010101010303030303030303030303030303030380010102036140620202020202020202020202020202020202020202020202020202020202020202",
    "33000000af78d3edc8df5f61040304040404040404040404040404040404080105050505050505050505050505050505ac02020100ca0201067265706f7274",
    "080000007e986db873cdccff030101020304ac02",
];

fn bytes(hex: &[&str]) -> Vec<u8> {
    let hex = hex.concat();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn streams_of_earlier_versions_are_read() {
    for (version, webhooks) in [(VERSION_1, 0), (VERSION_2, 3)] {
        let entries = read(&bytes(version)).unwrap();
        let [_, Entry::Inbox(inbox), Entry::Email(email), .., Entry::End(totals)] = entries.as_slice() else {
            panic!("{entries:?}");
        };
        assert_eq!(
            (inbox.address.as_str(), inbox.email_auth, inbox.expires_at),
            ("a@b", true, 300)
        );
        assert_eq!(
            (inbox.spam_analysis, inbox.persistent, &inbox.chaos),
            (false, false, &None)
        );
        assert_eq!((email.received_at, email.is_read), (128, true));
        assert_eq!((totals.emails, totals.webhooks), (1, webhooks));
    }
    let mut later = bytes(VERSION_2);
    for (version, told) in [(0, 0), (4, 4)] {
        later[8] = version;
        assert!(matches!(read(&later), Err(StreamError::Version { found }) if found == told));
    }
}

/// An export of an earlier version, made from one of this: inboxes and totals lack what came later.
#[tokio::test]
async fn exports_of_earlier_versions_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    let from = open(&dir);
    let inbox = create(&from, "bob").await;
    let new = email(&inbox, "mail");
    from.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    let entries = read(&exported(&from).await.0).unwrap();
    for version in [1, 2] {
        let mut stream = Vec::new();
        let mut writer = Writer::new(&mut stream).unwrap();
        for entry in &entries {
            let mut content = postcard::to_stdvec(entry).unwrap();
            let is_longer = matches!(entry, Entry::Inbox(_)) || (version == 1 && matches!(entry, Entry::End(_)));
            if is_longer {
                let later = content.split_off(content.len() - 3);
                assert_eq!(later, [0; 3]);
            }
            writer.put_content(&content).unwrap();
        }
        writer.finish().unwrap();
        stream[8] = version;
        let dir = tempfile::tempdir().unwrap();
        let to = open(&dir);
        imported(&to, &stream).await.unwrap();
        assert_eq!(shown(&to, &inbox).await, shown(&from, &inbox).await);
    }
}
