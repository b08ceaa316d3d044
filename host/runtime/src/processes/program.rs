//! What a local program is: what its source names, what its connection gives
//! it, and where it is found.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::ProcessError;
use crate::egress::Secret;

/// A program of this machine, as one connection runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalProgram {
    /// A name that is looked for in `PATH`, or a path.
    pub program: String,
    /// What follows it.
    pub arguments: Vec<String>,
    /// Where it starts; the home of its person where none is said.
    pub directory: Option<PathBuf>,
    /// What the connection gives it, beside what every program has.
    pub environment: Vec<(String, Secret)>,
}

impl LocalProgram {
    /// The value of a variable that the connection gives.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let given = self.environment.iter().find(|(given, _)| given == name);
        given.map(|(_, value)| value.expose())
    }

    /// The file that is run. Looked for at each start, so that a program that
    /// was installed meanwhile is found.
    pub(super) fn find(&self, directory: &Path, search_path: &OsStr) -> Result<PathBuf, ProcessError> {
        if !directory.is_dir() {
            return Err(ProcessError::NoDirectory { directory: directory.to_owned() });
        }
        if self.program.contains('/') {
            let path = directory.join(&self.program);
            return if !path.is_file() {
                Err(ProcessError::NoFile { path })
            } else if !is_executable(&path) {
                Err(ProcessError::NotExecutable { path })
            } else {
                Ok(path)
            };
        }
        let places = std::env::split_paths(search_path).filter(|place| place.is_absolute());
        let found: Vec<PathBuf> =
            places.map(|place| place.join(&self.program)).filter(|path| path.is_file()).collect();
        if let Some(path) = found.iter().find(|path| is_executable(path)) {
            return Ok(path.clone());
        }
        Err(match found.into_iter().next() {
            Some(path) => ProcessError::NotExecutable { path },
            None => ProcessError::NotFound {
                program: self.program.clone(),
                search_path: search_path.to_string_lossy().into_owned(),
            },
        })
    }
}

fn is_executable(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(name: &str) -> LocalProgram {
        LocalProgram {
            program: name.into(),
            arguments: Vec::new(),
            directory: None,
            environment: vec![("KEY".into(), Secret::new("value".into()))],
        }
    }

    #[test]
    fn a_program_is_found_or_it_is_said_why_not() {
        let directory = std::env::temp_dir().join(format!("executor-program-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("bin")).expect("it can be made");
        for (name, mode) in [("run", 0o755), ("text", 0o644)] {
            let file = directory.join("bin").join(name);
            std::fs::write(&file, "").expect("it can be written");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("it is ours");
        }
        let path = std::env::join_paths([Path::new("relative"), &directory.join("bin")]).expect("no colon");
        let find = |name: &str| program(name).find(&directory, &path);
        let said = |name: &str| find(name).expect_err("it is none").to_string();
        assert_eq!(find("run").expect("it is there"), directory.join("bin/run"));
        assert_eq!(find("bin/run").expect("it is there"), directory.join("bin/run"));
        assert!(said("text").ends_with("bin/text is not executable"), "{}", said("text"));
        assert!(said("bin/text").ends_with("bin/text is not executable"));
        assert!(said("bin/none").ends_with("bin/none"), "{}", said("bin/none"));
        assert!(said("none").starts_with("there is no program none in "), "{}", said("none"));
        let nowhere = program("run").find(&directory.join("none"), &path).expect_err("no directory");
        assert!(nowhere.to_string().ends_with("is no directory"), "{nowhere}");
        std::fs::remove_dir_all(&directory).expect("it is ours");
    }

    #[test]
    fn values_are_not_shown() {
        let program = program("run");
        assert_eq!(program.variable("KEY"), Some("value"));
        assert_eq!(program.variable("OTHER"), None);
        assert!(!format!("{program:?}").contains("value"));
    }
}
