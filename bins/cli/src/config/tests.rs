//! Who is heard first.

use std::ffi::OsString;
use std::path::PathBuf;

use super::*;
use crate::args::Global;

/// A machine with a configuration file and, if it runs, a server of its own.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("restante")).unwrap();
        Self { folder }
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Starts a server as far as the discovery file can tell: this very process.
    fn server(&self) -> PathBuf {
        let key = self.write(".api-key", "key-of-local\n");
        let told = serde_json::json!({
            "url": "http://127.0.0.1:8080", "smtp": "127.0.0.1:2525", "apiKeyFile": key, "pid": std::process::id(),
        });
        self.write("restante/server.json", &told.to_string());
        key
    }

    fn resolve(&self, flags: Global, variables: &[(&str, &str)], file: &str) -> Result<Config, ConfigError> {
        let config = Some(self.write("config.toml", file));
        let flags = Global { config, ..flags };
        let pairs = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let environment: Environment = pairs.collect();
        let file = FileSettings::read(flags.config.as_deref(), &environment)?;
        let local = LocalServer::find_with(|name| (name == "XDG_RUNTIME_DIR").then(|| self.folder.path().into()));
        Config::resolve(&Sources::new(&flags, &environment, file)?, local)
    }
}

fn flag_url(url: &str) -> Global {
    Global {
        url: Some(url.to_owned()),
        ..Global::default()
    }
}

#[test]
fn flags_come_before_variables_before_the_file_before_the_local_server() {
    const FILE: &str = "url = \"http://file\"\napi_key = \"key-of-file\"";
    const KEY: &str = "api_key = \"key-of-file\"";
    const VARIABLES: [(&str, &str); 2] = [
        ("RESTANTE_URL", "http://variable"),
        ("RESTANTE_API_KEY", "key-of-variable"),
    ];
    let machine = Machine::new();
    machine.server();
    let flags = Global {
        api_key: Some("key-of-flag".to_owned()),
        ..flag_url("http://flag")
    };
    let none = Global::default;
    let empty = [("RESTANTE_URL", ""), ("RESTANTE_API_KEY", "")];
    for (flags, variables, file, url, key) in [
        (flags, &VARIABLES[..], FILE, "http://flag", "key-of-flag"),
        (
            flag_url("http://flag"),
            &VARIABLES[1..],
            FILE,
            "http://flag",
            "key-of-variable",
        ),
        (none(), &VARIABLES, FILE, "http://variable", "key-of-variable"),
        (none(), &VARIABLES[..1], KEY, "http://variable", "key-of-file"),
        (flag_url("http://file/"), &[], FILE, "http://file/", "key-of-file"),
        // Its own key is at hand, and that of the file is for another server.
        (
            flag_url("http://127.0.0.1:8080"),
            &[],
            FILE,
            "http://127.0.0.1:8080",
            "key-of-local",
        ),
        (none(), &empty, FILE, "http://file", "key-of-file"),
        (none(), &VARIABLES[1..], "", "http://127.0.0.1:8080", "key-of-variable"),
        (none(), &[], "", "http://127.0.0.1:8080", "key-of-local"),
        (
            flag_url("HTTP://127.0.0.1:8080/"),
            &[],
            "",
            "HTTP://127.0.0.1:8080/",
            "key-of-local",
        ),
    ] {
        let config = machine.resolve(flags, variables, file).unwrap();
        assert_eq!((config.url.value.as_str(), config.api_key.secret.as_str()), (url, key));
    }
}

#[test]
fn whoever_names_a_key_file_is_heard_before_lower_keys() {
    let machine = Machine::new();
    let path = machine.write("key", " key-of-key-file \n");
    let variables = [
        ("RESTANTE_URL", "http://a"),
        ("RESTANTE_API_KEY_FILE", path.to_str().unwrap()),
    ];
    let config = machine
        .resolve(Global::default(), &variables, "api_key = \"key-of-file\"")
        .unwrap();
    assert_eq!(config.api_key.secret.as_str(), "key-of-key-file");
    let origin = config.api_key.origin.to_string();
    assert_eq!(origin, format!("{}, named by RESTANTE_API_KEY_FILE", path.display()));
    assert!(!format!("{config:?}").contains("key-of-key-file"));
}

