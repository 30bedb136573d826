//! Row L02, row L06 and cases C098 and C099: what is started, and how failures to start are told apart.

use std::{
    fs,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sans_mcp::{Exit, Server, StartFailure};
use sans_mcp_process::spawn;

use crate::support::{Folder, alone, exit_of, output, own_children, own_descriptors, shell, unprivileged};

fn failure(server: &Server) -> StartFailure {
    spawn(server).err().unwrap_or_else(|| panic!("{server:?} started"))
}

fn server(command: &str) -> Server {
    Server::new("start", command)
}

#[test]
fn l06_an_unknown_name_was_searched_in_path() {
    let folder = Folder::new();
    let searched = StartFailure::NotFound { searched_path: true };
    assert_eq!(failure(&server("no-such-runtime-xyz").variable("PATH", folder.text())), searched);
    assert_eq!(
        failure(&server("cat").variable("PATH", folder.text())),
        searched,
        "the host's PATH is not used"
    );
    assert_eq!(failure(&server("cat").variable("PATH", "")), searched);
    assert_eq!(failure(&server("")), searched);
}

#[test]
fn l06_a_path_that_leads_nowhere_is_not_found() {
    let folder = Folder::new();
    let file = folder.file("file", 0o755, "#!/bin/sh\n");
    for command in [format!("{}/nothing", folder.text()), format!("{file}/below"), "./nothing".to_owned()] {
        assert_eq!(failure(&server(&command)), StartFailure::NotFound { searched_path: false }, "{command}");
    }
}

#[test]
fn l06_what_may_not_be_executed_is_not_permitted() {
    let folder = Folder::new();
    let plain = folder.file("plain", 0o644, "#!/bin/sh\n");
    assert_eq!(failure(&server(&plain)), StartFailure::NotPermitted);
    assert_eq!(failure(&server(folder.text())), StartFailure::NotPermitted, "a folder");
    assert_eq!(failure(&server("plain").variable("PATH", folder.text())), StartFailure::NotPermitted);
}

#[test]
fn l06_a_missing_interpreter_is_told_from_a_missing_file() {
    let folder = Folder::new();
    let script = folder.file("script", 0o755, "#!/no/such/interpreter\n");
    assert_eq!(failure(&server(&script)), StartFailure::NotExecutable);
}

#[test]
fn l02_text_without_an_interpreter_is_not_handed_to_a_shell() {
    let folder = Folder::new();
    let script = folder.file("script", 0o755, "echo a shell ran this\n");
    let empty = folder.file("empty", 0o755, "");
    let foreign = folder.file("foreign", 0o755, "\0\0not a program\0");
    for command in [script, empty, foreign] {
        assert_eq!(failure(&server(&command)), StartFailure::NotExecutable, "{command}");
    }
}

#[test]
fn l02_arguments_are_not_read_by_a_shell() {
    let (_child, pipes) = spawn(&server("echo").args(["$HOME;", "a  b", "*"])).expect("echo is installed");
    assert_eq!(output(&pipes.stdout), "$HOME; a  b *\n");
}

#[test]
fn l06_a_bad_working_directory_is_named_as_the_cause() {
    let folder = Folder::new();
    let file = folder.file("file", 0o755, "#!/bin/sh\n");
    let missing = folder.path().join("missing");
    assert_eq!(failure(&server("cat").working_directory(&missing)), StartFailure::BadWorkingDirectory);
    assert_eq!(failure(&server("cat").working_directory(&file)), StartFailure::BadWorkingDirectory);
    let both = server("no-such-runtime-xyz").working_directory(&missing);
    assert_eq!(failure(&both), StartFailure::BadWorkingDirectory, "it is looked at first");
}

#[test]
fn l06_a_working_directory_without_search_permission_is_named_as_the_cause() {
    unprivileged("start::l06_a_working_directory_without_search_permission_is_named_as_the_cause", || {
        let folder = Folder::new();
        let closed = folder.folder("closed", 0o600);
        assert_eq!(failure(&server("cat").working_directory(closed)), StartFailure::BadWorkingDirectory);
    });
}

#[test]
fn l06_a_file_behind_a_closed_folder_is_not_permitted() {
    unprivileged("start::l06_a_file_behind_a_closed_folder_is_not_permitted", || {
        let folder = Folder::new();
        let closed = folder.folder("closed", 0o700);
        let inside = closed.join("server");
        fs::write(&inside, "#!/bin/sh\n").expect("own folder");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("own folder");
        let command = inside.to_str().expect("a path in UTF-8");
        assert_eq!(failure(&server(command)), StartFailure::NotPermitted);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("own folder");
    });
}

#[test]
fn l06_no_descriptor_left_is_no_resources() {
    alone("start::l06_no_descriptor_left_is_no_resources", || {
        let limit = getrlimit(Resource::Nofile);
        let spare = fs::File::open("/dev/null").expect("it is there");
        let lowest_free = spare.as_raw_fd().unsigned_abs().into();
        drop(spare);
        setrlimit(Resource::Nofile, Rlimit { current: Some(lowest_free), maximum: limit.maximum })
            .expect("lower");
        let failure = failure(&server("/bin/cat"));
        setrlimit(Resource::Nofile, limit).expect("as before");
        let errno = rustix::io::Errno::MFILE.raw_os_error();
        assert_eq!(failure, StartFailure::NoResources { errno });
    });
}

#[test]
fn l06_a_nul_byte_is_refused() {
    let errno = rustix::io::Errno::INVAL.raw_os_error();
    assert_eq!(failure(&server("cat").arg("a\0b")), StartFailure::System { errno });
}

#[test]
fn l06_a_failed_start_leaves_no_process_and_no_descriptor() {
    alone("start::l06_a_failed_start_leaves_no_process_and_no_descriptor", || {
        let folder = Folder::new();
        let servers = [
            server("no-such-runtime-xyz"),
            server("/no/such/file"),
            server("cat").working_directory("/no/such/folder"),
            server(&folder.file("plain", 0o644, "#!/bin/sh\n")),
            server(&folder.file("script", 0o755, "#!/no/such/interpreter\n")),
            server(&folder.file("foreign", 0o755, "\0\0\0")),
            server("cat").arg("a\0b"),
        ];
        let before = own_descriptors();
        for server in &servers {
            failure(server);
            assert_eq!(own_children(), 0, "{server:?}");
            assert_eq!(own_descriptors(), before, "{server:?}");
        }
    });
}

/// Case C104: which PATH finds the command.
#[test]
fn c104_a_bare_name_is_found_in_the_path_that_the_server_gets() {
    let folder = Folder::new();
    folder.file("only-here", 0o755, "#!/bin/sh\necho \"$0\" in \"$PATH\"\n");
    let server = server("only-here").variable("PATH", folder.text());
    let (_child, pipes) = spawn(&server).expect("it is in that PATH");
    assert_eq!(output(&pipes.stdout), format!("{0}/only-here in {0}\n", folder.text()));
}

#[test]
fn c104_the_first_executable_file_in_path_wins() {
    let folder = Folder::new();
    for (name, mode) in [("first", 0o644), ("second", 0o755), ("third", 0o755)] {
        let inner = Folder::new();
        inner.file("server", mode, &format!("#!/bin/sh\necho {name}\n"));
        fs::rename(inner.path(), folder.path().join(name)).expect("same file system");
        fs::create_dir(inner.path()).expect("it has moved"); // for its removal
    }
    fs::create_dir_all(folder.path().join("zeroth/server")).expect("own folder");
    let path =
        ["missing", "zeroth", "first", "second", "third"].map(|name| format!("{}/{name}", folder.text()));
    let (_child, pipes) =
        spawn(&server("server").variable("PATH", path.join(":"))).expect("second is executable");
    assert_eq!(output(&pipes.stdout), "second\n");
}

#[test]
fn l04_what_is_relative_is_relative_to_the_servers_working_directory() {
    let folder = Folder::new();
    folder.folder("bin", 0o755);
    for name in ["server", "bin/inner"] {
        folder.file(name, 0o755, "#!/bin/sh\npwd\n");
    }
    let here = fs::canonicalize(folder.path()).expect("it is there");
    for server in [server("./server"), server("bin/../server"), server("inner").variable("PATH", "/none:bin")]
    {
        let (_child, pipes) = spawn(&server.working_directory(folder.path())).expect("it is there");
        assert_eq!(output(&pipes.stdout), format!("{}\n", here.display()));
    }
}

#[test]
fn l02_the_server_sees_its_name_as_it_was_written() {
    let (_child, pipes) = spawn(&server("cat").arg("/proc/self/cmdline")).expect("cat is installed");
    assert_eq!(output(&pipes.stdout), "cat\0/proc/self/cmdline\0");
}

/// Case C097: an exit before the handshake is no failure to start; its code or signal is known.
#[test]
fn c097_an_exit_at_once_is_a_start_with_an_exit() {
    let endings = [("exit 2", Exit::Code(2)), ("exit 0", Exit::Code(0)), ("kill -SEGV $$", Exit::Signal(11))];
    for (script, exit) in endings {
        let (mut child, pipes) = spawn(&shell(script)).expect("there is a shell");
        assert_eq!(output(&pipes.stdout), "");
        assert_eq!(exit_of(&mut child), exit, "{script}");
    }
}

/// Case C101.
#[test]
fn c101_the_last_words_and_the_code_are_both_there() {
    let script = "echo 'FATAL: token missing' >&2; exit 78";
    let (mut child, pipes) = spawn(&shell(script)).expect("there is a shell");
    assert_eq!(exit_of(&mut child), Exit::Code(78));
    assert_eq!(output(pipes.stderr.expect("a pipe by default")), "FATAL: token missing\n");
}
