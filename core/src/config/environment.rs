//! Which of the host's variables a server sees.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use serde::Deserialize;

use super::Server;

/// What a server inherits of the host's environment: an allowlist, never the whole (row L04).
///
/// Nothing else is inherited unless it is named with [`Server::inherit`]: neither `LANG`, which changes how a server
/// writes numbers and messages, nor `TMPDIR`, which lets it share a place with the host, nor any key or proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Environment {
    /// What a program needs to find its runtime and its files: HOME, LOGNAME, PATH, SHELL, TERM and USER.
    #[default]
    Default,
    /// PATH only.
    Minimal,
}

impl Environment {
    /// The names that are inherited on Unix, where the host has them.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Environment::Default => &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"],
            Environment::Minimal => &["PATH"],
        }
    }

    /// The names that are inherited on Windows, where the host has them.
    ///
    /// The minimal set has SYSTEMROOT, without which no program can open a socket or draw a random number there, and
    /// PATHEXT, without which PATH finds nothing.
    pub const fn names_on_windows(self) -> &'static [&'static str] {
        match self {
            Environment::Default => &[
                "APPDATA",
                "COMSPEC",
                "HOME",
                "HOMEDRIVE",
                "HOMEPATH",
                "LOCALAPPDATA",
                "LOGNAME",
                "PATH",
                "PATHEXT",
                "PROCESSOR_ARCHITECTURE",
                "PROGRAMDATA",
                "PROGRAMFILES",
                "SHELL",
                "SYSTEMDRIVE",
                "SYSTEMROOT",
                "TEMP",
                "TERM",
                "USER",
                "USERNAME",
                "USERPROFILE",
            ],
            Environment::Minimal => &["PATH", "PATHEXT", "SYSTEMROOT"],
        }
    }
}

impl Server {
    /// The names of the host's variables that this server inherits: the set chosen by [`Server::environment`] and those
    /// added by [`Server::inherit`], sorted and without repetition.
    pub fn environment_names(&self) -> Vec<&str> {
        let set = if cfg!(windows) { self.environment.names_on_windows() } else { self.environment.names() };
        let names: BTreeSet<&str> =
            set.iter().copied().chain(self.inherit.iter().map(String::as_str)).collect();
        names.into_iter().collect()
    }

    /// The whole environment that the process is to get: inherited variables, over them [`Server::variables`], over
    /// them [`Server::secrets`]. A variable set to the empty text is there and empty.
    ///
    /// A driver calls it when it starts the process, clears what the process would inherit, and gives its own lookup,
    /// since core reads nothing of its surroundings. Names that the lookup does not know are left out. A command
    /// without a path is looked up in the `PATH` of this map. The values of secrets are in clear: never print it.
    ///
    /// ```
    /// use sans_mcp::Server;
    /// use std::ffi::OsString;
    ///
    /// let server = Server::new("docs", "docs-server").inherit("LANG").variable("TERM", "dumb");
    /// let host = |name: &str| match name {
    ///     "LANG" => Some(OsString::from("C.UTF-8")),
    ///     "TERM" => Some(OsString::from("xterm")),
    ///     "AWS_SECRET_ACCESS_KEY" => Some(OsString::from("not for servers")),
    ///     _ => None,
    /// };
    /// let environment: Vec<_> = server.environment_values(host).into_iter().collect();
    /// assert_eq!(environment, [("LANG".into(), "C.UTF-8".into()), ("TERM".into(), "dumb".into())]);
    /// ```
    pub fn environment_values(
        &self,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> BTreeMap<OsString, OsString> {
        let mut values = BTreeMap::new();
        for name in self.environment_names() {
            if let Some(value) = lookup(name) {
                values.insert(OsString::from(name), value);
            }
        }
        for (name, value) in &self.variables {
            values.insert(OsString::from(name), OsString::from(value));
        }
        for (name, value) in &self.secrets {
            values.insert(OsString::from(name), OsString::from(value.expose()));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    /// A host that has every variable, each with its own name in lower case as value.
    fn full_host(name: &str) -> Option<OsString> {
        Some(OsString::from(name.to_lowercase()))
    }

    fn get<'a>(values: &'a BTreeMap<OsString, OsString>, name: &str) -> Option<&'a str> {
        values.get(&OsString::from(name)).and_then(|value| value.to_str())
    }

    #[cfg(unix)]
    #[test]
    fn l04_only_the_documented_names_are_inherited() {
        let server = Server::new("docs", "docs-server");
        assert_eq!(server.environment_names(), ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]);
        let values = server.environment_values(full_host);
        assert_eq!(values.len(), 6);
        assert_eq!(get(&values, "HOME"), Some("home"));
        assert_eq!(get(&values, "LANG"), None);
        assert_eq!(get(&values, "TMPDIR"), None);

        let server = server.environment(Environment::Minimal);
        assert_eq!(server.environment_names(), ["PATH"]);
    }

    #[test]
    fn l04_the_windows_list_has_what_programs_there_need() {
        let names = Environment::Default.names_on_windows();
        for name in [
            "SYSTEMROOT",
            "PATHEXT",
            "COMSPEC",
            "APPDATA",
            "LOCALAPPDATA",
            "PROGRAMDATA",
            "TEMP",
            "USERPROFILE",
        ]
        .iter()
        .chain(Environment::Default.names())
        {
            assert!(names.contains(name), "{name}");
        }
        assert!(names.is_sorted());
        assert!(Environment::Minimal.names_on_windows().iter().all(|name| names.contains(name)));
    }

    #[cfg(unix)]
    #[test]
    fn l04_inherited_names_are_sorted_and_not_repeated() {
        let server = Server::new("docs", "docs-server")
            .environment(Environment::Minimal)
            .inherit("TMPDIR")
            .inherit("PATH")
            .inherit("LANG")
            .inherit("LANG");
        assert_eq!(server.environment_names(), ["LANG", "PATH", "TMPDIR"]);
    }

    #[test]
    fn l04_variables_win_over_inherited_and_secrets_over_variables() {
        let server = Server::new("docs", "docs-server")
            .inherit("TOKEN")
            .variable("PATH", "/srv/first")
            .variable("PATH", "/srv/bin")
            .variable("EMPTY", "")
            .variable("UNI", "\u{e9}")
            .variable("TOKEN", "variable")
            .secret("TOKEN", Secret::new("s3cr3t"));
        let values = server.environment_values(full_host);
        assert_eq!(get(&values, "PATH"), Some("/srv/bin"));
        assert_eq!(get(&values, "EMPTY"), Some(""));
        assert_eq!(get(&values, "UNI"), Some("\u{e9}"));
        assert_eq!(get(&values, "TOKEN"), Some("s3cr3t"));
    }

    #[test]
    fn l04_what_the_host_does_not_have_is_left_out() {
        let server = Server::new("docs", "docs-server").inherit("LANG").variable("A", "1");
        let values = server.environment_values(|_| None);
        assert_eq!(values.len(), 1);
        assert_eq!(get(&values, "A"), Some("1"));
    }

    #[cfg(unix)]
    #[test]
    fn l04_inherited_values_need_not_be_unicode() {
        use std::os::unix::ffi::OsStringExt;
        let raw = OsString::from_vec(b"/srv/\xff".to_vec());
        let server = Server::new("docs", "docs-server").environment(Environment::Minimal);
        let values = server.environment_values(|_| Some(raw.clone()));
        assert_eq!(values.get(&OsString::from("PATH")), Some(&raw));
    }
}