#[test]
fn the_key_of_the_local_server_goes_to_no_other_one() {
    let machine = Machine::new();
    machine.server();
    for url in [
        "http://127.0.0.1:8081",
        "http://localhost:8080",
        "http://127.0.0.1:8080.example.test",
    ] {
        let error = machine.resolve(flag_url(url), &[], "").unwrap_err();
        assert!(matches!(error, ConfigError::NoKey { .. }), "{url}: {error}");
        let text = error.to_string();
        for part in [url, "--url", "RESTANTE_API_KEY", "http://127.0.0.1:8080,"] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }
}

#[test]
fn a_key_goes_to_no_other_server_than_the_one_named_beside_it() {
    const FILE: &str = "url = \"http://team\"\napi_key = \"S3CRET\"";
    let machine = Machine::new();
    let team = [("RESTANTE_URL", "http://team"), ("RESTANTE_API_KEY", "S3CRET")];
    let url = [("RESTANTE_URL", "http://other")];
    for (flags, variables, file, origin) in [
        (flag_url("http://other"), &[][..], FILE, "config.toml, line 2: api_key"),
        (Global::default(), &url, FILE, "config.toml, line 2: api_key"),
        (flag_url("http://other"), &team, "", "RESTANTE_API_KEY is"),
    ] {
        let error = machine.resolve(flags, variables, file).unwrap_err();
        assert!(matches!(error, ConfigError::KeyOfAnother { .. }), "{error}");
        let text = error.to_string();
        for part in ["http://other", "is for http://team", "--api-key-file", origin] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
        assert!(!text.contains("S3CRET"), "{text}");
    }
}

#[test]
fn an_empty_flag_is_refused() {
    for flags in [
        flag_url(""),
        Global {
            inbox: Some(" ".to_owned()),
            ..Global::default()
        },
    ] {
        let text = Machine::new().resolve(flags, &[], "").unwrap_err().to_string();
        assert!(text.starts_with("--") && text.contains("not an empty one"), "{text}");
    }
}

#[test]
fn mail_goes_to_the_local_server_only_if_that_is_the_one_meant() {
    let machine = Machine::new();
    machine.server();
    let smtp = |variables: &[(&str, &str)]| {
        let config = machine.resolve(Global::default(), variables, "").unwrap();
        config.smtp.map(|given| (given.value.to_string(), given.origin))
    };
    assert_eq!(smtp(&[]), Some(("127.0.0.1:2525".to_owned(), Origin::LocalServer)));
    let elsewhere = [("RESTANTE_URL", "http://a"), ("RESTANTE_API_KEY", "k")];
    assert_eq!(smtp(&elsewhere), None);
    let named = [("RESTANTE_SMTP", "smtps://a:465")];
    assert_eq!(
        smtp(&named),
        Some(("smtps://a:465".to_owned(), Origin::Variable(Setting::Smtp)))
    );
}

#[test]
fn values_that_cannot_be_used_name_their_source() {
    let machine = Machine::new();
    machine.server();
    let absent = machine.folder.path().join("absent");
    let blank = machine.write("blank", "\n");
    for (variables, file, parts) in [
        (
            vec![("RESTANTE_STRATEGY", "pull")],
            "",
            ["RESTANTE_STRATEGY", "auto, sse or polling", "pull"],
        ),
        (
            vec![],
            "smtp = \"here\"",
            ["config.toml, line 1: smtp", "a mail server such as", "here"],
        ),
        (
            vec![("RESTANTE_CA_FILE", absent.to_str().unwrap())],
            "",
            ["RESTANTE_CA_FILE", "absent", "No such file"],
        ),
        (
            vec![("RESTANTE_API_KEY_FILE", blank.to_str().unwrap())],
            "",
            ["RESTANTE_API_KEY_FILE", "blank", "holds none"],
        ),
        (
            vec![("RESTANTE_API_KEY", "S3CRET"), ("RESTANTE_API_KEY_FILE", "f")],
            "",
            ["RESTANTE_API_KEY and RESTANTE_API_KEY_FILE", "both", "leave one"],
        ),
    ] {
        let error = machine
            .resolve(Global::default(), &variables, file)
            .unwrap_err()
            .to_string();
        assert!(!error.contains("S3CRET"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part:?} in {error:?}");
        }
    }
}

#[test]
fn without_any_server_the_error_says_what_to_do() {
    let error = Machine::new()
        .resolve(Global::default(), &[], "")
        .unwrap_err()
        .to_string();
    assert!(error.contains("start one") && error.contains("RESTANTE_URL"), "{error}");
}
