use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt, path::PathBuf, process};

use sans_mcp::StartFailure;

use super::find;

/// The system's own refusal hides it where this is tested, but not everywhere: some hand the file to a shell.
#[test]
fn l02_text_without_an_interpreter_is_refused_before_the_system_sees_it() {
    let file = std::env::temp_dir().join(format!("sans-mcp-executable-{}", process::id()));
    let command = file.to_str().expect("a path in UTF-8");
    let found = |content: &str| {
        fs::write(&file, content).expect("a temporary file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).expect("own file");
        find(command, OsStr::new(""), None)
    };
    assert_eq!(found("echo a shell ran this\n"), Err(StartFailure::NotExecutable));
    assert_eq!(found(""), Err(StartFailure::NotExecutable));
    assert_eq!(found("#!/bin/sh\n"), Ok(file.clone()));
    assert_eq!(found("\u{7f}ELF\u{2}\u{1}\u{1}\0"), Ok(file.clone()));
    fs::remove_file(&file).expect("own file");
}

#[test]
fn a_path_is_absolute_whatever_it_is_relative_to() {
    let here = std::env::current_dir().expect("tests run somewhere");
    assert_eq!(find("./server", OsStr::new(""), None), Ok(here.join("server")));
    assert_eq!(find("/bin/server", OsStr::new(""), None), Ok(PathBuf::from("/bin/server")));
}
