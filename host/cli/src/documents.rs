//! The document that a source is made from: a URL, stdin, or a file with the
//! files that it refers to.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::references::references;
use crate::{input, settings, text};

const MIB: u64 = 1024 * 1024;
/// How it may be more.
const LIMIT_HINT: &str = "`executor config set limits.document_mib N` raises the limit, up to 256; it counts once the daemon is started anew";
/// Where the daemon takes less than the settings say by now.
pub(crate) const STALE_HINT: &str =
    "a limits.document_mib that was raised counts once the daemon is started anew: `executor down`";
/// How the names of documents end.
const FILE_ENDINGS: [&str; 8] = [".json", ".yaml", ".yml", ".graphql", ".graphqls", ".gql", ".txt", ".xml"];
/// The most files that a document is.
const FILES: usize = 500;

/// `url`, or `document` with what a file or stdin holds. The files that a
/// document refers to go with it, as far as they are below `root`; that is the
/// document's own directory where nothing is said.
pub(crate) fn input_body(
    given: &str,
    root: Option<&Path>,
    limit_bytes: u64,
) -> Result<Map<String, Value>, Failure> {
    let mut body = Map::new();
    if given.contains("://") {
        if root.is_some() {
            return Err(Failure::usage("--root is for a file: what a URL refers to is fetched beside it"));
        }
        body.insert("url".into(), given.into());
        return Ok(body);
    }
    body.insert("document".into(), document(given, root, limit_bytes)?);
    Ok(body)
}

/// The most that a document and its files may take together: what the daemon
/// takes, by its own setting.
///
/// # Errors
/// The settings can't be read.
pub(crate) fn limit_bytes(context: &Context) -> Result<u64, Failure> {
    Ok(settings::load(&context.home)?.limits.document_mib * MIB)
}

/// What a document holds that is not too large.
fn content(name: &str, limit_bytes: u64) -> Result<Vec<u8>, Failure> {
    input::bytes(name, limit_bytes).map_err(|failure| match failure.exit {
        Exit::Failed => failure.hint(LIMIT_HINT),
        _ => failure,
    })
}

/// A file, or stdin for `-`, as a request carries it.
pub(crate) fn document(given: &str, root: Option<&Path>, limit_bytes: u64) -> Result<Value, Failure> {
    if given == "-" {
        let content = content(given, limit_bytes)?;
        return Ok(json!({ "name": "stdin", "content_base64": STANDARD.encode(content) }));
    }
    let path = Path::new(given);
    if !path.exists() {
        return Err(missing(given));
    }
    let content = content(given, limit_bytes)?;
    if root.is_none() && references(&content).is_empty() {
        let name = path.file_name().map_or("the document".into(), |name| name.to_string_lossy());
        return Ok(json!({ "name": name, "content_base64": STANDARD.encode(content) }));
    }
    let tree = Tree::open(path, root)?;
    let name = tree.document.clone();
    let files = tree.gather(&content, limit_bytes)?;
    let files: Vec<Value> = files
        .into_iter()
        .map(|(path, content)| json!({ "path": path, "content_base64": STANDARD.encode(content) }))
        .collect();
    Ok(json!({ "name": name, "content_base64": STANDARD.encode(content), "files": files }))
}

fn missing(given: &str) -> Failure {
    let failure = Failure::usage(format!("there is no file {}", text::line(given, 200)));
    match meant_url(given) {
        Some(url) => failure.hint(format!("for a URL, say {}", text::line(&url, 200))),
        None => failure,
    }
}

