//! Which schemas differ between what is sent and what is answered: those that
//! reach a `readOnly` property, or a `writeOnly` one.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::document::canonical;

/// The definitions that reach a property with a mark, by any way.
#[derive(Debug)]
pub(crate) struct Marks {
    mark: &'static str,
    nodes: HashSet<String>,
}

impl Marks {
    /// Reads all schemas once, then spreads the mark to whoever refers to a
    /// marked one.
    pub(crate) fn of<'d>(mark: &'static str, schemas: impl Iterator<Item = (String, &'d Value)>) -> Self {
        let mut used_by: HashMap<String, Vec<String>> = HashMap::new();
        let mut fresh = Vec::new();
        for (node, schema) in schemas {
            let mut targets = Vec::new();
            if survey(mark, schema, &mut targets) {
                fresh.push(node.clone());
            }
            for target in targets {
                used_by.entry(target).or_default().push(node.clone());
            }
        }
        let mut nodes: HashSet<String> = fresh.iter().cloned().collect();
        while let Some(node) = fresh.pop() {
            for user in used_by.get(&node).into_iter().flatten() {
                if nodes.insert(user.clone()) {
                    fresh.push(user.clone());
                }
            }
        }
        Self { mark, nodes }
    }

    /// Whether the definition at `node` has a form of its own for input.
    pub(crate) fn reaches(&self, node: &str) -> bool {
        self.nodes.contains(node)
    }

    /// The same for a schema that is no definition.
    pub(crate) fn is_reached_from(&self, schema: &Value) -> bool {
        let mut targets = Vec::new();
        survey(self.mark, schema, &mut targets) || targets.iter().any(|target| self.nodes.contains(target))
    }
}

/// Collects references; true where a member with the mark stands in it.
fn survey(mark: &str, value: &Value, targets: &mut Vec<String>) -> bool {
    match value {
        Value::Object(map) => {
            let mut found = map.get(mark) == Some(&Value::Bool(true));
            for (key, member) in map {
                match member {
                    Value::String(reference) if key == "$ref" => {
                        if let Ok(target) = canonical(reference) {
                            targets.push(target.into_owned());
                        }
                    }
                    Value::Object(_) | Value::Array(_) => found |= survey(mark, member, targets),
                    _ => {}
                }
            }
            found
        }
        Value::Array(list) => list.iter().fold(false, |found, member| survey(mark, member, targets) | found),
        _ => false,
    }
}
