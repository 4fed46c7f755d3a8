//! The server: reads the settings, loads the secrets, composes, runs, stops.
//!
//! It is a library under a thin main, so that tests start the real server in their own process.
//! It knows how the other crates fit together and nothing of what they do.
//! The environment, the command line and the machine come in as values: only `main` asks the process for them.
//!
//! ```
//! use restante_server::settings::{self, Invocation, Machine};
//!
//! let machine = Machine { hostname: "mail".into(), memory_bytes: 1 << 30, app_data_writable: false };
//! let argv = ["server", "--smtp-port", "0"].map(Into::into);
//! let environment = [("SVC_LOG_FORMAT".into(), "json".into())];
//! let Invocation::Serve(settings) = settings::read(argv, environment, &machine)? else {
//!     panic!("nothing else was asked for");
//! };
//! assert_eq!(settings.smtp.listen.unwrap().to_string(), "127.0.0.1:0");
//! # Ok::<(), restante_server::StartError>(())
//! ```
//!
//! Modules, in reading order: [`settings`], [`start_error`], [`data_directory`], [`secrets`], [`logs`], [`panics`],
//! [`limits`], [`listen`], [`certificate`], [`startup`], [`discovery`], [`compose`], [`run`], [`store_command`].

pub mod certificate;
pub mod compose;
pub mod data_directory;
pub mod discovery;
pub mod limits;
pub mod listen;
pub mod logs;
pub mod panics;
pub mod run;
pub mod secrets;
pub mod settings;
pub mod start_error;
pub mod startup;
pub mod store_command;

pub use compose::RunningServer;
pub use secrets::Secrets;
pub use settings::Settings;
pub use start_error::StartError;
