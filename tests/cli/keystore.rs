//! The file with the private keys.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::desk::Desk;

#[test]
fn it_is_for_its_owner_only() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&["--encrypted"]);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(desk.data()), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(desk.data()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(entry.path()) & 0o077, 0, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    assert!(names.contains(&"keystore.json".to_owned()), "{names:?}");
}

#[test]
fn ten_processes_at_once_lose_no_key() {
    let desk = Desk::new();
    let creating: Vec<_> = (0..10)
        .map(|_| desk.start(&["inbox", "create", "--encrypted", "--json"]))
        .collect();
    let mut addresses: Vec<String> = Vec::new();
    for child in creating {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let created: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        addresses.push(created["emailAddress"].as_str().unwrap().to_owned());
    }
    for address in &addresses {
        desk.server().send(address, "Sealed", "x");
        let shown = desk
            .run(["email", "view", "--inbox", address, "--json"])
            .expect(0)
            .json();
        assert_eq!(shown["metadata"]["subject"], "Sealed", "{address}");
    }
    let left = fs::read_dir(desk.data()).unwrap().count();
    assert!(left <= 2, "no more than the keystore and its lock, found {left}");
}

#[test]
fn one_that_cannot_be_read_is_named_and_left_as_it_is() {
    let desk = Desk::new();
    fs::create_dir_all(desk.data()).unwrap();
    let path = desk.data().join("keystore.json");
    for damaged in ["", "not JSON", "[]", r#"{"version":99}"#] {
        fs::write(&path, damaged).unwrap();
        let _ = desk
            .run(["inbox", "create", "--encrypted"])
            .expect_error(&[path.to_str().unwrap()]);
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn the_data_directory_is_where_the_environment_says() {
    let desk = Desk::new();
    let elsewhere = desk.path("keys");
    let environment = [("RESTANTE_DATA_DIR", elsewhere.to_str().unwrap())];
    let _ = desk
        .run_with(&environment, &["inbox", "create", "--encrypted"])
        .expect(0);
    assert!(elsewhere.join("keystore.json").exists());
    assert!(!desk.data().exists());
}

#[test]
fn keys_of_a_deleted_inbox_are_gone() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let keystore = || fs::read_to_string(desk.data().join("keystore.json")).unwrap();
    assert!(keystore().contains(&address));
    let _ = desk.run(["inbox", "delete", &address, "--yes"]).expect(0);
    assert!(
        !keystore().contains(&address) && !keystore().contains("secretKey"),
        "{}",
        keystore()
    );
}
