//! What a call selects where the caller doesn't say: for every field of every
//! schema something that is valid, tells the essential and stays small.
//!
//! - Of an object: its scalars and enums, and the ids of the objects in it.
//! - Of an object without an id of its own (a mutation's payload, a page): the
//!   objects in it are taken as objects too, two levels down.
//! - Of a Relay connection: its nodes, and `pageInfo`; of pages of pages the
//!   outer ones.
//! - Of an interface or union: `__typename`, what all have, and of a few
//!   members each its scalars.
//!
//! Never a field with a required argument, a deprecated field, or a list with
//! pages within an object: those are many, and GitHub refuses them unbounded.

use std::collections::{HashMap, HashSet};

use crate::schema::{Field, Kind, Ref, Schema, Type};

/// Fields of one selection in all.
const MAX_FIELDS: usize = 240;
const MAX_LEAVES: usize = 100;
/// Of a value without an id, such as an amount of money.
const MAX_VALUE_LEAVES: usize = 12;
/// How deep objects without an id are opened.
const MAX_OPEN: usize = 2;
const MAX_MEMBERS: usize = 12;
const MAX_MEMBER_LEAVES: usize = 20;

/// A selection set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) typename: bool,
    pub(crate) fields: Vec<Picked>,
    /// By the type that they are for.
    pub(crate) fragments: Vec<(String, Vec<Picked>)>,
}

/// A field that was picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picked {
    /// The name in the answer, where it is another.
    pub(crate) alias: Option<String>,
    pub(crate) name: String,
    pub(crate) ty: Ref,
    /// None for scalars and enums.
    pub(crate) below: Option<Selection>,
}

impl Picked {
    pub(crate) fn key(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

impl Selection {
    /// As GraphQL writes it, without what is around it.
    pub(crate) fn text(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if self.typename {
            parts.push("__typename".to_owned());
        }
        parts.extend(self.fields.iter().map(Picked::text));
        for (ty, fields) in &self.fragments {
            let inner: Vec<String> = fields.iter().map(Picked::text).collect();
            parts.push(format!("... on {ty} {{ {} }}", inner.join(" ")));
        }
        parts.join(" ")
    }

    fn or_typename(mut self) -> Self {
        self.typename |= self.fields.is_empty() && self.fragments.is_empty();
        self
    }
}

impl Picked {
    fn text(&self) -> String {
        let alias = self.alias.as_ref().map(|alias| format!("{alias}: ")).unwrap_or_default();
        let below = self.below.as_ref().map(|below| format!(" {{ {} }}", below.text())).unwrap_or_default();
        format!("{alias}{}{below}", self.name)
    }
}

/// The default selection on a type; none for scalars and enums.
pub(crate) fn default(schema: &Schema, ty: &Ref) -> Option<Selection> {
    let found = schema.get(&ty.name)?;
    if found.kind.is_leaf() {
        return None;
    }
    let mut picker = Picker { schema, left: MAX_FIELDS, path: HashSet::new() };
    Some(picker.whole(found, 0))
}

/// Whether it is a page of Relay's (cursor connections specification): there
/// is `pageInfo`, and `nodes` or `edges`.
pub(crate) fn is_connection(ty: &Type) -> bool {
    ty.kind == Kind::Object
        && ty.field("pageInfo").is_some()
        && (ty.field("nodes").is_some() || ty.field("edges").is_some())
}

struct Picker<'s> {
    schema: &'s Schema,
    left: usize,
    /// The types that are being opened.
    path: HashSet<&'s str>,
}

impl<'s> Picker<'s> {
    /// All that is essential of a type, `depth` objects below the root field.
    fn whole(&mut self, ty: &'s Type, depth: usize) -> Selection {
        if self.schema.is_root(&ty.name) {
            return Selection::default().or_typename();
        }
        let entered = self.path.insert(&ty.name);
        let selection = match ty.kind {
            Kind::Union => self.members(ty, Vec::new()),
            Kind::Interface => {
                let fields = self.object(ty, depth);
                self.members(ty, fields)
            }
            // Pages of pages may go on for ever, or for as long as the schema.
            _ if is_connection(ty) && (!entered || depth > MAX_OPEN) => Selection::default(),
            _ if is_connection(ty) => self.connection(ty, depth),
            _ => Selection { fields: self.object(ty, depth), ..Selection::default() },
        };
        if entered {
            self.path.remove(ty.name.as_str());
        }
        selection.or_typename()
    }

    fn object(&mut self, ty: &'s Type, depth: usize) -> Vec<Picked> {
        let mut fields = self.leaves(ty, MAX_LEAVES);
        let open = depth < MAX_OPEN && !has_id(self.schema, ty) && ty.kind == Kind::Object;
        for field in ty.fields.iter().filter(|field| is_offered(field)) {
            let Some(below) = self.schema.get(&field.ty.name).filter(|below| !below.kind.is_leaf()) else {
                continue;
            };
            if self.left == 0 || is_connection(below) || self.schema.is_root(&below.name) {
                continue;
            }
            let selection = if open && !self.path.contains(below.name.as_str()) {
                self.left -= 1;
                Some(self.whole(below, depth + 1))
            } else {
                self.essence(below)
            };
            fields.extend(selection.map(|below| picked(field, Some(below))));
        }
        fields
    }