/// The URL that may have been meant by what is no file.
fn meant_url(given: &str) -> Option<String> {
    for scheme in ["http", "https"] {
        let rest = given.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(':'));
        if let Some(rest) = rest.map(|rest| rest.trim_start_matches('/')).filter(|rest| !rest.is_empty()) {
            return Some(format!("{scheme}://{rest}"));
        }
    }
    let (host, path) = given.split_once('/').map_or((given, None), |(host, path)| (host, Some(path)));
    let local = host == "localhost" || host.starts_with("localhost:") || host.starts_with("127.");
    // A name alone that ends as files of this kind do is one.
    let file = path.is_none() && FILE_ENDINGS.iter().any(|ending| host.ends_with(ending));
    let name = host.split(':').next().unwrap_or_default();
    let is_name = name.contains('.') && name.split('.').all(|label| !label.is_empty());
    match (local, is_name && !file) {
        (true, _) => Some(format!("http://{given}")),
        (false, true) => Some(format!("https://{given}")),
        _ => None,
    }
}

/// The directory that a document's files are read from.
struct Tree {
    root: PathBuf,
    /// Where the document is in it.
    document: String,
}

impl Tree {
    fn open(document: &Path, root: Option<&Path>) -> Result<Self, Failure> {
        let own = document.parent().filter(|parent| !parent.as_os_str().is_empty());
        let own = real(own.unwrap_or(Path::new(".")))?;
        let root = root.map_or_else(|| Ok(own.clone()), real)?;
        let place = own.strip_prefix(&root).map_err(|_| {
            Failure::usage(format!("{} is not below --root {}", shown(document), shown(&root)))
                .hint("--root names a directory that holds the document and what it refers to")
        })?;
        let place = place.join(document.file_name().unwrap_or_default());
        let document = place.to_str().ok_or_else(|| {
            Failure::usage(format!("the name of {} is no UTF-8, so nothing can refer to it", shown(document)))
        })?;
        Ok(Self { document: document.to_owned(), root })
    }

    /// The files that the document leads to, directly or not, without itself.
    fn gather(&self, content: &[u8], limit_bytes: u64) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let mut found = BTreeMap::new();
        let mut left = limit_bytes.saturating_sub(content.len() as u64);
        let mut queue: VecDeque<String> = self.targets(&self.document, content).into();
        while let Some(target) = queue.pop_front() {
            if target == self.document || found.contains_key(&target) {
                continue;
            }
            let Some(path) = self.file(&target)? else { continue };
            if found.len() + 1 >= FILES {
                return Err(Failure::failed(format!("the document leads to more than {FILES} files"))
                    .hint("bundle it into one file first"));
            }
            let too_large = || {
                Failure::failed(format!(
                    "the document and its files are larger than {} together: {} is one too many",
                    text::bytes(limit_bytes),
                    text::line(&target, 200)
                ))
                .hint(LIMIT_HINT)
            };
            let content = match fs::metadata(&path) {
                Ok(about) if about.len() > left => return Err(too_large()),
                _ => input::bytes(&path.to_string_lossy(), left).map_err(|_| too_large())?,
            };
            left = left.saturating_sub(content.len() as u64);
            queue.extend(self.targets(&target, &content));
            found.insert(target, content);
        }
        Ok(found)
    }

    /// What a file refers to, as paths below the root. What is elsewhere is not
    /// read: whoever reads the document says so.
    fn targets(&self, from: &str, content: &[u8]) -> Vec<String> {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        references(content).iter().filter_map(|reference| target(folder, reference)).collect()
    }

    /// Where a file is; none where there is none.
    ///
    /// # Errors
    /// When it is a link that leads out of the tree, which a document that
    /// somebody else wrote could use to have any file sent.
    fn file(&self, target: &str) -> Result<Option<PathBuf>, Failure> {
        let path = self.root.join(target);
        let Ok(real) = fs::canonicalize(&path) else { return Ok(None) };
        if !real.starts_with(&self.root) {
            return Err(Failure::usage(format!(
                "{} is a link that leads out of {}, and the document refers to it",
                text::line(target, 200),
                shown(&self.root)
            ))
            .hint("copy the file to its place, or give --root DIR with a directory that holds both"));
        }
        Ok(real.is_file().then_some(real))
    }
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    let found = fs::canonicalize(path).ok().filter(|found| found.is_dir());
    found.ok_or_else(|| Failure::usage(format!("there is no directory {}", shown(path))))
}

