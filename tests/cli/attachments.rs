//! Attachments are saved inside the folder that was named, and over nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::desk::Desk;
use crate::hostile::base64;

/// Names as mails bring them. `None` is no name at all; `%` is for RFC 2231.
const NAMES: [Option<&str>; 22] = [
    Some("../../outside.txt"),
    Some("/etc/passwd"),
    Some("..\\..\\outside.txt"),
    Some("C:\\Windows\\outside.txt"),
    Some("folder/inside.txt"),
    Some(".."),
    Some("."),
    Some("/"),
    Some(""),
    None,
    Some("nul%00.txt"),
    Some("line%0Abreak.txt"),
    Some("esc%1B%5B2J.txt"),
    Some("right%E2%80%AEtxt.exe"),
    Some(".hidden"),
    Some("-rf"),
    Some("twice.txt"),
    Some("twice.txt"),
    Some("Twice.txt"),
    Some("there.txt"),
    Some("link.txt"),
    Some("dangling.txt"),
];

#[test]
fn hostile_names_stay_inside_the_folder_and_replace_nothing() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let mut names: Vec<_> = NAMES.map(|name| name.map(str::to_owned)).into();
    names.push(Some(format!("{}.txt", "long".repeat(100))));
    names.push(Some(format!("{}.txt", "%E4%BD%A0".repeat(120))));
    let _ = desk.deliver_raw(&address, &message(&names));
    let folder = desk.path("below/saved");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("there.txt"), "mine").unwrap();
    fs::write(desk.path("target"), "mine").unwrap();
    symlink(desk.path("target"), folder.join("link.txt")).unwrap();
    symlink(desk.path("made-through-a-link"), folder.join("dangling.txt")).unwrap();
    let before = files(&desk.path(""));

    let saved = desk.run(["email", "attachments", "--save", "below/saved"]).expect(0);

    let mut after = files(&desk.path(""));
    for (path, content) in &before {
        assert_eq!(after.remove(path).as_ref(), Some(content), "{path:?} after {saved:?}");
    }
    for path in after.keys() {
        assert_eq!(path.parent(), Some(folder.as_path()), "{path:?}");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            !name.chars().any(crate::hostile::is_hostile) && !name.starts_with(['.', '-']),
            "{name:?}"
        );
    }
    let mut contents: Vec<_> = after.into_values().collect();
    contents.sort();
    let mut sent: Vec<_> = (0..names.len())
        .map(|number| format!("content {number:02}").into_bytes())
        .collect();
    sent.sort();
    assert_eq!(contents, sent);
}

#[test]
fn saving_twice_keeps_both() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let _ = desk.deliver_raw(&address, &message(&[Some("a.txt".to_owned())]));
    for _ in 0..2 {
        let _ = desk.run(["email", "attachments", "--save", "saved"]).expect(0);
    }
    let saved = files(&desk.path("saved"));
    assert_eq!(saved.len(), 2);
    assert!(saved.contains_key(&desk.path("saved/a.txt")));
    assert!(saved.values().all(|content| content == b"content 00"));
}

#[test]
fn a_raw_message_goes_over_nothing_unless_it_is_wanted() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let id = desk.deliver(&address, "Raw", "x");
    fs::write(desk.path("target"), "mine").unwrap();
    symlink(desk.path("target"), desk.path("link")).unwrap();
    symlink(desk.path("nowhere"), desk.path("dangling")).unwrap();
    for taken in ["target", "link", "dangling"] {
        let _ = desk
            .run(["email", "raw", "--out", taken])
            .expect_error(&[taken, "--force"]);
    }
    assert!(!desk.path("nowhere").exists());
    let said = desk
        .run(["email", "raw", "--out", "link", "--force", "--json"])
        .expect(0);
    assert_eq!(said.json(), serde_json::json!({ "id": id, "file": "link" }));
    assert_eq!(fs::read(desk.path("target")).unwrap(), b"mine");
    let _ = desk.run(["email", "raw", "--out", "new"]).expect(0);
    assert_eq!(
        fs::read(desk.path("new")).unwrap(),
        fs::read(desk.path("link")).unwrap()
    );
    assert!(fs::read_to_string(desk.path("new")).unwrap().contains("Subject: Raw"));
}

/// A mail with an attachment for each name.
fn message(names: &[Option<String>]) -> Vec<u8> {
    let mut message = "Subject: Files\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".to_owned();
    for (number, name) in names.iter().enumerate() {
        let name = name.as_ref().map_or_else(String::new, |name| named(name));
        let content = base64(format!("content {number:02}").as_bytes());
        message += "--b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n";
        message += &["Content-Disposition: attachment", &name, "\r\n\r\n", &content, "\r\n"].concat();
    }
    (message + "--b--\r\n").into_bytes()
}

/// The parameter that gives an attachment its name.
fn named(name: &str) -> String {
    if name.contains('%') {
        return format!("; filename*=utf-8''{name}");
    }
    format!("; filename=\"{}\"", name.replace('\\', "\\\\"))
}

/// All files below a folder with their content; links are not followed but shown.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_symlink() {
            let leads_to = fs::read_link(&path).unwrap();
            let shown = format!("to {}: {:?}", leads_to.display(), fs::read(&path).ok());
            found.insert(path, shown.into_bytes());
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}
