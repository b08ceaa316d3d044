//! From a draft to a schema: what is not sound is left out, with the least
//! that it costs.

use std::collections::{HashMap, HashSet};

use super::{Draft, Input, Kind, MAX_WRAPS, Ref, Schema, Type, is_name};

/// The largest schemas that are published have some 10,000.
const MAX_TYPES: usize = 50_000;
const BUILT_IN: [&str; 5] = ["String", "Int", "Float", "Boolean", "ID"];

impl Draft {
    pub(crate) fn link(mut self) -> Schema {
        self.merge();
        let kinds: HashMap<String, Kind> = self.types.iter().map(|ty| (ty.name.clone(), ty.kind)).collect();
        let mut faults = std::mem::take(&mut self.faults);
        for ty in &mut self.types {
            check(ty, &kinds, &mut faults);
        }
        let index: HashMap<String, usize> =
            self.types.iter().enumerate().map(|(place, ty)| (ty.name.clone(), place)).collect();
        self.join_interfaces(&index);
        let root = |named: Option<String>| named.filter(|name| kinds.get(name) == Some(&Kind::Object));
        let mut directives: Vec<String> = self.directives.into_iter().filter(|name| is_name(name)).collect();
        directives.sort();
        Schema {
            description: self.description,
            query: root(self.query),
            mutation: root(self.mutation),
            subscription: root(self.subscription),
            types: self.types,
            index,
            directives,
            faults,
        }
    }

    /// One type of each name, the built-in scalars among them.
    fn merge(&mut self) {
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        for ty in std::mem::take(&mut self.types) {
            if !is_name(&ty.name) {
                self.faults
                    .push(format!("a type is left out: {:?} is no name", crate::text::line(&ty.name, 60)));
            } else if kept.len() >= MAX_TYPES {
                self.faults.push(format!("more than {MAX_TYPES} types: the rest are left out"));
                break;
            } else if seen.insert(ty.name.clone()) {
                kept.push(ty);
            } else {
                self.faults.push(format!("the type {} is there twice: the first counts", ty.name));
            }
        }
        for name in BUILT_IN {
            if seen.insert(name.to_owned()) {
                kept.push(Type::new(name.to_owned(), Kind::Scalar));
            }
        }
        self.types = kept;
    }

    /// Gives interfaces the objects that implement them.
    fn join_interfaces(&mut self, index: &HashMap<String, usize>) {
        let mut joins = Vec::new();
        for ty in self.types.iter().filter(|ty| ty.kind == Kind::Object) {
            let into = ty.interfaces.iter().filter_map(|name| index.get(name));
            joins.extend(into.map(|place| (*place, ty.name.clone())));
        }
        for ty in self.types.iter_mut().filter(|ty| ty.kind == Kind::Interface) {
            ty.members.clear();
        }
        for (place, name) in joins {
            if self.types[place].kind == Kind::Interface {
                self.types[place].members.push(name);
            }
        }
    }
}

fn check(ty: &mut Type, kinds: &HashMap<String, Kind>, faults: &mut Vec<String>) {
    let name = ty.name.clone();
    let mut seen = HashSet::new();
    ty.fields.retain_mut(|field| {
        let place = || format!("{name}.{}", field.name);
        let sound = field_name(&field.name, &mut seen)
            .and_then(|()| sound(&field.ty, kinds, Kind::is_output))
            .map_err(|why| format!("the field {} is left out: {why}", crate::text::line(&place(), 200)));
        // A field without a required argument can't be asked for.
        let sound = sound.and_then(|()| {
            let required: HashSet<String> =
                field.arguments.iter().filter(|one| one.is_required()).map(|one| one.name.clone()).collect();
            let left_out = inputs(&mut field.arguments, kinds);
            match left_out.iter().find(|(argument, _)| required.contains(argument)) {
                Some((argument, why)) => Err(format!(
                    "the field {name}.{} is left out: its argument {}: {why}",
                    field.name,
                    shown(argument)
                )),
                None => {
                    faults.extend(left_out.iter().map(|(argument, why)| {
                        format!(
                            "the argument {} of {name}.{} is left out: {why}",
                            shown(argument),
                            field.name
                        )
                    }));
                    Ok(())
                }
            }
        });
        sound.map_err(|fault| faults.push(fault)).is_ok()
    });
    let left_out = inputs(&mut ty.inputs, kinds);
    faults.extend(
        left_out
            .iter()
            .map(|(field, why)| format!("the input field {name}.{} is left out: {why}", shown(field))),
    );
    ty.members.retain(|member| kinds.get(member) == Some(&Kind::Object));
    ty.interfaces.retain(|interface| kinds.get(interface) == Some(&Kind::Interface));
    let mut seen = HashSet::new();
    ty.values.retain(|value| {
        is_name(&value.name)
            && !matches!(value.name.as_str(), "true" | "false" | "null")
            && seen.insert(value.name.clone())
    });
}

/// Drops what is not sound; gives their names and why.
fn inputs(inputs: &mut Vec<Input>, kinds: &HashMap<String, Kind>) -> Vec<(String, String)> {
    let mut left_out = Vec::new();
    let mut seen = HashSet::new();
    inputs.retain(|input| {
        let sound = field_name(&input.name, &mut seen).and_then(|()| sound(&input.ty, kinds, Kind::is_input));
        sound.map_err(|why| left_out.push((input.name.clone(), why))).is_ok()
    });
    left_out
}

/// A name that may be none, for people.
fn shown(name: &str) -> String {
    crate::text::line(name, 100)
}

fn field_name(name: &str, seen: &mut HashSet<String>) -> Result<(), String> {
    if !is_name(name) {
        return Err("it has no name that GraphQL knows".to_owned());
    }
    if name.starts_with("__") {
        return Err("names with two underscores are GraphQL's own".to_owned());
    }
    if seen.insert(name.to_owned()) { Ok(()) } else { Err("it is there twice".to_owned()) }
}

fn sound(ty: &Ref, kinds: &HashMap<String, Kind>, fits: fn(Kind) -> bool) -> Result<(), String> {
    match kinds.get(&ty.name) {
        None if ty.name.is_empty() => Err("its type is cut off".to_owned()),
        None => Err(format!("its type {} is not in the schema", crate::text::line(&ty.name, 60))),
        Some(kind) if !fits(*kind) => Err(format!("its type {} can't stand there", ty.name)),
        Some(_) if ty.wraps.len() > MAX_WRAPS => Err("its lists nest too deeply".to_owned()),
        Some(_) => Ok(()),
    }
}
