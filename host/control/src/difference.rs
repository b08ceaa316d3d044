//! What differs between two JSON values, place by place.

use serde_json::Value;

use crate::approvals::Difference;

/// Places that are listed; a value that differs in more is another value.
const LIMIT: usize = 50;

/// The places at which two values differ, at most 50.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&mut String::new(), Some(before), Some(after), &mut found);
    found
}

fn compare(pointer: &mut String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
    if before == after || found.len() >= LIMIT {
        return;
    }
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                below(pointer, &escaped, old.get(key), new.get(key), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                below(pointer, &index.to_string(), old.get(index), new.get(index), found);
            }
        }
        _ => found.push(Difference {
            pointer: pointer.clone(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

fn below(
    pointer: &mut String,
    segment: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(segment);
    compare(pointer, before, after, found);
    pointer.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_place_is_named_once() {
        let before =
            json!({"url": "/a", "body": {"title": "x", "labels": ["a", "b"], "old": 1, "same": [1]}});
        let after = json!({"url": "/a", "body": {"title": "y", "labels": ["a"], "a/b": null, "same": [1]}});
        let found = differences(&before, &after);
        let places: Vec<&str> = found.iter().map(|one| one.pointer.as_str()).collect();
        assert_eq!(places, ["/body/title", "/body/labels/1", "/body/old", "/body/a~1b"]);
        assert_eq!((found[0].before.clone(), found[0].after.clone()), (Some(json!("x")), Some(json!("y"))));
        assert_eq!((found[2].after.clone(), found[3].before.clone()), (None, None));
        assert!(differences(&before, &before).is_empty());
        let wide = |value: u8| Value::Array(vec![json!(value); 1000]);
        assert_eq!(differences(&wide(1), &wide(2)).len(), LIMIT);
    }
}
