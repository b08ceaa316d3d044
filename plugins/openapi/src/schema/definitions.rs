//! The catalogue's definitions: their names, and which are still to be written.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::Side;
use super::cycles::Cycles;
use super::marks::Marks;
use super::write::{Notes, Writer, Written};
use crate::document::{Fault, Refs, Version, canonical};
use crate::text::{hash, sanitised};

/// How many definitions a document may need beside its components.
const MAX_EXTRA: usize = 20_000;
/// A longer definition is replaced by one that allows anything.
const MAX_DEFINITION_BYTES: usize = 1 << 20;
const MAX_NAME_CHARS: usize = 120;

/// Names and state of all definitions.
pub(crate) struct Definitions<'d> {
    pub(crate) refs: Refs<'d>,
    pub(crate) version: Version,
    pub(crate) cycles: Cycles,
    /// Which definitions have a form of their own for what is sent, and which
    /// for what is answered.
    input: Sided,
    output: Sided,
    names: HashMap<String, String>,
    used: HashSet<String>,
    pending: VecDeque<Pending>,
    extra_count: usize,
}

#[derive(Default)]
struct Sided {
    marks: Option<Marks>,
    names: HashMap<String, String>,
}

struct Pending {
    node: String,
    name: String,
    side: Side,
}

impl<'d> Definitions<'d> {
    /// Names every component schema; nothing is written yet.
    pub(crate) fn new(root: &'d Value, version: Version) -> Self {
        let mut definitions = Self {
            refs: Refs::new(root),
            version,
            cycles: Cycles::default(),
            input: Sided::default(),
            output: Sided::default(),
            names: HashMap::new(),
            used: HashSet::new(),
            pending: VecDeque::new(),
            extra_count: 0,
        };
        // A name that is already fit keeps it, whatever stands before it.
        let (fit, unfit): (Vec<_>, Vec<_>) = components(root, version)
            .map(|(name, _)| name)
            .partition(|name| sanitised(name, MAX_NAME_CHARS) == **name);
        for name in fit.into_iter().chain(unfit) {
            let node = component_node(name, version);
            let chosen = definitions.free_name(name, &node);
            definitions.names.insert(node, chosen);
        }
        for (name, _) in components(root, version) {
            let node = component_node(name, version);
            let name = definitions.names[&node].clone();
            definitions.pending.push_back(Pending { node, name, side: Side::Whole });
        }
        definitions
    }

    /// The next definition to hand to the host: its name, schema and faults.
    pub(crate) fn take_next(&mut self) -> Option<(String, Written)> {
        let Pending { node, name, side } = self.pending.pop_front()?;
        let schema = self.refs.get(&node).expect("only what was found is planned");
        let mut written = Writer::for_definition(self, side, &node).finish(schema, Notes::default());
        if written.json.len() > MAX_DEFINITION_BYTES {
            written.faults.push(format!(
                "the schema {name:?} is too large ({} bytes) and allows anything",
                written.json.len()
            ));
            written.json = "{}".to_owned();
        }
        Some((name, written))
    }

    /// Writes a schema that stands inside of a tool.
    pub(crate) fn write(&mut self, side: Side, schema: &Value, notes: Notes<'_>) -> Written {
        Writer::new(self, side).finish(schema, notes)
    }

    /// The definition's name for a reference, planning it where it is new.
    ///
    /// # Errors
    /// The reference leads nowhere.
    pub(super) fn name_of(&mut self, reference: &str, side: Side) -> Result<String, Fault> {
        let node = canonical(reference)?;
        let Some(target) = self.refs.get(&node) else {
            return Err(Fault::Missing(crate::text::line(reference, 200)));
        };
        self.check_target(target)?;
        if side != Side::Whole && self.is_marked(&node, target, side) {
            return self.plan_sided(&node, side);
        }
        if let Some(name) = self.names.get(node.as_ref()) {
            return Ok(name.clone());
        }
        let name = self.plan(&node, last_token(&node), Side::Whole)?;
        self.names.insert(node.into_owned(), name.clone());
        Ok(name)
    }

    /// A definition that is only a reference must lead somewhere.
    fn check_target(&self, target: &'d Value) -> Result<(), Fault> {
        if target.get("$ref").is_some_and(Value::is_string) {
            self.refs.follow(target)?;
        }
        Ok(())
    }

    fn plan_sided(&mut self, node: &str, side: Side) -> Result<String, Fault> {
        if let Some(name) = self.sided(side).names.get(node) {
            return Ok(name.clone());
        }
        let suffix = if side == Side::Input { "input" } else { "output" };
        let base = format!("{}.{suffix}", self.names.get(node).map_or(last_token(node), String::as_str));
        let name = self.plan(node, &base, side)?;
        self.sided(side).names.insert(node.to_owned(), name.clone());
        Ok(name)
    }

    fn sided(&mut self, side: Side) -> &mut Sided {
        if side == Side::Input { &mut self.input } else { &mut self.output }
    }

    fn plan(&mut self, node: &str, base: &str, side: Side) -> Result<String, Fault> {
        if self.extra_count == MAX_EXTRA {
            return Err(Fault::Missing(crate::text::line(node, 200)));
        }
        self.extra_count += 1;
        let name = self.free_name(base, node);
        self.pending.push_back(Pending { node: node.to_owned(), name: name.clone(), side });
        Ok(name)
    }

    /// Whether what a reference leads to has parts that are not of this side.
    fn is_marked(&mut self, node: &str, target: &Value, side: Side) -> bool {
        let (refs, version) = (self.refs, self.version);
        let is_named = self.names.contains_key(node);
        let marks = self.sided(side).marks.get_or_insert_with(|| {
            let schemas = refs.get(home(version)).and_then(Value::as_object).into_iter().flatten();
            Marks::of(side.mark(), schemas.map(|(name, schema)| (component_node(name, version), schema)))
        });
        if is_named { marks.reaches(node) } else { marks.is_reached_from(target) }
    }

    fn free_name(&mut self, wanted: &str, node: &str) -> String {
        let mut name = sanitised(wanted, MAX_NAME_CHARS);
        let mut salt = 0_u32;
        while !self.used.insert(name.clone()) {
            let mark = hash(&[node, &salt.to_string()]);
            name = format!("{}_{mark:016x}", sanitised(wanted, MAX_NAME_CHARS - 17));
            salt += 1;
        }
        name
    }
}

fn components(root: &Value, version: Version) -> impl Iterator<Item = (&String, &Value)> {
    root.pointer(&home(version)[1..]).and_then(Value::as_object).into_iter().flatten()
}

/// Where named schemas stand.
pub(super) fn home(version: Version) -> &'static str {
    if version == Version::V20 { "#/definitions" } else { "#/components/schemas" }
}

fn component_node(name: &str, version: Version) -> String {
    let escaped =
        if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1") } else { name.to_owned() };
    format!("{}/{escaped}", home(version))
}

fn last_token(node: &str) -> &str {
    node.rsplit('/').next().unwrap_or(node)
}
