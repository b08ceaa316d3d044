//! Resolves and loads modules from the set that the host handed over.

use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, Result};

use crate::internals::throw_type;
use crate::state::State;

/// Specifiers, exact or relative to the importing module.
pub(crate) struct SetResolver(pub(crate) Rc<State>);

impl Resolver for SetResolver {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if !self.0.linking.get() {
            let message = format!(
                "import(\"{name}\") is refused: modules are fixed before a program starts; import it at the top of the file"
            );
            return Err(throw_type(ctx, &message));
        }
        let sources = self.0.sources.borrow();
        let wanted = if name.starts_with("./") || name.starts_with("../") {
            join(base, name)
        } else {
            name.to_owned()
        };
        if sources.contains_key(&wanted) {
            return Ok(wanted);
        }
        let known = sources.keys().take(10).map(String::as_str).collect::<Vec<_>>();
        let message = if known.is_empty() {
            format!(
                "there is no module \"{name}\" to import: this program has none; APIs are reached by tools.<source>.<tool>(args)"
            )
        } else {
            format!(
                "there is no module \"{name}\" to import into {base}; the program has {}",
                known.join(", ")
            )
        };
        Err(throw_type(ctx, &message))
    }
}

/// Sources by specifier.
pub(crate) struct SetLoader(pub(crate) Rc<State>);

impl Loader for SetLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let source = self.0.sources.borrow().get(name).cloned();
        match source {
            Some(source) => Module::declare(ctx.clone(), name, source),
            None => Err(throw_type(ctx, &format!("there is no module \"{name}\""))),
        }
    }
}

/// `name` as seen from the module `base`; a step above the top stays there.
fn join(base: &str, name: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn relative_names_are_joined_to_the_importing_module() {
        assert_eq!(join("tools/a.ts", "./b.ts"), "tools/b.ts");
        assert_eq!(join("tools/a.ts", "../lib/c.ts"), "lib/c.ts");
        assert_eq!(join("a.ts", "../../b.ts"), "b.ts");
    }
}
