//! A tool as a TypeScript signature that a model reads before it calls.
//!
//! Inputs are shown in full with short docs; outputs to a depth, with named
//! types as names that are expanded on demand. What is left out is always
//! visible, both in the text and in [`Signature::omitted`]. The same tool gives
//! the same text, so that prompt caches hold.
//!
//! Schemas are JSON Schema 2020-12 and come from strangers: recursion, nodes
//! visited and characters written are bounded, and nothing in a name or a
//! description can end a comment, a string or a line.

mod combine;
mod docs;
mod library;
mod names;
mod render;
mod shapes;
#[cfg(test)]
mod tests;
mod text;
mod types;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use library::Library;
use render::Renderer;

/// Most characters that a signature's declaration and types take together.
const MAX_CHARS: usize = 24 * 1024;
/// What the types of an output may take of it.
const OUTPUT_BUDGET_CHARS: usize = 5_000;
/// No larger budget for the input is granted.
const MAX_INPUT_BUDGET_CHARS: usize = MAX_CHARS / 2;
/// Object levels of an input that are tried, one after the other, until it
/// fits its budget.
const INPUT_DEPTHS: [u32; 4] = [16, 3, 2, 1];

/// Looks a definition up by the NAME of `#/$defs/NAME`.
pub(crate) type Definitions<'a> = dyn Fn(&str) -> Option<Cow<'a, Value>> + 'a;

/// What is rendered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool<'a> {
    /// Dot-separated, without `tools.`.
    pub(crate) path: &'a str,
    /// The long text, of which the beginning is shown.
    pub(crate) description: &'a str,
    /// One line.
    pub(crate) summary: &'a str,
    /// What it does on the wire: `POST /repos/{owner}/{repo}/issues`, `mutation`.
    pub(crate) request: &'a str,
    /// JSON Schema of the arguments, an object.
    pub(crate) input_schema: &'a Value,
    /// JSON Schema of the result, where it is known.
    pub(crate) output_schema: Option<&'a Value>,
    /// Whether callers should look for another tool.
    pub(crate) deprecated: bool,
}

/// How much is rendered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'a> {
    /// Object levels of the output that are shown, at least 1.
    pub(crate) depth: u32,
    /// Only this definition, by its name in the catalogue or as a signature
    /// showed it.
    pub(crate) type_name: Option<&'a str>,
    /// Characters that the input may take before it is shown less deep.
    pub(crate) input_budget_chars: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { depth: 2, type_name: None, input_budget_chars: 6_000 }
    }
}

/// A rendered tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// One line: `tools.github.issues.create(args: { … }): Promise<Issue>`.
    pub(crate) head: String,
    /// Documentation and the whole signature, several lines. With `type_name`
    /// the head alone.
    pub(crate) declaration: String,
    /// The named types that it mentions, as far as they are shown, and a last
    /// comment that names those that are not. Empty where `type_name` names
    /// no type of this tool.
    pub(crate) types: String,
    /// What is not shown: names of types, to be asked for with `type_name`,
    /// and `place: +N fields`.
    pub(crate) omitted: Vec<String>,
}

/// Renders `tool`, whose schemas refer to `definitions`.
pub(crate) fn render(tool: &Tool<'_>, definitions: &Definitions<'_>, options: &Options<'_>) -> Signature {
    let library = Library::new(definitions, tool.input_schema, tool.output_schema);
    if let Some(name) = options.type_name {
        return one_type(tool, &library, name, options.depth.max(1));
    }
    let (mut renderer, input) = input(tool, &library, options.input_budget_chars);
    renderer.start_output(OUTPUT_BUDGET_CHARS);
    let output = output(&mut renderer, tool, options.depth.max(1));
    renderer.drain(false);
    let call = names::member_path(tool.path);
    let head = format!("{call}{}: Promise<{}>", input.brief, one_line(&output));
    let mut declaration = docs::of_tool(tool);
    let _ = write!(declaration, "{call}{}: Promise<{output}>", input.full);
    let (types, omitted) = renderer.finish();
    Signature { head, declaration, types, omitted }
}

/// The parameter list, parentheses included, in full and in brief.
struct Input {
    full: String,
    brief: &'static str,
}

fn input<'l, 'a>(
    tool: &Tool<'_>,
    library: &'l Library<'a>,
    budget_chars: usize,
) -> (Renderer<'l, 'a>, Input) {
    let budget_chars = budget_chars.clamp(200, MAX_INPUT_BUDGET_CHARS);
    let shape = shapes::arguments(tool.input_schema);
    let mut last = None;
    for (attempt, depth) in INPUT_DEPTHS.into_iter().enumerate() {
        let cut = attempt + 1 == INPUT_DEPTHS.len();
        let mut renderer = Renderer::new(library, if cut { budget_chars } else { 2 * budget_chars });
        let (full, brief) = match shape {
            shapes::Arguments::None => ("()".to_owned(), "()"),
            shapes::Arguments::Optional => {
                (format!("(args?: {})", renderer.root(tool.input_schema, "args", depth)), "(args?: { … })")
            }
            shapes::Arguments::Required => {
                (format!("(args: {})", renderer.root(tool.input_schema, "args", depth)), "(args: { … })")
            }
        };
        renderer.drain(true);
        let fits = full.len() + renderer.types_len() <= budget_chars && !renderer.cut;
        last = Some((renderer, Input { full, brief }));
        if fits {
            break;
        }
    }
    last.expect("at least one depth is tried")
}

fn output(renderer: &mut Renderer<'_, '_>, tool: &Tool<'_>, depth: u32) -> String {
    match tool.output_schema {
        None => "unknown".to_owned(),
        Some(schema) => renderer.root(schema, "result", depth),
    }
}

fn one_type(tool: &Tool<'_>, library: &Library<'_>, name: &str, depth: u32) -> Signature {
    let mut renderer = Renderer::new(library, MAX_INPUT_BUDGET_CHARS);
    let head = format!("{}(…)", names::member_path(tool.path));
    if let Some(definition) = library.resolve(name) {
        renderer.type_alone(&definition, depth);
    } else {
        renderer.omit_all(&library.reachable());
    }
    let (types, omitted) = renderer.finish();
    Signature { declaration: head.clone(), head, types, omitted }
}

/// `{ … }` in place of what takes several lines.
fn one_line(text: &str) -> Cow<'_, str> {
    let Some(at) = text.find('\n') else {
        return Cow::Borrowed(text);
    };
    let open = text[..at].rfind('{').unwrap_or(at);
    let close = text.rfind('}').map_or(text.len(), |at| at + 1);
    Cow::Owned(format!("{}{{ … }}{}", &text[..open], text[close.max(open)..].replace('\n', " ")))
}
