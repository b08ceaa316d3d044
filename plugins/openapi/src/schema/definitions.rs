//! The catalogue's definitions: their names, and which are still to be written.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::Side;
use super::cycles::Cycles;
use super::read_only::ReadOnly;
use super::write::{Notes, Writer, Written};
use crate::document::{Fault, Refs, Version, canonical};
use crate::text::{hash, sanitised};

/// How many definitions a document may need beside its components.
const MAX_EXTRA: usize = 20_000;
/// A longer definition is replaced by one that allows anything.
const MAX_DEFINITION_BYTES: usize = 1 << 20;
const MAX_NAME_CHARS: usize = 120;

const COMPONENTS: &str = "#/components/schemas/";

/// Names and state of all definitions.
pub(crate) struct Definitions<'d> {
    pub(crate) refs: Refs<'d>,
    pub(crate) version: Version,
    pub(crate) cycles: Cycles,
    read_only: Option<ReadOnly>,
    names: HashMap<String, String>,
    input_names: HashMap<String, String>,
    used: HashSet<String>,
    pending: VecDeque<Pending>,
    extra_count: usize,
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
            read_only: None,
            names: HashMap::new(),
            input_names: HashMap::new(),
            used: HashSet::new(),
            pending: VecDeque::new(),
            extra_count: 0,
        };
        // A name that is already fit keeps it, whatever stands before it.
        let (fit, unfit): (Vec<_>, Vec<_>) = components(root)
            .map(|(name, _)| name)
            .partition(|name| sanitised(name, MAX_NAME_CHARS) == **name);
        for name in fit.into_iter().chain(unfit) {
            let node = component_node(name);
            let chosen = definitions.free_name(name, &node);
            definitions.names.insert(node, chosen);
        }
        for (name, _) in components(root) {
            let node = component_node(name);
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
        if side == Side::Input && self.is_read_only(&node, target) {
            return self.plan_input(&node);
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

    fn plan_input(&mut self, node: &str) -> Result<String, Fault> {
        if let Some(name) = self.input_names.get(node) {
            return Ok(name.clone());
        }
        let base = format!("{}.input", self.names.get(node).map_or(last_token(node), String::as_str));
        let name = self.plan(node, &base, Side::Input)?;
        self.input_names.insert(node.to_owned(), name.clone());
        Ok(name)
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

    fn is_read_only(&mut self, node: &str, target: &Value) -> bool {
        let root = self.refs;
        let marks = self.read_only.get_or_insert_with(|| {
            let schemas = root.get("#/components/schemas").and_then(Value::as_object);
            ReadOnly::of(schemas.into_iter().flatten().map(|(name, schema)| (component_node(name), schema)))
        });
        if self.names.contains_key(node) { marks.reaches(node) } else { marks.is_reached_from(target) }
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

fn components(root: &Value) -> impl Iterator<Item = (&String, &Value)> {
    root.pointer("/components/schemas").and_then(Value::as_object).into_iter().flatten()
}

fn component_node(name: &str) -> String {
    let escaped =
        if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1") } else { name.to_owned() };
    format!("{COMPONENTS}{escaped}")
}

fn last_token(node: &str) -> &str {
    node.rsplit('/').next().unwrap_or(node)
}
