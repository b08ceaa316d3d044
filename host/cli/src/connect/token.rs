//! The token that a client's entry uses: one of its own, which may call and
//! nothing else, in a file that only its owner reads.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::record;
use crate::api::{Api, path};
use crate::failure::Failure;
use crate::view::list;

/// The file of a token.
pub(crate) fn file(home: &Path, label: &str) -> PathBuf {
    record::directory(home).join(format!("{label}.token"))
}

/// What is to be done for an entry's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It is there, in its file and in the daemon.
    Keep,
    /// It is made; one of its name is revoked first.
    Make { replaces: bool, toolkit: Option<Vec<String>> },
}

/// Looks at what there is. With `tools` the token reaches these alone; where
/// none are given one that is made anew reaches what the old one did.
///
/// # Errors
/// The daemon can't say.
pub(crate) fn plan(
    api: &Api<'_>,
    home: &Path,
    label: &str,
    tools: &[String],
    rotate: bool,
) -> Result<Plan, Failure> {
    let standing = standing(api, label)?;
    let in_file =
        fs::metadata(file(home, label)).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    Ok(decide(standing.as_ref(), in_file, tools, rotate))
}

/// The token of this name.
fn standing(api: &Api<'_>, label: &str) -> Result<Option<Value>, Failure> {
    let tokens = api.list(&path(&["tokens"]))?.value;
    Ok(list(&tokens, "items").iter().find(|token| token["name"] == label).cloned())
}

fn decide(standing: Option<&Value>, in_file: bool, tools: &[String], rotate: bool) -> Plan {
    let given = (!tools.is_empty()).then(|| sorted(tools.to_vec()));
    let before = standing.and_then(toolkit);
    let fits = given.is_none() || given == before.clone().map(sorted);
    if standing.is_some() && in_file && fits && !rotate {
        return Plan::Keep;
    }
    let toolkit = if tools.is_empty() { before } else { Some(tools.to_vec()) };
    Plan::Make { replaces: standing.is_some(), toolkit }
}

fn sorted(mut tools: Vec<String>) -> Vec<String> {
    tools.sort();
    tools.dedup();
    tools
}

/// The patterns of a token that reaches some tools alone.
fn toolkit(token: &Value) -> Option<Vec<String>> {
    let patterns = token["toolkit"].as_array()?;
    Some(patterns.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Does as planned. The secret goes from the daemon to its file and nowhere
/// else.
///
/// # Errors
/// The daemon refuses, or the file can't be written: then there is no token.
pub(crate) fn carry_out(api: &Api<'_>, home: &Path, label: &str, plan: &Plan) -> Result<(), Failure> {
    let Plan::Make { replaces, toolkit } = plan else { return Ok(()) };
    let own = path(&["tokens", label]);
    if *replaces {
        api.delete(&own)?;
    }
    let mut body = json!({ "name": label, "capabilities": ["call"] });
    if let Some(toolkit) = toolkit {
        body["toolkit"] = json!(toolkit);
    }
    let answer = api.post(&path(&["tokens"]), &body)?;
    let Some(secret) = answer.value["secret"].as_str().filter(|secret| !secret.is_empty()) else {
        return Err(Failure::bug("the daemon made a token and did not say it"));
    };
    let file = file(home, label);
    store(&file, secret).map_err(|error| {
        let failure = Failure::failed(format!("{} can't be written: {error}", file.display()));
        match api.delete(&own) {
            Ok(_) => failure.hint("nothing was changed; the token was revoked again"),
            Err(_) => failure.hint(format!("the token `{label}` was made and is in no file: revoke it")),
        }
    })
}

fn store(file: &Path, secret: &str) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let fresh = file.with_extension(format!("token-{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut open| {
            open.write_all(secret.as_bytes())?;
            open.write_all(b"\n")?;
            open.sync_all()
        })
        .and_then(|()| fs::rename(&fresh, file));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written
}

/// Revokes a token and removes its file. Whether there was one.
///
/// # Errors
/// The daemon refuses; the file is still there then.
pub(crate) fn revoke(api: &Api<'_>, home: &Path, label: &str) -> Result<bool, Failure> {
    let standing = standing(api, label)?.is_some();
    if standing {
        api.delete(&path(&["tokens", label]))?;
    }
    let file = file(home, label);
    match fs::remove_file(&file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(standing),
        Err(error) => Err(Failure::failed(format!(
            "the token is revoked, and {} can't be removed: {error}",
            file.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[track_caller]
    fn check(standing: Option<Value>, in_file: bool, tools: &[&str], rotate: bool, expect: Plan) {
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        assert_eq!(decide(standing.as_ref(), in_file, &tools, rotate), expect);
    }

    #[test]
    fn a_token_is_made_where_there_is_none_that_fits() {
        let plain = || Some(json!({ "name": "cursor" }));
        let narrow = || Some(json!({ "name": "cursor", "toolkit": ["b.*", "a.*"] }));
        let make = |replaces, toolkit: Option<&[&str]>| Plan::Make {
            replaces,
            toolkit: toolkit.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
        };
        check(None, false, &[], false, make(false, None));
        check(None, true, &[], false, make(false, None));
        check(plain(), true, &[], false, Plan::Keep);
        check(plain(), false, &[], false, make(true, None));
        check(plain(), true, &[], true, make(true, None));
        check(plain(), true, &["a.*"], false, make(true, Some(&["a.*"])));
        check(narrow(), true, &["a.*", "b.*"], false, Plan::Keep);
        check(narrow(), true, &[], false, Plan::Keep);
        check(narrow(), true, &[], true, make(true, Some(&["b.*", "a.*"])));
        check(narrow(), true, &["a.*"], false, make(true, Some(&["a.*"])));
    }

    #[test]
    fn a_secret_is_its_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path(), "cursor");
        store(&file, "one").unwrap();
        store(&file, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let directory = file.parent().unwrap();
        assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(directory).unwrap().count(), 1);
        fs::create_dir(directory.join("taken.token")).unwrap();
        assert!(store(&directory.join("taken.token"), "x").is_err());
        assert_eq!(fs::read_dir(directory).unwrap().count(), 2, "nothing half-written is left");
    }
}