    /// The nodes of a page; of one without nodes, those in its edges.
    fn connection(&mut self, ty: &'s Type, depth: usize) -> Selection {
        let mut fields = self.leaves(ty, MAX_VALUE_LEAVES);
        let named = |name: &str| ty.field(name).filter(|field| is_offered(field));
        let schema = self.schema;
        let of = |field: &Field| schema.get(&field.ty.name).filter(|below| !below.kind.is_leaf());
        if let Some((field, page)) = named("pageInfo").and_then(|field| Some((field, of(field)?))) {
            let page = Selection { fields: self.leaves(page, MAX_VALUE_LEAVES), ..Selection::default() };
            fields.push(picked(field, Some(page.or_typename())));
        }
        if let Some((field, node)) = named("nodes").and_then(|field| Some((field, of(field)?))) {
            let node = self.whole(node, depth + 1);
            fields.push(picked(field, Some(node)));
        } else if let Some((field, edge)) = named("edges").and_then(|field| Some((field, of(field)?))) {
            let mut inner = self.leaves(edge, MAX_VALUE_LEAVES);
            let node = edge.field("node").filter(|node| is_offered(node));
            if let Some((field, node)) = node.and_then(|node| Some((node, schema.get(&node.ty.name)?))) {
                let below = (!node.kind.is_leaf()).then(|| self.whole(node, depth + 1));
                if below.is_some() {
                    inner.push(picked(field, below));
                }
            }
            let edges = Selection { fields: inner, ..Selection::default() };
            fields.push(picked(field, Some(edges.or_typename())));
        }
        Selection { fields, ..Selection::default() }
    }

    /// `__typename`, what all members have, and of each what it has beside. A
    /// field whose type is another elsewhere in the selection gets a name of
    /// its own (October 2021, section 5.3.2).
    fn members(&mut self, ty: &'s Type, fields: Vec<Picked>) -> Selection {
        let mut types: HashMap<String, String> =
            fields.iter().map(|field| (field.key().to_owned(), field.ty.to_string())).collect();
        let common: HashSet<String> = types.keys().cloned().collect();
        let mut fragments = Vec::new();
        let few = ty.members.len() <= MAX_MEMBERS || ty.kind == Kind::Union;
        let members = ty.members.iter().take(if few { MAX_MEMBERS } else { 0 });
        let schema = self.schema;
        for member in members.filter_map(|name| schema.get(name)) {
            let mut own = self.leaves(member, MAX_MEMBER_LEAVES);
            own.retain(|field| !common.contains(&field.name));
            for field in &mut own {
                let text = field.ty.to_string();
                if types.get(&field.name).is_some_and(|other| *other != text) {
                    field.alias = Some(free_name(&types, &member.name, &field.name));
                }
                types.insert(field.key().to_owned(), text);
            }
            if !own.is_empty() {
                fragments.push((member.name.clone(), own));
            }
        }
        Selection { typename: true, fields, fragments }
    }

    /// What stands for an object within another: its id, or the little that a
    /// value has. None where there is neither.
    fn essence(&mut self, ty: &'s Type) -> Option<Selection> {
        let fields = match id(self.schema, ty) {
            Some(field) if self.left > 0 => {
                self.left -= 1;
                vec![picked(field, None)]
            }
            _ if ty.kind == Kind::Object => self.leaves(ty, MAX_VALUE_LEAVES),
            _ => Vec::new(),
        };
        let typename = ty.kind.is_abstract() && !fields.is_empty();
        (!fields.is_empty()).then_some(Selection { typename, fields, fragments: Vec::new() })
    }

    fn leaves(&mut self, ty: &Type, max: usize) -> Vec<Picked> {
        let schema = self.schema;
        let offered = ty.fields.iter().filter(|field| is_offered(field) && schema.kind(&field.ty).is_leaf());
        let taken: Vec<Picked> = offered.take(max.min(self.left)).map(|field| picked(field, None)).collect();
        self.left -= taken.len();
        taken
    }
}

fn picked(field: &Field, below: Option<Selection>) -> Picked {
    Picked { alias: None, name: field.name.clone(), ty: field.ty.clone(), below }
}

fn is_offered(field: &Field) -> bool {
    field.is_plain() && field.deprecated.is_none()
}

/// The field that tells an object from others of its type.
fn id<'t>(schema: &Schema, ty: &'t Type) -> Option<&'t Field> {
    ["id", "_id", "uuid", "key"]
        .iter()
        .find_map(|name| ty.field(name))
        .filter(|field| is_offered(field) && schema.kind(&field.ty).is_leaf() && !field.ty.is_list())
}

fn has_id(schema: &Schema, ty: &Type) -> bool {
    id(schema, ty).is_some()
}

fn free_name(taken: &HashMap<String, String>, ty: &str, field: &str) -> String {
    let mut name = format!("{ty}_{field}");
    while taken.contains_key(&name) {
        name.push('_');
    }
    name
}
