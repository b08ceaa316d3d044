//! Whether a client is on this machine.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::clients::{Client, Places};

/// What shows that a client is here: one of its programs on the search path,
/// its application, or the directory of its configuration.
pub(crate) fn detect(client: &Client, places: &Places, search: Option<&OsStr>) -> Option<PathBuf> {
    let program = client.binaries.iter().find_map(|name| on_path(name, search));
    let application = || {
        let application = Path::new("/Applications").join(client.application?);
        application.is_dir().then_some(application)
    };
    let directory = || Some((client.directory)(places)).filter(|directory| directory.is_dir());
    program.or_else(application).or_else(directory)
}

fn on_path(name: &str, search: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(search?).filter(|directory| directory.is_absolute()).find_map(|directory| {
        let program = directory.join(name);
        let metadata = program.metadata().ok()?;
        (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then_some(program)
    })
}

#[cfg(test)]
mod tests {
    use super::super::clients::Platform;
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn a_program_or_a_directory_shows_a_client() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment { user_home: Some(home.path().into()), ..Environment::default() };
        let places = Places::new(&environment, Platform::Linux).unwrap();
        let codex = Client::named("codex").unwrap();
        let search = home.path().join("bin");
        let found = || detect(codex, &places, Some(search.as_os_str()));
        assert_eq!(found(), None);
        std::fs::create_dir_all(home.path().join(".codex")).unwrap();
        assert_eq!(found(), Some(home.path().join(".codex")));
        std::fs::create_dir_all(&search).unwrap();
        let program = search.join("codex");
        std::fs::write(&program, "").unwrap();
        assert_eq!(found(), Some(home.path().join(".codex")), "it can't be run");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(), Some(program));
        assert_eq!(detect(Client::named("cursor").unwrap(), &places, None), None);
    }
}
