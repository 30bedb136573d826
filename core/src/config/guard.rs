//! The command guard: refuses shells and script one-liners as the executable (row L03).

use crate::sample::is_hidden;

/// Executables that are refused unless `allow_shell` is set: lower case, without path and ending.
///
/// Each of them runs a text or a program that stands in its arguments, so that a configuration which looks like one
/// program is in truth any program. Four groups, each with its reason:
///
/// * shells: they parse text again, with quotes, redirections and substitutions of their own;
/// * script hosts of Windows and macOS, for the same reason;
/// * interpreters that are used for one-liners (`perl -e`, `awk`, `osascript -e`). A server written in such a language
///   is started by its own executable file with a `#!` line;
/// * wrappers that start what their arguments name (`env`, `xargs`, `sudo`, `timeout`): behind them the guard would
///   see only the wrapper. Variables, working directory and deadlines have their own place in the configuration, and
///   some wrappers leave the process group that a close ends.
///
/// What passes, though it could be made to run anything: runtimes and package runners that servers are really started
/// with (`node`, `npx`, `python3`, `uv`, `uvx`, `deno`, `bun`, `php`, `java`, `dotnet`), also with a switch for inline
/// code such as `python3 -c`; containers, sandboxes and remote logins (`docker`, `bwrap`, `ssh`), which narrow what a
/// server can do here. The guard reads the name alone and touches no file: a copy or a link under another name passes
/// too. It keeps mistakes and text of foreign origin out of a shell; it is no sandbox.
pub const BLOCKED_COMMANDS: &[&str] = &[
    // Shells of Unix.
    "ash",
    "bash",
    "bash-static",
    "bosh",
    "csh",
    "dash",
    "elvish",
    "fish",
    "hush",
    "ksh",
    "lksh",
    "mksh",
    "mksh-static",
    "nu",
    "oksh",
    "osh",
    "pdksh",
    "posh",
    "rbash",
    "rc",
    "rksh",
    "rzsh",
    "sash",
    "sh",
    "tcsh",
    "xonsh",
    "yash",
    "ysh",
    "zsh",
    "zsh-static",
    // Shells and script hosts of Windows.
    "cmd",
    "command",
    "conhost",
    "cscript",
    "forfiles",
    "git-bash",
    "git-cmd",
    "mshta",
    "powershell",
    "powershell_ise",
    "pwsh",
    "pwsh-preview",
    "regsvr32",
    "rundll32",
    "start",
    "wscript",
    "wsl",
    // Interpreters of one-liners.
    "awk",
    "expect",
    "gawk",
    "lua",
    "luajit",
    "mawk",
    "nawk",
    "original-awk",
    "osascript",
    "perl",
    "ruby",
    "sed",
    "tclsh",
    "wish",
    // Wrappers.
    "busybox",
    "chronic",
    "doas",
    "env",
    "eval",
    "exec",
    "find",
    "ionice",
    "nice",
    "nohup",
    "parallel",
    "pkexec",
    "runuser",
    "screen",
    "script",
    "setsid",
    "stdbuf",
    "su",
    "sudo",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "unbuffer",
    "watch",
    "xargs",
];

/// Endings by which Windows finds an executable; it also drops dots and spaces at the end of a file name.
const ENDINGS: [&str; 4] = [".exe", ".cmd", ".bat", ".com"];

/// Refuses `command` if the program that it names is one of [`BLOCKED_COMMANDS`].
///
/// Only the executable is looked at, never the arguments. These do not get round it: a path with `/` or `\`, a drive
/// or a stream (`C:cmd`, `cmd.exe:x`), the endings `.exe`, `.cmd`, `.bat` and `.com`, dots and spaces at the end, a
/// version (`bash5`, `perl5.36`, `ksh-93`), case, letters that a file system takes for a plain one, and characters
/// that are not seen.
///
/// A host calls it for commands that come from elsewhere; [`Server::check`](crate::Server::check) calls it unless
/// `allow_shell` is set.
///
/// # Errors
///
/// The entry that matched.
///
/// ```
/// use sans_mcp::validate_command;
///
/// assert!(validate_command("npx").is_ok());
/// assert!(validate_command("/opt/docs/bin/docs-server").is_ok());
/// assert_eq!(validate_command(r"C:\Windows\System32\CMD.EXE").unwrap_err().command, "cmd");
/// ```
pub fn validate_command(command: &str) -> Result<(), BlockedCommand> {
    let folded = fold(command);
    let path = folded.trim_end_matches(|c: char| matches!(c, '/' | '\\' | '.') || c.is_whitespace());
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    for part in file.split(':') {
        let name = without_endings(part.trim_start());
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
        if let Some(command) = BLOCKED_COMMANDS.iter().find(|blocked| **blocked == name || **blocked == plain)
        {
            return Err(BlockedCommand { command });
        }
    }
    Ok(())
}

