//! Module specifiers within a set of files.

use std::collections::BTreeSet;

/// What a relative import may leave out, or write as the file it becomes.
const ENDINGS: [&str; 7] = [".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".json"];

/// The file that `specifier` means in the file `base`.
pub(crate) fn resolve(base: &str, specifier: &str, files: &BTreeSet<&str>) -> Option<String> {
    let wanted = join(base, specifier);
    let mut candidates = vec![wanted.clone()];
    candidates.extend(ENDINGS.iter().map(|ending| format!("{wanted}{ending}")));
    for (written, meant) in [(".js", ".ts"), (".jsx", ".tsx"), (".mjs", ".mts"), (".js", ".tsx")] {
        if let Some(stem) = wanted.strip_suffix(written) {
            candidates.push(format!("{stem}{meant}"));
        }
    }
    let folder = if wanted.is_empty() { String::new() } else { format!("{wanted}/") };
    candidates.extend(ENDINGS.iter().map(|ending| format!("{folder}index{ending}")));
    candidates.into_iter().find(|candidate| files.contains(candidate.as_str()))
}

/// `specifier` seen from the file `base`; a step above the top stays there.
pub(crate) fn join(base: &str, specifier: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
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

pub(crate) fn is_relative(specifier: &str) -> bool {
    matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_folders_are_found() {
        let files =
            BTreeSet::from(["a.ts", "lib/b.tsx", "lib/index.ts", "c.js", "c.ts", "d.json", "index.ts"]);
        let found = |base, specifier| resolve(base, specifier, &files);
        assert_eq!(found("a.ts", "./lib/b").as_deref(), Some("lib/b.tsx"));
        assert_eq!(found("a.ts", "./lib").as_deref(), Some("lib/index.ts"));
        assert_eq!(found("lib/b.tsx", "../a.js").as_deref(), Some("a.ts"));
        assert_eq!(found("lib/b.tsx", "./b.js").as_deref(), Some("lib/b.tsx"));
        assert_eq!(found("a.ts", "./c.js").as_deref(), Some("c.js"));
        assert_eq!(found("a.ts", "./d").as_deref(), Some("d.json"));
        assert_eq!(found("lib/b.tsx", "..").as_deref(), Some("index.ts"));
        assert_eq!(found("a.ts", "./nope"), None);
    }
}
