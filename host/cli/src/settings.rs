//! `<home>/config.toml`, and settings that are given as `key=value`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use executor_control::{Problem, Settings};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table};

use crate::failure::Failure;
use crate::nearest::nearest;

/// A configuration is written by people; more is not one.
const FILE_LIMIT_BYTES: u64 = 1024 * 1024;
/// How deep a key may nest.
const DEPTH_LIMIT: usize = 16;

/// The home's configuration file.
pub(crate) fn file(home: &Path) -> PathBuf {
    home.join("config.toml")
}

/// The settings of a home: defaults where there is no file.
pub(crate) fn load(home: &Path) -> Result<Settings, Failure> {
    parse(&read(home)?, home)
}

/// The file with one value changed, and all else as it was written.
///
/// # Errors
/// The key or value is none, or the file can't be written: it is as it was.
pub(crate) fn set(home: &Path, key: &str, value: &str) -> Result<(), Failure> {
    check_key(key)?;
    let text = read(home)?;
    // What is there must be sound, else the error would be blamed on the change.
    parse(&text, home)?;
    let changed = changed(&text, key, value)?;
    parse(&changed, home)?;
    write(home, &changed)
}

/// Fails, with the nearest key, where there is no such setting.
pub(crate) fn check_key(key: &str) -> Result<(), Failure> {
    let views = Settings::default().views();
    if views.iter().any(|view| view.key == key) {
        return Ok(());
    }
    let failure = Failure::usage(format!("there is no setting `{}`", crate::text::line(key, 80)));
    Err(match nearest(key, views.iter().map(|view| view.key.as_str())) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`executor config get` lists them all"),
    })
}

fn parse(text: &str, home: &Path) -> Result<Settings, Failure> {
    Settings::parse(text)
        .map_err(|problem| of_problem(problem).hint(format!("the file is {}", file(home).display())))
}

/// A problem of the control plane, met in this process.
pub(crate) fn of_problem(problem: Problem) -> Failure {
    let mut failure = Failure::usage(crate::text::clean(&problem.message).into_owned());
    failure.hints.extend(problem.hint);
    failure
}

fn read(home: &Path) -> Result<String, Failure> {
    let path = file(home);
    if !path.exists() {
        return Ok(String::new());
    }
    crate::input::text(&path.to_string_lossy(), FILE_LIMIT_BYTES)
}

fn changed(text: &str, key: &str, value: &str) -> Result<String, Failure> {
    let mut document: DocumentMut =
        text.parse().map_err(|error| Failure::usage(format!("config.toml can't be read: {error}")))?;
    let mut table = document.as_table_mut();
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            put(table, part, typed(value));
            break;
        }
        let next = table.entry(part).or_insert_with(|| Item::Table(Table::new()));
        table = next.as_table_mut().ok_or_else(|| {
            Failure::usage(format!("config.toml: `{part}` is written inline; write it as [{part}]"))
        })?;
    }
    Ok(document.to_string())
}

/// Keeps what surrounds a value: the space before it, the comment after it.
fn put(table: &mut Table, key: &str, mut value: toml_edit::Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}

/// A number, a boolean or other TOML as such, anything else as a text.
fn typed(value: &str) -> toml_edit::Value {
    value.parse().unwrap_or_else(|_| toml_edit::Value::from(value))
}

fn write(home: &Path, text: &str) -> Result<(), Failure> {
    let path = file(home);
    let failed = |error| Failure::failed(format!("{} can't be written: {error}", path.display()));
    let mut directory = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(directory.recursive(true), 0o700).create(home).map_err(failed)?;
    let temporary = home.join(format!("config.toml.{}", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, &path));
    written.map_err(|error| {
        // What was half written is of no use to anybody.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// `a.b=1` and the like as one object; numbers, booleans and JSON are taken
/// as such, everything else as a text.
///
/// # Errors
/// One is no assignment, or two contradict each other.
pub(crate) fn nested(assignments: &[String]) -> Result<Value, Failure> {
    let mut settings = Map::new();
    for assignment in assignments {
        let shown = crate::text::line(assignment, 80);
        let (key, value) = assignment
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| Failure::usage(format!("--set takes KEY=VALUE, and `{shown}` is none")))?;
        let parts: Vec<&str> = key.split('.').collect();
        if parts.len() > DEPTH_LIMIT || parts.iter().any(|part| part.is_empty()) {
            return Err(Failure::usage(format!("`{shown}`: a key is names joined by single dots")));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        insert(&mut settings, &parts, value)
            .ok_or_else(|| Failure::usage(format!("`{shown}` contradicts another --set of the same key")))?;
    }
    Ok(Value::Object(settings))
}

fn insert(settings: &mut Map<String, Value>, parts: &[&str], value: Value) -> Option<()> {
    let (first, rest) = parts.split_first()?;
    if rest.is_empty() {
        return settings.insert((*first).to_owned(), value).is_none().then_some(());
    }
    let inner = settings.entry(*first).or_insert_with(|| Value::Object(Map::new()));
    insert(inner.as_object_mut()?, rest, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(assignments: &[&str], expect: Value) {
        let assignments: Vec<String> = assignments.iter().map(ToString::to_string).collect();
        assert_eq!(nested(&assignments).unwrap(), expect);
    }

    #[test]
    fn assignments_nest() {
        check(&["base_url=https://x?a=b"], json!({ "base_url": "https://x?a=b" }));
        check(
            &["a.b=1", "a.c=true", "a.d=[1]", "e=\"1\"", "f="],
            json!({
                "a": { "b": 1, "c": true, "d": [1] }, "e": "1", "f": ""
            }),
        );
        for bad in [&["x"][..], &["=1"], &["a..b=1"], &["a=1", "a=2"], &["a=1", "a.b=2"]] {
            let bad: Vec<String> = bad.iter().map(ToString::to_string).collect();
            assert!(nested(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_change_keeps_what_people_wrote() {
        let text = "# mine\n[limits]\nexecute_wall_seconds = 10 # short\n\n# end\n";
        let changed = changed(text, "limits.execute_wall_seconds", "20").unwrap();
        assert_eq!(changed, "# mine\n[limits]\nexecute_wall_seconds = 20 # short\n\n# end\n");
        let added = super::changed(text, "storage.disk_floor_mib", "1").unwrap();
        assert!(added.starts_with("# mine\n[limits]\nexecute_wall_seconds = 10 # short\n"), "{added}");
        assert!(added.contains("[storage]\ndisk_floor_mib = 1\n"), "{added}");
        assert!(
            super::changed("limits = { execute_wall_seconds = 1 }", "limits.execute_wall_seconds", "2")
                .is_err()
        );
    }

    #[test]
    fn a_refused_change_leaves_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        set(home, "limits.execute_wall_seconds", "30").unwrap();
        let before = fs::read_to_string(file(home)).unwrap();
        let refused = set(home, "limits.execute_wall_seconds", "soon").unwrap_err();
        assert!(refused.message.contains("invalid type"), "{}", refused.message);
        assert!(set(home, "limits.execute_memory_mib", "100000").is_err());
        let unknown = set(home, "limits.execute_wal_seconds", "1").unwrap_err();
        assert_eq!(unknown.hints, ["did you mean `limits.execute_wall_seconds`?"]);
        assert_eq!(fs::read_to_string(file(home)).unwrap(), before);
        assert_eq!(fs::read_dir(home).unwrap().count(), 1);
    }
}
