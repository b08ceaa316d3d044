//! One signature in the making: which definitions are shown, and what is not.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::docs;
use super::library::{self, Library};
use super::names::Names;

/// Nodes of all schemas that are visited at most.
const MAX_NODES: usize = 20_000;
/// Types that are named as not shown.
const MAX_NAMED: usize = 40;
/// Places that are named for lacking members.
const MAX_PLACES: usize = 40;

/// The state of rendering; types.rs holds how a schema is written.
pub(super) struct Renderer<'l, 'a> {
    pub(super) library: &'l Library<'a>,
    pub(super) names: Names,
    /// How often a definition is referred to, as far as seen.
    pub(super) counts: HashMap<String, u32>,
    /// Definitions that stand open in place of their names.
    pub(super) inlining: Vec<String>,
    /// Whether properties are explained, or only their formats given.
    pub(super) prose: bool,
    pub(super) nodes_left: usize,
    /// Characters written so far, about.
    pub(super) size: usize,
    /// No member is begun beyond this size.
    pub(super) limit: usize,
    /// Whether something was left out for want of room.
    pub(super) cut: bool,
    /// Definitions to be shown, in order of mention.
    queue: VecDeque<String>,
    /// The object levels of each that was ever queued.
    levels: HashMap<String, u32>,
    types: Vec<String>,
    shown: HashSet<String>,
    omitted_types: Vec<String>,
    /// How many members each place lacks.
    omitted_members: BTreeMap<String, usize>,
    about: String,
}

/// What is taken back where a type turns out not to fit.
struct Mark {
    size: usize,
    cut: bool,
    queued: usize,
    omitted: usize,
}

impl<'l, 'a> Renderer<'l, 'a> {
    pub(super) fn new(library: &'l Library<'a>, limit: usize) -> Self {
        Self {
            library,
            names: Names::default(),
            counts: HashMap::new(),
            inlining: Vec::new(),
            prose: true,
            nodes_left: MAX_NODES,
            size: 0,
            limit,
            cut: false,
            queue: VecDeque::new(),
            levels: HashMap::new(),
            types: Vec::new(),
            shown: HashSet::new(),
            omitted_types: Vec::new(),
            omitted_members: BTreeMap::new(),
            about: String::new(),
        }
    }

    /// Gives what follows a budget of its own, without prose.
    pub(super) fn start_output(&mut self, budget_chars: usize) {
        self.prose = false;
        self.limit = self.size + budget_chars;
    }

    pub(super) fn types_len(&self) -> usize {
        self.types.iter().map(String::len).sum()
    }

    /// The type of a whole schema, which `about` names in omissions.
    pub(super) fn root(&mut self, schema: &Value, about: &str, depth: u32) -> String {
        about.clone_into(&mut self.about);
        self.count(schema);
        self.body(schema, depth)
    }

    /// One definition and nothing else.
    pub(super) fn type_alone(&mut self, definition: &str, depth: u32) {
        self.queue_type(definition, depth);
        self.drain(true);
    }

    /// Names every one of `definitions` as not shown.
    pub(super) fn omit_all(&mut self, definitions: &[String]) {
        for definition in definitions {
            self.omit_type(definition);
        }
    }

    /// Remembers to show `definition`, and gives its name.
    pub(super) fn queue_type(&mut self, definition: &str, depth: u32) -> String {
        let name = self.names.of(definition);
        if let Some(known) = self.levels.get_mut(definition) {
            *known = depth.max(*known);
        } else {
            self.levels.insert(definition.to_owned(), depth);
            self.queue.push_back(definition.to_owned());
        }
        name
    }

    /// Notes that `definition` is mentioned and not shown; gives its name.
    pub(super) fn omit_type(&mut self, definition: &str) -> String {
        let name = self.names.of(definition);
        if !self.omitted_types.contains(&name) && self.omitted_types.len() < 4 * MAX_NAMED {
            self.omitted_types.push(name.clone());
        }
        name
    }

    /// Notes that the type at hand lacks `count` members.
    pub(super) fn omit_members(&mut self, count: usize) {
        if let Some(known) = self.omitted_members.get_mut(&self.about) {
            *known += count;
        } else if self.omitted_members.len() < MAX_PLACES {
            self.omitted_members.insert(self.about.clone(), count);
        }
    }

    /// Shows what is queued. The first is shown in any case; with `cutting`,
    /// all are, as far as room goes. Otherwise those that do not fit are left
    /// as names.
    pub(super) fn drain(&mut self, cutting: bool) {
        let mut must = true;
        while let Some(definition) = self.queue.pop_front() {
            if self.size >= self.limit && !must {
                self.cut = true;
                self.omit_type(&definition);
                continue;
            }
            let mark = self.mark();
            let Some(text) = self.type_text(&definition) else {
                continue;
            };
            if self.size > self.limit && !must && !cutting {
                self.take_back(&mark, &definition);
            } else {
                self.shown.insert(self.names.of(&definition));
                self.types.push(text);
            }
            must = false;
        }
    }

    fn mark(&self) -> Mark {
        Mark { size: self.size, cut: self.cut, queued: self.queue.len(), omitted: self.omitted_types.len() }
    }

    fn take_back(&mut self, mark: &Mark, definition: &str) {
        (self.size, self.cut) = (mark.size, mark.cut);
        for forgotten in self.queue.drain(mark.queued..) {
            self.levels.remove(&forgotten);
        }
        self.omitted_types.truncate(mark.omitted);
        self.omitted_members.remove(&self.about);
        self.omit_type(definition);
    }

    fn type_text(&mut self, definition: &str) -> Option<String> {
        let schema = self.library.get(definition)?;
        let name = self.names.of(definition);
        name.clone_into(&mut self.about);
        self.count(&schema);
        self.inlining.push(definition.to_owned());
        let depth = self.levels.get(definition).copied().unwrap_or(0);
        let body = self.body(&schema, depth);
        self.inlining.pop();
        let docs = docs::of_property(&name, &schema, self.prose);
        self.size += docs.len() + name.len() + 16;
        let above = if docs.is_empty() { docs } else { format!("/** {docs} */\n") };
        Some(format!("{above}type {name} = {body};"))
    }

    /// The types, and everything that is not shown.
    pub(super) fn finish(self) -> (String, Vec<String>) {
        let shown = &self.shown;
        let mut omitted: Vec<String> =
            self.omitted_types.into_iter().filter(|name| !shown.contains(name)).collect();
        let more = omitted.len().saturating_sub(MAX_NAMED);
        omitted.truncate(MAX_NAMED);
        let mut types = self.types.join("\n");
        if !omitted.is_empty() {
            let lead = if types.is_empty() { "" } else { "\n" };
            let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
            types =
                format!("{types}{lead}// not shown, describe with {{ type }}: {}{tail}", omitted.join(", "));
        }
        let members = self.omitted_members.iter();
        omitted.extend(members.map(|(place, count)| format!("{place}: +{count} fields")));
        (types, omitted)
    }

    fn count(&mut self, schema: &Value) {
        let mut left = MAX_NODES / 4;
        for reference in library::references(schema, &mut left) {
            *self.counts.entry(reference).or_default() += 1;
        }
    }
}