/// The executable is one of [`BLOCKED_COMMANDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{command}` runs whatever its arguments say")]
pub struct BlockedCommand {
    /// The entry of [`BLOCKED_COMMANDS`] that matched.
    pub command: &'static str,
}

/// The form in which a file system that ignores case compares names.
///
/// Upper case first: the long s and the Kelvin sign are letters of their own in one direction only.
fn fold(text: &str) -> String {
    text.chars()
        .filter(|&c| !is_hidden(c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

fn without_endings(mut name: &str) -> &str {
    loop {
        name = name.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
        match ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) {
            Some(shorter) => name = shorter,
            None => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(command: &str) -> Option<&'static str> {
        validate_command(command).err().map(|blocked| blocked.command)
    }

    #[test]
    fn l03_every_blocked_command_is_refused_under_its_own_name() {
        for command in BLOCKED_COMMANDS {
            assert_eq!(blocked(command), Some(*command));
        }
    }

    #[test]
    fn l03_the_list_has_only_names_that_can_match() {
        for (at, command) in BLOCKED_COMMANDS.iter().enumerate() {
            assert_eq!(fold(command), *command);
            assert_eq!(without_endings(command), *command);
            assert!(!command.contains(['/', '\\', ':']));
            assert_eq!(
                BLOCKED_COMMANDS.iter().position(|other| other == command),
                Some(at),
                "{command} twice"
            );
        }
    }

    #[test]
    fn l03_path_ending_case_and_blanks_do_not_get_round_it() {
        for (command, entry) in [
            ("/bin/sh", "sh"),
            ("../../usr/bin/bash", "bash"),
            (r"C:\Windows\System32\cmd.exe", "cmd"),
            (r"C:/Windows\System32/CMD.EXE", "cmd"),
            ("C:cmd", "cmd"),
            ("cmd.exe::$DATA", "cmd"),
            ("PowerShell.Exe", "powershell"),
            ("pwsh.EXE. .", "pwsh"),
            ("bash.", "bash"),
            ("bash ", "bash"),
            (" bash", "bash"),
            ("sh/", "sh"),
            ("sh.cmd", "sh"),
            ("sh.bat", "sh"),
            ("command.com", "command"),
            ("bash.exe.exe", "bash"),
            ("bash .exe", "bash"),
            ("cmd\t.exe:x", "cmd"),
            ("zsh\t", "zsh"),
        ] {
            assert_eq!(blocked(command), Some(entry), "{command:?}");
        }
    }

    #[test]
    fn l03_versions_and_lookalikes_do_not_get_round_it() {
        for (command, entry) in [
            ("bash5", "bash"),
            ("/usr/local/bin/bash-5.2", "bash"),
            ("perl5.36.0", "perl"),
            ("ruby3.2", "ruby"),
            ("ksh93", "ksh"),
            ("tclsh8.6.exe", "tclsh"),
            ("ba\u{17f}h", "bash"),
            ("\u{212a}sh", "ksh"),
            ("ba\u{200c}sh", "bash"),
            ("s\u{0}h", "sh"),
        ] {
            assert_eq!(blocked(command), Some(entry), "{command:?}");
        }
    }

    #[test]
    fn l03_ordinary_runtimes_and_servers_pass() {
        for command in [
            "node",
            "npx",
            "npx.cmd",
            "uvx",
            "uv",
            "python3",
            "python",
            "python3.12",
            "python.exe",
            "deno",
            "bun",
            "bunx",
            "docker",
            "podman",
            "php",
            "java",
            "dotnet",
            "ssh",
            "bwrap",
            "cargo",
            "go",
            "/opt/sh/server",
            r"C:\bash\server.exe",
            "sh-server",
            "bash-mcp",
            "mcp-server-sh",
            "zsh.py",
            "s",
            "",
            "/",
            ".",
            "..",
            ":",
            "cmdx",
        ] {
            assert_eq!(blocked(command), None, "{command:?}");
        }
    }
}