fn shown(path: &Path) -> String {
    text::line(&path.to_string_lossy(), 200)
}

/// The path below the root that a reference leads to; none where it leads
/// elsewhere, or into the same file.
fn target(folder: &str, reference: &str) -> Option<String> {
    let file = reference.split(['#', '?']).next().unwrap_or_default().trim();
    if file.is_empty() || file.starts_with(['/', '\\']) || has_scheme(file) {
        return None;
    }
    let file = percent_decode_str(file).decode_utf8().ok()?.replace('\\', "/");
    let mut kept: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in file.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop()?;
            }
            name if name.contains('\0') => return None,
            name => kept.push(name),
        }
    }
    Some(kept.join("/")).filter(|path| !path.is_empty())
}

fn has_scheme(reference: &str) -> bool {
    let end = reference.find([':', '/']).unwrap_or(reference.len());
    reference[end..].starts_with(':') && end > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT_BYTES: u64 = 64 * MIB;

    #[track_caller]
    fn check(folder: &str, reference: &str, expect: Option<&str>) {
        assert_eq!(target(folder, reference).as_deref(), expect, "{folder} {reference}");
    }

    #[test]
    fn references_lead_to_files_below_the_root_and_nowhere_else() {
        check("", "Pet.yaml#/Pet", Some("Pet.yaml"));
        check("api/paths", "../schemas/./a%20b.json", Some("api/schemas/a b.json"));
        check("api", "..\\Pet.yaml", Some("Pet.yaml"));
        check("api", "../../Pet.yaml", None);
        check("", "../Pet.yaml", None);
        check("", "a/../../etc/passwd", None);
        check("", "%2e%2e/%2e%2e/etc/passwd", None);
        check("", "/etc/passwd", None);
        check("", "file:///etc/passwd", None);
        check("", "https://x.test/Pet.yaml", None);
        check("", "#/components/schemas/Pet", None);
        check("", "a%00b", None);
        check("api", "..", None);
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        directory
    }

    fn sent(directory: &tempfile::TempDir, document: &str, root: Option<&str>) -> Result<Value, Failure> {
        let place = |path: &str| directory.path().join(path);
        self::document(place(document).to_str().unwrap(), root.map(place).as_deref(), LIMIT_BYTES)
    }

    fn paths(document: &Value) -> Vec<&str> {
        document["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
    }

    #[test]
    fn what_a_document_leads_to_goes_with_it_once() {
        let directory = tree(&[
            ("api/openapi.yaml", "a: {$ref: 'schemas/Pet.yaml'}\nb: {$ref: gone.yaml}\n"),
            ("api/schemas/Pet.yaml", "$ref: Owner.json#/Owner\nx: {$ref: '../openapi.yaml#/a'}\n"),
            (
                "api/schemas/Owner.json",
                r#"{"Owner": {"$ref": "Pet.yaml"}, "up": {"$ref": "../../common.yaml"}}"#,
            ),
            ("api/unrelated.yaml", "secret: 1"),
            ("common.yaml", "x: {$ref: api/unrelated.yaml}"),
        ]);
        let found = sent(&directory, "api/openapi.yaml", None).unwrap();
        assert_eq!(found["name"], "openapi.yaml");
        assert_eq!(paths(&found), ["schemas/Owner.json", "schemas/Pet.yaml"]);
        let found = sent(&directory, "api/openapi.yaml", Some("")).unwrap();
        assert_eq!(found["name"], "api/openapi.yaml");
        assert_eq!(
            paths(&found),
            ["api/schemas/Owner.json", "api/schemas/Pet.yaml", "api/unrelated.yaml", "common.yaml"]
        );
        let refused = sent(&directory, "api/openapi.yaml", Some("api/schemas")).unwrap_err();
        assert!(refused.message.contains("is not below --root"), "{}", refused.message);
        let alone = sent(&directory, "api/unrelated.yaml", None).unwrap();
        assert!(alone.get("files").is_none(), "{alone}");
    }

    #[test]
    fn a_link_out_of_the_tree_is_refused_and_one_within_is_none() {
        let directory = tree(&[
            ("api/openapi.yaml", "a: {$ref: Pet.yaml}\n"),
            ("api/real.yaml", "x: 1"),
            ("private", "a secret"),
        ]);
        let link = directory.path().join("api/Pet.yaml");
        std::os::unix::fs::symlink(directory.path().join("private"), &link).unwrap();
        let refused = sent(&directory, "api/openapi.yaml", None).unwrap_err();
        assert!(refused.message.contains("Pet.yaml is a link that leads out of"), "{}", refused.message);
        assert_eq!(paths(&sent(&directory, "api/openapi.yaml", Some("")).unwrap()), ["api/Pet.yaml"]);
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("real.yaml", &link).unwrap();
        assert_eq!(paths(&sent(&directory, "api/openapi.yaml", None).unwrap()), ["Pet.yaml"]);
        fs::remove_file(&link).unwrap();
        fs::create_dir(&link).unwrap();
        assert!(
            paths(&sent(&directory, "api/openapi.yaml", None).unwrap()).is_empty(),
            "a directory is no file"
        );
    }

    #[test]
    fn a_tree_without_end_ends() {
        let many: Vec<(String, String)> = (0..FILES + 5)
            .map(|number| (format!("{number}.yaml"), format!("$ref: {}.yaml", number + 1)))
            .collect();
        let files: Vec<(&str, &str)> =
            many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let directory = tree(&files);
        let refused = sent(&directory, "0.yaml", None).unwrap_err();
        assert!(refused.message.contains("more than 500 files"), "{}", refused.message);
        let large = tree(&[("a.yaml", "$ref: b.yaml"), ("b.yaml", "")]);
        fs::File::create(large.path().join("b.yaml")).unwrap().set_len(LIMIT_BYTES + 1).unwrap();
        let refused = sent(&large, "a.yaml", None).unwrap_err();
        assert!(refused.message.contains("b.yaml is one too many"), "{}", refused.message);
        let alone = content(&large.path().join("b.yaml").to_string_lossy(), LIMIT_BYTES).unwrap_err();
        for refused in [refused, alone] {
            assert!(refused.hints[0].contains("limits.document_mib"), "{refused:?}");
        }
    }

    #[test]
    fn an_input_is_a_url_or_a_file() {
        assert_eq!(input_body("https://x.y/z", None, LIMIT_BYTES).unwrap()["url"], "https://x.y/z");
        assert!(input_body("https://x.y/z", Some(Path::new(".")), LIMIT_BYTES).is_err());
        let directory = tree(&[("api.yaml", "openapi: 3")]);
        let file = directory.path().join("api.yaml");
        let body = input_body(file.to_str().unwrap(), None, LIMIT_BYTES).unwrap();
        assert_eq!(body["document"], json!({ "name": "api.yaml", "content_base64": "b3BlbmFwaTogMw==" }));
        let failure = input_body("api.github.com/x", None, LIMIT_BYTES).unwrap_err();
        assert_eq!(failure.hints, ["for a URL, say https://api.github.com/x"]);
        for (given, meant) in [
            ("http:/127.0.0.1/x", Some("http://127.0.0.1/x")),
            ("https:api.test", Some("https://api.test")),
            ("localhost:4010/openapi.json", Some("http://localhost:4010/openapi.json")),
            ("petstore.test", Some("https://petstore.test")),
            ("petstore.test/openapi.json", Some("https://petstore.test/openapi.json")),
            ("nofile.json", None),
            ("./nofile.json", None),
            ("../a.b/c", None),
            ("missing", None),
            ("http:", None),
        ] {
            assert_eq!(meant_url(given).as_deref(), meant, "{given}");
        }
        assert!(input_body("missing", None, LIMIT_BYTES).unwrap_err().hints.is_empty());
        let place = directory.path().to_str().unwrap();
        assert!(input_body(place, None, LIMIT_BYTES).unwrap_err().message.contains("directory"));
    }
}
