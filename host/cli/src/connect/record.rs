//! What connecting a client made, kept in executor's home so that removing
//! the entry leaves the file as it was found.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The directory of what belongs to connected clients.
pub(crate) fn directory(home: &Path) -> PathBuf {
    home.join("clients")
}

fn file(home: &Path, label: &str) -> PathBuf {
    directory(home).join(format!("{label}.json"))
}

/// What an entry is called among the tokens and the files of a home: by its
/// client, and where its name or its project is another than the usual one by
/// those too, so that no two entries share a token.
pub(crate) fn label(client: &str, name: &str, project: Option<&Path>) -> String {
    let mut label = client.to_owned();
    if name == super::entry::DEFAULT_NAME && project.is_none() {
        return label;
    }
    let shown = match project.and_then(Path::file_name) {
        Some(directory) => directory.to_string_lossy().into_owned(),
        None => name.to_owned(),
    };
    let plain: String = shown.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
    if !plain.is_empty() {
        label.push_str(&format!("-{}", plain.to_ascii_lowercase()));
    }
    let whole =
        format!("{name}\0{}", project.map(|project| project.display().to_string()).unwrap_or_default());
    format!("{label}-{:08x}", hash(whole.as_bytes()))
}

/// FNV-1a: the same on every machine and in every version, which is all that
/// is asked of it.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Remembers that the object that holds the entries was made with ours.
pub(crate) fn keep(home: &Path, label: &str, path: &Path) -> std::io::Result<()> {
    let record = json!({ "file": path.display().to_string(), "made_container": true });
    fs::write(file(home, label), format!("{record}\n"))
}

/// Whether what holds the entries in this file was made with ours. Where it
/// is not known any more it stays, empty.
pub(crate) fn made_container(home: &Path, label: &str, path: &Path) -> bool {
    let record: Option<Value> =
        fs::read(file(home, label)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    record.is_some_and(|record| {
        record["made_container"] == true && record["file"] == path.display().to_string()
    })
}

pub(crate) fn forget(home: &Path, label: &str) {
    // Without it an empty object stays behind one day; no more.
    let _ = fs::remove_file(file(home, label));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_a_label_of_its_own() {
        let project = |path| Some(Path::new(path));
        assert_eq!(label("claude-code", "executor", None), "claude-code");
        assert_eq!(label("vscode", "insiders", None), "vscode-insiders-3c8eb2ee");
        assert_ne!(label("vscode", "insiders", None), label("vscode-insiders", "executor", None));
        let web = label("cursor", "executor", project("/p/My Web.é"));
        assert!(web.starts_with("cursor-myweb-"), "{web}");
        assert_ne!(web, label("cursor", "executor", project("/q/My Web.é")));
        assert_ne!(web, label("cursor", "other", project("/p/My Web.é")));
        let long = "y".repeat(300);
        assert!(label("claude-desktop", &"x".repeat(40), project(&long)).len() <= 64);
        assert!(label("cursor", "executor", project("/")).starts_with("cursor-"));
    }

    #[test]
    fn what_was_made_is_known_for_its_file_alone() {
        let home = tempfile::tempdir().unwrap();
        let made = |path| made_container(home.path(), "cursor", Path::new(path));
        assert!(!made("/c"));
        fs::create_dir(directory(home.path())).unwrap();
        keep(home.path(), "cursor", Path::new("/c")).unwrap();
        assert!(made("/c") && !made("/d"));
        fs::write(file(home.path(), "cursor"), "nonsense").unwrap();
        assert!(!made("/c"));
        forget(home.path(), "cursor");
        assert!(!file(home.path(), "cursor").exists());
    }
}
