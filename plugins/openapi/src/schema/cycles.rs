//! Circles of schemas that describe the same value.
//!
//! `A: allOf [B]`, `B: allOf [A]` says nothing and sends a validator round for
//! ever, but documents in the wild contain it (a base type that lists its
//! subtypes, which extend the base). Recursion through a property or an item
//! is harmless, since the value gets smaller; only references in place count.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::document::{Refs, canonical};

/// Longer chains are cut as well: whoever validates follows them recursively.
const MAX_CHAIN: usize = 48;

/// Which references must not be followed in place.
#[derive(Debug, Default)]
pub(crate) struct Cycles {
    /// Nodes that are done, with the longest chain below each.
    depth: HashMap<String, usize>,
    cut: HashSet<(String, String)>,
}

struct Frame {
    node: String,
    targets: Vec<String>,
    next: usize,
    depth: usize,
}

impl Cycles {
    /// Whether the schema at `from` must not take in the one at `to`. Both are
    /// canonical references.
    pub(crate) fn is_cut(&mut self, refs: Refs<'_>, from: &str, to: &str) -> bool {
        if !self.depth.contains_key(from) {
            self.visit(refs, from);
        }
        !self.cut.is_empty() && self.cut.contains(&(from.to_owned(), to.to_owned()))
    }

    /// Depth first over what `start` takes in; an edge to a schema that is
    /// still being visited closes a circle and is cut.
    fn visit(&mut self, refs: Refs<'_>, start: &str) {
        let mut open = HashSet::from([start.to_owned()]);
        let mut stack = vec![frame(refs, start)];
        while let Some(top) = stack.last_mut() {
            let Some(target) = top.targets.get(top.next).cloned() else {
                let done = stack.pop().expect("the loop saw a last frame");
                open.remove(&done.node);
                if let Some(parent) = stack.last_mut() {
                    settle(parent, &done.node, done.depth, &mut self.cut);
                }
                self.depth.insert(done.node, done.depth);
                continue;
            };
            top.next += 1;
            if open.contains(&target) {
                self.cut.insert((top.node.clone(), target));
            } else if let Some(below) = self.depth.get(&target).copied() {
                settle(top, &target, below, &mut self.cut);
            } else {
                open.insert(target.clone());
                stack.push(frame(refs, &target));
            }
        }
    }
}

fn settle(parent: &mut Frame, child: &str, below: usize, cut: &mut HashSet<(String, String)>) {
    if below + 1 > MAX_CHAIN {
        cut.insert((parent.node.clone(), child.to_owned()));
    } else {
        parent.depth = parent.depth.max(below + 1);
    }
}

fn frame(refs: Refs<'_>, node: &str) -> Frame {
    let mut targets = Vec::new();
    if let Some(schema) = refs.get(node) {
        in_place(schema, &mut targets);
    }
    Frame { node: node.to_owned(), targets, next: 0, depth: 0 }
}

/// The references that describe the same value as `schema` does.
fn in_place(schema: &Value, targets: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        return;
    };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str)
        && let Ok(target) = canonical(reference)
    {
        targets.push(target.into_owned());
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for member in map.get(key).and_then(Value::as_array).into_iter().flatten() {
            in_place(member, targets);
        }
    }
    for key in ["not", "if", "then", "else"] {
        if let Some(member) = map.get(key) {
            in_place(member, targets);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    const PREFIX: &str = "#/components/schemas/";

    #[test]
    fn a_circle_is_cut_once_and_recursion_by_property_never() {
        let root = json!({"components": {"schemas": {
            "Pet": {"oneOf": [{"$ref": "#/components/schemas/Cat"}]},
            "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}]},
            "Tree": {"properties": {"child": {"$ref": "#/components/schemas/Tree"}}}
        }}});
        let refs = Refs::new(&root);
        let mut cycles = Cycles::default();
        let mut cut =
            |from: &str, to: &str| cycles.is_cut(refs, &format!("{PREFIX}{from}"), &format!("{PREFIX}{to}"));
        assert!(!cut("Pet", "Cat"));
        assert!(cut("Cat", "Pet"));
        assert!(!cut("Tree", "Tree"));
    }

    #[test]
    fn a_long_chain_is_cut_without_recursing_here() {
        let schemas: Map<String, Value> = (0..100_000)
            .map(|n| (format!("S{n}"), json!({"allOf": [{"$ref": format!("{PREFIX}S{}", n + 1)}]})))
            .collect();
        let root = json!({"components": {"schemas": schemas}});
        let refs = Refs::new(&root);
        let mut cycles = Cycles::default();
        let mut longest = 0;
        let mut run = 0;
        for n in 0..99_999 {
            let cut = cycles.is_cut(refs, &format!("{PREFIX}S{n}"), &format!("{PREFIX}S{}", n + 1));
            run = if cut { 0 } else { run + 1 };
            longest = longest.max(run);
        }
        assert_eq!(longest, MAX_CHAIN);
    }
}
