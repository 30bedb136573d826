//! The fixture servers in other languages, as files.

use std::fs;
use std::io;
use std::path::PathBuf;

use sans_mcp_fixtures as fixtures;

/// A directory with the servers; gone when it is dropped.
#[derive(Debug)]
pub(super) struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        // What cannot be removed now cannot be removed by us.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Files {
    pub(super) fn write() -> io::Result<Files> {
        let files = Files(directory()?);
        fs::write(files.path("fixture.py"), fixtures::PYTHON_SERVER)?;
        fs::write(files.path("fixture.mjs"), fixtures::NODE_SERVER)?;
        Ok(files)
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

/// A new directory that nobody else has put there.
fn directory() -> io::Result<PathBuf> {
    /// A run that was killed may have left the directory of a process with the same number.
    const TRIES: u32 = 16;
    let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
    for number in 0..TRIES {
        let name = format!("sans-mcp-demo-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        outcome = fs::create_dir(&directory).map(|()| directory);
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
            break;
        }
    }
    outcome
}
