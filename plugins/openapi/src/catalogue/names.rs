//! Names of tools: `group.leaf`, each a JavaScript identifier.
//!
//! A name depends on its own operation and on which others would have the same
//! one, never on the order of a document. Where several would share a name,
//! all of them get a mark of their method and path: an operation that joins
//! later can't take the name over that a policy was written for.

use std::collections::{HashMap, HashSet};

use super::operations::Operation;
use crate::text::hash;

/// Two of them and a dot are within the 128 characters of a name.
const MAX_SEGMENT_CHARS: usize = 63;
/// Words that mean something to `await`, JSON or the language on any object.
const RESERVED: [&str; 5] = ["then", "constructor", "__proto__", "toJSON", "prototype"];

/// One name for each operation, in their order; unique without regard to case.
pub(crate) fn assign(operations: &[Operation<'_>]) -> Vec<String> {
    let natural: Vec<(String, String)> = operations.iter().map(natural).collect();
    let mut holders: HashMap<String, u32> = HashMap::new();
    for (group, leaf) in &natural {
        *holders.entry(fold(group, leaf)).or_default() += 1;
    }
    let mut taken: HashSet<String> =
        holders.iter().filter(|(_, count)| **count == 1).map(|(name, _)| name.clone()).collect();
    // Marks are given in the order of method and path, so that even a clash of
    // two marks ends the same way in every order of the document.
    let mut shared: Vec<usize> = (0..natural.len())
        .filter(|index| holders[&fold(&natural[*index].0, &natural[*index].1)] > 1)
        .collect();
    shared.sort_by_key(|index| (operations[*index].path, operations[*index].method));
    let mut names: Vec<String> = natural.iter().map(|(group, leaf)| format!("{group}.{leaf}")).collect();
    for index in shared {
        let (group, leaf) = &natural[index];
        names[index] = marked(&operations[index], group, leaf, &mut taken);
    }
    names
}

fn fold(group: &str, leaf: &str) -> String {
    format!("{group}.{leaf}").to_ascii_lowercase()
}

fn marked(operation: &Operation<'_>, group: &str, leaf: &str, taken: &mut HashSet<String>) -> String {
    for salt in 0_u32.. {
        let mark = hash(&[
            operation.method,
            operation.path,
            if salt == 0 { "" } else { "again" },
            &salt.to_string(),
        ]);
        let leaf = with_mark(leaf, mark);
        if taken.insert(fold(group, &leaf)) {
            return format!("{group}.{leaf}");
        }
    }
    unreachable!("there are more marks than operations")
}

fn with_mark(leaf: &str, mark: u64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "eight digits of the hash are shown")]
    let mark = mark as u32;
    format!("{}_{mark:08x}", &leaf[..leaf.len().min(MAX_SEGMENT_CHARS - 9)])
}

fn natural(operation: &Operation<'_>) -> (String, String) {
    let id = operation.id();
    let (prefix, rest) = match id.split_once('/') {
        Some((prefix, rest)) if !camel(prefix).is_empty() => (Some(prefix), rest),
        _ => (None, id),
    };
    let group_words = prefix.or_else(|| operation.tag()).filter(|words| !camel(words).is_empty());
    let group = group_words.map_or_else(|| group_of_path(operation.path), camel);
    let rest = match group_words {
        Some(words) if prefix.is_none() => without_prefix(rest, words),
        _ => rest,
    };
    let mut leaf = camel(rest);
    if leaf.is_empty() {
        leaf = by_path(operation.method, operation.path);
    }
    let mark = || hash(&[operation.method, operation.path]);
    (segment(group, || hash(&[group_words.unwrap_or(operation.path)])), segment(leaf, mark))
}

/// `pets_list` of the group `pets` is `list`; `petsitters` stays.
fn without_prefix<'i>(id: &'i str, group: &str) -> &'i str {
    let Some(head) = id.get(..group.len()) else {
        return id;
    };
    let rest = &id[group.len()..];
    let separated = rest.starts_with(['_', '.', '-', '/', ':']);
    if head.eq_ignore_ascii_case(group) && separated && !camel(rest).is_empty() { rest } else { id }
}

fn group_of_path(path: &str) -> String {
    let named =
        path.split('/').map(|segment| segment.split(['?', '#', '.', ':', '(']).next().unwrap_or_default());
    let mut candidates = named.filter(|segment| !segment.contains('{') && !is_scaffolding(segment));
    candidates
        .find_map(|segment| Some(camel(segment)).filter(|word| !word.is_empty()))
        .unwrap_or_else(|| "root".to_owned())
}

/// `api`, `rest`, `v1`, `2.0`: parts of a path that say nothing.
fn is_scaffolding(segment: &str) -> bool {
    let lower = segment.to_ascii_lowercase();
    let digits = lower.strip_prefix('v').unwrap_or(&lower);
    let is_version = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.trim_start_matches(|c: char| c.is_ascii_digit() || "._-".contains(c)).len() <= 6
        && (lower.starts_with('v')
            || digits.bytes().all(|byte| byte.is_ascii_digit() || b"._-".contains(&byte)));
    lower.is_empty() || matches!(lower.as_str(), "api" | "apis" | "rest") || is_version
}

/// `get` and `/repos/{owner}/issues` make `getReposOwnerIssues`.
fn by_path(method: &str, path: &str) -> String {
    let method = method.to_ascii_lowercase();
    let name = format!("{method} {path}");
    camel(&name)
}

