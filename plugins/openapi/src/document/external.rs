//! References to other documents.
//!
//! What they lead to is fetched and put into the tree under [`HOME`], and each
//! reference rewritten into one inside the tree: nobody who reads the tree
//! later knows that it was several documents.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::read::read_part;
use super::skim::Budget;
use crate::address;
use crate::seam::{Http, HttpRequest, HttpResponse};
use crate::text::{line, sanitised};

/// The root's key that holds the other documents. Extensions of the root are
/// not kept, so nothing of the document's own stands there.
const HOME: &str = "x-external";
/// More than any published tree of documents has.
const MAX_DOCUMENTS: usize = 500;
const MAX_DOCUMENT_BYTES: usize = 16 << 20;
const MAX_BYTES: usize = 48 << 20;
const MAX_REDIRECTS: usize = 5;
const CHUNK_BYTES: u32 = 1 << 20;
const TIMEOUT_MS: u32 = 30_000;
/// Keys whose values are data and no part of the description.
const DATA: [&str; 5] = ["example", "examples", "default", "enum", "const"];
/// Keys whose value's own keys are names that the document chose.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "dependentSchemas", "definitions", "$defs", "schemas"];

/// Reads every document that `root` leads to, directly or not, and joins them
/// to it. Gives sentences about what could not be read; references to that
/// stay as they are.
///
/// `url` is where the root was fetched. What is not of its origin is read only
/// where it is of one of `allowed`.
pub(crate) fn gather<H: Http>(
    root: &mut Value,
    url: Option<&str>,
    allowed: &[String],
    http: &mut H,
) -> Vec<String> {
    let Some(base) = base_of(root, url) else {
        return Vec::new();
    };
    let mut origins: Vec<String> = url.and_then(address::origin).into_iter().collect();
    origins.extend(allowed.iter().filter_map(|each| address::origin(each)));
    let mut gathering = Gathering {
        http,
        origins,
        documents: Vec::new(),
        seen: HashSet::from([without_fragment(&base).to_owned()]),
        queue: VecDeque::new(),
        faults: Vec::new(),
        bytes: 0,
        budget: Budget::for_bytes(MAX_BYTES),
    };
    gathering.note(root, &base);
    while let Some(next) = gathering.queue.pop_front() {
        gathering.load(next);
    }
    if gathering.seen.len() > MAX_DOCUMENTS {
        let fault = format!("it leads to more than {MAX_DOCUMENTS} documents: the rest is not read");
        gathering.faults.push(fault);
    }
    let Gathering { documents, faults, .. } = gathering;
    if !documents.is_empty() {
        join(root, &base, documents);
    }
    faults
}

/// What relative references are resolved on: `$self` (3.2), else the URL.
fn base_of(root: &Value, url: Option<&str>) -> Option<String> {
    let own = root.get("$self").and_then(Value::as_str);
    match (own, url) {
        // Where the files are at hand, those are meant.
        (Some(_), Some(url)) if address::is_of_files(url) => Some(url.to_owned()),
        (Some(own), Some(url)) => address::join(url, own).or_else(|| Some(url.to_owned())),
        (Some(own), None) => address::join(own, own),
        (None, url) => url.map(str::to_owned),
    }
}

struct Read {
    /// By which references name it.
    url: String,
    /// What its own references are resolved on.
    base: String,
    value: Value,
}

struct Gathering<'h, H> {
    http: &'h mut H,
    origins: Vec<String>,
    documents: Vec<Read>,
    seen: HashSet<String>,
    queue: VecDeque<String>,
    faults: Vec<String>,
    bytes: usize,
    budget: Budget,
}

impl<H: Http> Gathering<'_, H> {
    /// Queues what `value` refers to.
    fn note(&mut self, value: &mut Value, base: &str) {
        let Self { seen, queue, .. } = self;
        each_reference(value, false, &mut |reference| {
            let Some(target) = target(base, reference) else { return };
            if seen.len() <= MAX_DOCUMENTS && seen.insert(target.clone()) {
                queue.push_back(target);
            }
        });
    }

    fn load(&mut self, url: String) {
        let read = self.fetch(&url).and_then(|(base, bytes)| {
            let value = read_part(&bytes, &self.budget).map_err(|failure| failure.message)?;
            Ok((base, value))
        });
        match read {
            Ok((base, mut value)) => {
                self.note(&mut value, &base);
                self.documents.push(Read { url, base, value });
            }
            Err(why) => {
                self.faults.push(format!("the document {} is not read: {why}", line(shown(&url), 200)))
            }
        }
    }

    fn fetch(&mut self, url: &str) -> Result<(String, Vec<u8>), String> {
        let mut at = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            self.check(&at)?;
            let request = HttpRequest {
                method: "GET".to_owned(),
                url: at.clone(),
                headers: vec![(
                    "accept".to_owned(),
                    b"application/json, application/yaml, */*;q=0.5".to_vec(),
                )],
                body: Vec::new(),
            };
            let mut response = self.http.send(request).map_err(|failure| failure.message)?;
            match response.status() {
                200 => return Ok((at, self.body(&mut response)?)),
                301 | 302 | 303 | 307 | 308 => at = redirected(&at, &response)?,
                status => return Err(format!("its server answered {status}")),
            }
        }
        Err("it is redirected again and again".to_owned())
    }

    fn check(&self, url: &str) -> Result<(), String> {
        let origin = address::origin(url).ok_or_else(|| "its URL is not http or https".to_owned())?;
        if self.origins.contains(&origin) {
            return Ok(());
        }
        Err(format!(
            "it is of another origin than the document: add {origin} to the setting reference_origins to read it"
        ))
    }

    fn body<R: HttpResponse>(&mut self, response: &mut R) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        loop {
            let chunk = response.read(CHUNK_BYTES, TIMEOUT_MS).map_err(|failure| failure.message)?;
            let chunk = chunk.ok_or_else(|| "its server fell silent".to_owned())?;
            if chunk.is_empty() {
                self.bytes += bytes.len();
                return Ok(bytes);
            }
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_DOCUMENT_BYTES || self.bytes + bytes.len() > MAX_BYTES {
                return Err(format!(
                    "a document may have {MAX_DOCUMENT_BYTES} bytes and all together {MAX_BYTES}"
                ));
            }
        }
    }
}

