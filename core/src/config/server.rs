//! What to start.

use std::path::PathBuf;

use serde::Deserialize;

use super::{Environment, Secret, Settings};

/// A server: the program to start, what it gets to see, and how the session behaves towards it.
///
/// The program is started from an executable and an argument vector, never through a shell (row L02). Nothing is
/// checked here: [`Server::check`] does, and a session checks before anything starts.
///
/// ```
/// use sans_mcp::{Secret, Server};
///
/// let server = Server::new("docs", "docs-server")
///     .arg("/srv/docs")
///     .variable("LOG_LEVEL", "warn")
///     .secret("DOCS_TOKEN", Secret::new("s3cr3t"));
/// assert!(server.check().is_ok());
/// assert!(!format!("{server:?}").contains("s3cr3t"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Server {
    /// Carried by every error and diagnostic; at most [`Server::LONGEST_NAME`] bytes.
    pub name: String,
    /// The executable: a path, or a bare name that is looked up in the `PATH` the server gets.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its working directory; that of the host if not given.
    #[serde(default)]
    pub working_directory: Option<PathBuf>,
    /// What it inherits of the host's environment.
    #[serde(default)]
    pub environment: Environment,
    /// More variables of the host to inherit, by name.
    #[serde(default)]
    pub inherit: Vec<String>,
    /// Variables with their values; a later one of the same name wins, and all win over inherited ones. An object in
    /// JSON.
    #[serde(default, with = "pairs")]
    pub variables: Vec<(String, String)>,
    /// Variables whose values are never shown (row L04); no name twice, nor one of `variables`. An object in JSON.
    #[serde(default, with = "pairs")]
    pub secrets: Vec<(String, Secret)>,
    /// Turns the command guard off (row L03).
    #[serde(default)]
    pub allow_shell: bool,
    /// What happens to the server's standard error output (row L22).
    #[serde(default)]
    pub stderr: StderrMode,
    /// Which processes a close and a drop end (rows L17 and L18).
    #[serde(default)]
    pub descendants: Descendants,
    /// How the session behaves.
    #[serde(default)]
    pub settings: Settings,
}

impl Server {
    /// 128 bytes: a name is repeated in every message, and a page of it helps nobody.
    pub const LONGEST_NAME: usize = 128;

    /// A server called `name` that is started as `command`, with all else at its default.
    pub fn new(name: impl Into<String>, command: impl Into<String>) -> Server {
        Server {
            name: name.into(),
            command: command.into(),
            args: Vec::new(),
            working_directory: None,
            environment: Environment::default(),
            inherit: Vec::new(),
            variables: Vec::new(),
            secrets: Vec::new(),
            allow_shell: false,
            stderr: StderrMode::default(),
            descendants: Descendants::default(),
            settings: Settings::default(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Server {
        self.args.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: Into<String>>(mut self, arguments: I) -> Server {
        self.args.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn working_directory(mut self, directory: impl Into<PathBuf>) -> Server {
        self.working_directory = Some(directory.into());
        self
    }

    /// Sets what is inherited of the host's environment.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Server {
        self.environment = environment;
        self
    }

    /// Inherits one more variable of the host, by name.
    #[must_use]
    pub fn inherit(mut self, name: impl Into<String>) -> Server {
        self.inherit.push(name.into());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Server {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets a variable whose value is never shown.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, value: Secret) -> Server {
        self.secrets.push((name.into(), value));
        self
    }

    /// Turns the command guard off.
    #[must_use]
    pub fn allow_shell(mut self) -> Server {
        self.allow_shell = true;
        self
    }

    /// Sets what happens to standard error output.
    #[must_use]
    pub fn stderr(mut self, mode: StderrMode) -> Server {
        self.stderr = mode;
        self
    }

    /// Sets which processes a close and a drop end.
    #[must_use]
    pub fn descendants(mut self, descendants: Descendants) -> Server {
        self.descendants = descendants;
        self
    }

    /// Sets how the session behaves.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Server {
        self.settings = settings;
        self
    }
}

/// What happens to the server's standard error output. It is always drained (row L22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StderrMode {
    /// A bounded tail is kept for failure reports.
    #[default]
    Tail,
    /// A bounded tail is kept, and each piece is also given to the host as it comes.
    Events,
    /// It goes where the host's own goes; no tail is kept.
    Inherit,
    /// It goes nowhere; no tail is kept.
    Discard,
}

/// Which processes a close and a drop end, besides the server's process group (rows L17 and L18).
///
/// It is heeded on Linux; elsewhere only the group can be ended, whatever is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Descendants {
    /// Also those that left the group, by a session of their own for instance. They are known by a variable that the
    /// server gets for that, so one that clears or overwrites its environment is not found.
    #[default]
    All,
    /// Only the group, for servers that start daemons which are to live on. The server gets no such variable.
    Group,
}

/// Reads an object into pairs, so that their order stays and a name that stands there twice is seen.
mod pairs {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

    struct Pairs<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
        type Value = Vec<(String, V)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of names and values")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }

    pub(super) fn deserialize<'de, D, V>(input: D) -> Result<Vec<(String, V)>, D::Error>
    where
        D: Deserializer<'de>,
        V: Deserialize<'de>,
    {
        input.deserialize_map(Pairs(PhantomData))
    }
}