/// Words joined in camel case: `list-for-org` is `listForOrg`, `GetUser` is
/// `getUser`, `HTTPGet` is `httpGet`. Empty where no ASCII letter or digit is.
fn camel(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for word in
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'').map(|word| word.replace('\'', ""))
    {
        let Some(first) = word.chars().next() else {
            continue;
        };
        if name.is_empty() {
            name.push_str(&lower_start(&word));
        } else {
            if first.is_ascii_digit() && name.ends_with(|c: char| c.is_ascii_digit()) {
                name.push('_');
            }
            name.push(first.to_ascii_uppercase());
            let shouted = word.len() > 1 && !word.bytes().any(|byte| byte.is_ascii_lowercase());
            if shouted && name.len() > 1 {
                name.push_str(&word[1..].to_ascii_lowercase());
            } else {
                name.push_str(&word[1..]);
            }
        }
    }
    name
}

fn lower_start(word: &str) -> String {
    let upper = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let followed_by_lower = word.as_bytes().get(upper).is_some_and(u8::is_ascii_lowercase);
    let lowered = if upper > 1 && followed_by_lower { upper - 1 } else { upper };
    format!("{}{}", word[..lowered].to_ascii_lowercase(), &word[lowered..])
}

fn segment(name: String, mark: impl Fn() -> u64) -> String {
    let mut name = if name.is_empty() { format!("op_{:08x}", mark() >> 32) } else { name };
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if RESERVED.contains(&name.as_str()) {
        name.push('_');
    }
    if name.len() > MAX_SEGMENT_CHARS { with_mark(&name, mark()) } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn names(list: &[(&'static str, &'static str, Value)]) -> Vec<String> {
        let empty: &'static Value = Box::leak(Box::new(json!({})));
        let operations: Vec<Operation<'_>> =
            list.iter().map(|(method, path, value)| Operation { method, path, item: empty, value }).collect();
        assign(&operations)
    }

    fn one(method: &'static str, path: &'static str, value: Value) -> String {
        names(&[(method, path, value)]).remove(0)
    }

    #[test]
    fn groups_and_leaves() {
        let check = |path, value, expected: &str| assert_eq!(one("get", path, value), expected);
        check("/x", json!({"operationId": "issues/create", "tags": ["other"]}), "issues.create");
        check("/x", json!({"operationId": "repos/list-for-org"}), "repos.listForOrg");
        check("/x", json!({"operationId": "listPets", "tags": ["Pet Store"]}), "petStore.listPets");
        check("/x", json!({"operationId": "pets_list", "tags": ["pets"]}), "pets.list");
        check("/api/v1/{a}/users/{id}", json!({"operationId": "GetUser"}), "users.getUser");
        check("/api/v1/users/{id}.json", json!({}), "users.getApiV1UsersIdJson");
        check("/", json!({}), "root.get");
        check("/{id}", json!({"operationId": "HTTPGet"}), "root.httpGet");
        check("/2.0/things", json!({"operationId": "Список"}), "things.get2_0Things");
        check("/списки", json!({"operationId": "Список"}), "root.get");
        check("/x", json!({"operationId": "LIST_ALL"}), "x.listAll");
        check("/x", json!({"operationId": "3d"}), "x._3d");
        check("/x", json!({"operationId": 7}), "x.getX");
    }

    #[test]
    fn words_that_surprise_are_renamed() {
        let check = |id: &str, expected: &str| {
            assert_eq!(one("get", "/x", json!({"operationId": id, "tags": ["constructor"]})), expected)
        };
        check("then", "constructor_.then_");
        check("to-JSON", "constructor_.toJson");
        check("toJSON", "constructor_.toJSON_");
        check("__proto__", "constructor_.proto");
        check("prototype", "constructor_.prototype_");
    }

    #[test]
    fn clashes_do_not_depend_on_order_and_steal_nothing() {
        let a = ("get", "/v1/user", json!({"operationId": "getUser", "tags": ["u"]}));
        let b = ("get", "/v2/user", json!({"operationId": "GETUSER", "tags": ["u"]}));
        let c = ("get", "/other", json!({"operationId": "getOther", "tags": ["u"]}));
        let forward = names(&[a.clone(), b.clone(), c.clone()]);
        let mut backward = names(&[c, b, a]);
        backward.reverse();
        assert_eq!(forward, backward);
        assert!(forward[0].starts_with("u.getUser_"), "{forward:?}");
        assert!(forward[1].starts_with("u.getuser_"), "{forward:?}");
        assert_eq!(forward[2], "u.getOther");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "a".repeat(300);
        let list = [
            ("get", "/a", json!({"operationId": format!("{long}1"), "tags": [long]})),
            ("get", "/b", json!({"operationId": format!("{long}2"), "tags": [long]})),
        ];
        let names = names(&list);
        assert_ne!(names[0], names[1]);
        for name in names {
            assert!(name.split('.').all(|segment| segment.len() <= MAX_SEGMENT_CHARS), "{name}");
        }
    }

    #[test]
    fn many_of_one_name_all_differ() {
        let paths: Vec<&'static str> =
            (0..5000).map(|n| &*Box::leak(format!("/p/{n}").into_boxed_str())).collect();
        let list: Vec<_> = paths.iter().map(|path| ("get", *path, json!({"operationId": "same"}))).collect();
        let names = names(&list);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 5000);
    }
}