fn redirected<R: HttpResponse>(at: &str, response: &R) -> Result<String, String> {
    let headers = response.headers();
    let location = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let location = location.and_then(|(_, value)| std::str::from_utf8(value).ok());
    location.and_then(|to| address::join(at, to)).ok_or_else(|| "it is redirected to nowhere".to_owned())
}

/// Puts the documents into the tree and turns all references inwards.
fn join(root: &mut Value, base: &str, documents: Vec<Read>) {
    let mut keys: HashMap<String, String> =
        HashMap::from([(without_fragment(base).to_owned(), String::new())]);
    let mut used: HashSet<String> = HashSet::new();
    for document in &documents {
        let mut key = stem(&document.url);
        while !used.insert(key.clone()) {
            key.push('_');
        }
        keys.insert(document.url.clone(), format!("/{HOME}/{key}"));
    }
    turn_inwards(root, base, "", &keys);
    let mut home = Map::new();
    for Read { url, base, mut value } in documents {
        let own = &keys[&url];
        turn_inwards(&mut value, &base, own, &keys);
        home.insert(own[HOME.len() + 2..].to_owned(), value);
    }
    if let Value::Object(map) = root {
        map.insert(HOME.to_owned(), Value::Object(home));
    }
}

/// `own` is where the value's document stands in the tree.
fn turn_inwards(value: &mut Value, base: &str, own: &str, keys: &HashMap<String, String>) {
    each_reference(value, false, &mut |reference| {
        let (_, fragment) = reference.split_once('#').unwrap_or((reference.as_str(), ""));
        // By the letter `/` names a member without a name; people mean all.
        let fragment = if fragment == "/" { "" } else { fragment };
        let place = match target(base, reference) {
            Some(target) => keys.get(&target).map(String::as_str),
            None => Some(own),
        };
        if let Some(place) = place.filter(|place| !place.is_empty() || reference.find('#') != Some(0)) {
            *reference = format!("#{place}{fragment}");
        }
    });
}

/// The URL of the document that a reference leads to; none where it is its own.
fn target(base: &str, reference: &str) -> Option<String> {
    let document = without_fragment(reference);
    if document.is_empty() {
        return None;
    }
    Some(without_fragment(&address::join(base, document)?).to_owned())
}

/// A URL as a person knows it: a file by its path.
fn shown(url: &str) -> &str {
    if !address::is_of_files(url) {
        return url;
    }
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or(url, |(_, path)| path);
    path.strip_prefix("~/").unwrap_or(path)
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// `Pet` of `https://example.com/schemas/Pet.yaml`.
fn stem(url: &str) -> String {
    let path = url.split('?').next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    sanitised(file.split('.').next().unwrap_or_default(), 60)
}

/// Calls `f` with every reference in `value`, also those of discriminators.
/// `named`: the keys of `value` are names and no keywords.
fn each_reference(value: &mut Value, named: bool, f: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                match member {
                    _ if named => each_reference(member, false, f),
                    Value::String(reference) if key == "$ref" => f(reference),
                    Value::Object(mapping) if key == "mapping" => {
                        mapping.values_mut().for_each(|target| each_target(target, f));
                    }
                    _ if DATA.contains(&key.as_str()) => {}
                    _ => each_reference(member, NAMED.contains(&key.as_str()), f),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|member| each_reference(member, false, f)),
        _ => {}
    }
}

/// A discriminator names schemas by name or by reference.
fn each_target(target: &mut Value, f: &mut dyn FnMut(&mut String)) {
    let is_file = |text: &str| [".json", ".yaml", ".yml"].iter().any(|end| text.ends_with(end));
    match target {
        Value::String(text) if text.contains('#') || is_file(text) => f(text),
        Value::String(_) => {}
        other => each_reference(other, false, f),
    }
}
