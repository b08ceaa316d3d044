//! The introspection query, with more or less in it.

/// How much is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// All of September 2025: `isOneOf`, `specifiedByURL`, deprecated inputs.
    Full,
    /// What servers of 2018 know.
    Classic,
    /// No deeper than `[T!]!`, and no directives.
    Shallow,
}

impl Level {
    fn wraps(self) -> usize {
        match self {
            Self::Full => 9,
            Self::Classic => 7,
            Self::Shallow => 3,
        }
    }
}

/// The whole schema in one query.
pub(crate) fn whole(level: Level) -> String {
    let directives = if level == Level::Shallow { "" } else { "directives { name locations } " };
    let described = if level == Level::Full { "description " } else { "" };
    format!(
        "query IntrospectionQuery {{ __schema {{ {described}queryType {{ name }} mutationType {{ name }} subscriptionType {{ name }} types {{ ...FullType }} {directives}}} }} {}",
        fragments(level)
    )
}

/// The names of all types, and the roots.
pub(crate) const OUTLINE: &str = "query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name } types { name kind } } }";

/// Some types by name.
pub(crate) fn some(names: &[&str]) -> String {
    let asked: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| format!("t{number}: __type(name: \"{name}\") {{ ...FullType }}"))
        .collect();
    format!("query IntrospectionQuery {{ {} }} {}", asked.join(" "), fragments(Level::Shallow))
}

fn fragments(level: Level) -> String {
    let (all, ty, input) = match level {
        Level::Full => {
            ("(includeDeprecated: true)", "specifiedByURL isOneOf ", "isDeprecated deprecationReason ")
        }
        Level::Classic | Level::Shallow => ("", "", ""),
    };
    let mut reference = "kind name".to_owned();
    for _ in 0..level.wraps() {
        reference = format!("kind name ofType {{ {reference} }}");
    }
    format!(
        "fragment FullType on __Type {{ kind name description {ty}fields(includeDeprecated: true) {{ name description args{all} {{ ...InputValue }} type {{ ...TypeRef }} isDeprecated deprecationReason }} inputFields{all} {{ ...InputValue }} interfaces {{ kind name }} enumValues(includeDeprecated: true) {{ name description isDeprecated deprecationReason }} possibleTypes {{ kind name }} }} fragment InputValue on __InputValue {{ name description {input}type {{ ...TypeRef }} defaultValue }} fragment TypeRef on __Type {{ {reference} }}"
    )
}
