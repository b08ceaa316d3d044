//! Makes tools of all that a server lists.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::auth::Auth;
use super::list::{Listed, Unlisted, list};
use super::report::Report;
use super::tool::Listing;
use super::{extras, names, schema, tool};
use crate::address;
use crate::client::{Client, Failed, Peer, failure};
use crate::config::{self, Endpoint, Era};
use crate::seam::{Failure, IndexRequest, Sink, Summary, Tool, World};
use crate::text::line;
use crate::transport::{Lost, Refused};

const ALL_PAGES: usize = usize::MAX;
const BATCH_TOOLS: usize = 500;
const BATCH_BYTES: usize = 2 << 20;

/// Lists what the server offers and puts it into the sink. A server that wants
/// a sign-in first gives no tools, and the ways to sign in.
///
/// # Errors
/// `invalid-config`, `settings-invalid`; what stood between here and the server's list of tools; and
/// the host's failures. Where a credential was sent, its refusal is one too, so
/// that what was listed before stays.
pub fn index(request: &IndexRequest, sink: &mut dyn Sink, world: &dyn World) -> Result<Summary, Failure> {
    let given = request.document.as_ref().and_then(|document| document.url.as_deref());
    let endpoint = config::read(&request.config, &request.settings, given)?;
    let has_credential = request
        .meta
        .as_deref()
        .and_then(|meta| serde_json::from_str::<Value>(meta).ok())
        .is_some_and(|meta| meta["connection"].is_string());
    let mut index =
        Index { client: Client::fresh(world, endpoint.clone()), endpoint, sink, report: Report::default() };
    let summary = index.run(has_credential)?;
    index.report.close(index.sink);
    Ok(summary)
}

struct Index<'i, 'w> {
    client: Client<'w>,
    endpoint: Endpoint,
    sink: &'i mut dyn Sink,
    report: Report,
}

impl Index<'_, '_> {
    fn run(&mut self, has_credential: bool) -> Result<Summary, Failure> {
        self.sink.progress(0, None, "asking the server");
        if let Err(lost) = self.client.connect() {
            return self.unreached(lost, has_credential);
        }
        let peer = self.client.peer().cloned().unwrap_or_else(Peer::modern);
        let offers = peer.offers;
        let tools = if offers.is_none_or(|offers| offers.tools) {
            match list(&mut self.client, "tools/list", "tools", ALL_PAGES) {
                Ok(listed) => listed,
                Err(Unlisted::SignIn(refused)) => {
                    return self.unreached(Lost::Refused(refused), has_credential);
                }
                Err(Unlisted::Failed(failure)) => return Err(failure),
            }
        } else {
            Listed::default()
        };
        let auth = match &self.endpoint {
            Endpoint::Stdio => Auth::process(),
            Endpoint::Http { url, .. } if has_credential => Auth::signed_in(url, None),
            Endpoint::Http { .. } => Auth::open(),
        };
        self.sink.put_auth_methods(auth.methods)?;
        let alternatives = auth.alternatives;
        let mut count = self.put_tools(&tools, &peer, &alternatives)?;
        if offers.is_none_or(|offers| offers.prompts) {
            count += self.put_prompts(&alternatives)?;
        }
        if offers.is_some_and(|offers| offers.resources) {
            let resources = extras::resources(&self.endpoint, &alternatives);
            count += resources.len();
            self.put(resources)?;
        }
        if count == 0 {
            let message = "the server lists neither tools nor prompts, and has no resources";
            self.report.warn(self.sink, None, "no-operations", message);
        }
        self.tell_noise();
        Ok(self.summary(Some(&peer), false))
    }

    /// What to make of a server that did not let anybody in.
    fn unreached(&mut self, lost: Lost, has_credential: bool) -> Result<Summary, Failure> {
        match (lost, self.endpoint.url()) {
            (Lost::Refused(refused), Some(url)) if refused.status == 401 && !has_credential => {
                let url = url.to_owned();
                self.sign_in(&url, &refused)
            }
            (lost, _) => Err(failure(Failed { asked: false, lost }, true, self.client.noise())),
        }
    }

    fn sign_in(&mut self, url: &str, refused: &Refused) -> Result<Summary, Failure> {
        self.sink.put_auth_methods(Auth::signed_in(url, refused.challenge.as_ref()).methods)?;
        let message = "the server shows its tools only to who has signed in: add a connection";
        self.report.warn(self.sink, None, "sign-in-needed", message);
        Ok(self.summary(None, true))
    }

    fn summary(&self, peer: Option<&Peer>, sign_in: bool) -> Summary {
        let url = self.endpoint.url();
        let origins: Vec<String> = url.and_then(address::origin).into_iter().collect();
        let mut meta = json!({"origins": origins, "hints": true});
        if sign_in {
            meta["sign_in"] = json!(true);
        }
        if let Some(peer) = peer {
            meta["protocol"] = json!(peer.version);
            meta["transport"] = json!(self.endpoint.transport(peer.sse));
        }
        Summary {
            title: peer.and_then(|peer| peer.title.clone().or_else(|| peer.name.clone())),
            version: peer.and_then(|peer| peer.release.clone()),
            base_url: url.map(str::to_owned),
            meta: Some(meta.to_string()),
        }
    }

    fn put_tools(&mut self, listed: &Listed, peer: &Peer, auth: &[Vec<String>]) -> Result<usize, Failure> {
        let listings = self.listings(listed, "tools");
        let wire: Vec<&str> = listings.iter().map(|listing| listing.name.as_str()).collect();
        let mirrored = peer.era == Era::Modern && self.endpoint != Endpoint::Stdio;
        let mut tools = Vec::with_capacity(wire.len());
        for (listing, name) in listings.iter().zip(names::segments(&wire, "")) {
            let mut faults = Vec::new();
            let built = tool::build(listing, name.clone(), &self.endpoint, mirrored, auth, &mut faults);
            for fault in faults {
                self.report.warn(self.sink, Some(&name), "schema-replaced", &fault);
            }
            match built {
                Ok(tool) => tools.push(tool),
                Err(why) => self.report.warn(self.sink, Some(&name), "tool-refused", &why),
            }
        }
        let count = tools.len();
        self.put(tools)?;
        Ok(count)
    }

    fn put_prompts(&mut self, auth: &[Vec<String>]) -> Result<usize, Failure> {
        let listed = match list(&mut self.client, "prompts/list", "prompts", ALL_PAGES) {
            Ok(listed) => listed,
            Err(unlisted) => {
                let why = match unlisted {
                    Unlisted::SignIn(_) => "the server asks for a sign-in".to_owned(),
                    Unlisted::Failed(failure) => failure.message,
                };
                let message = format!("the prompts are left out: {why}");
                self.report.warn(self.sink, None, "list-incomplete", &message);
                return Ok(0);
            }
        };
        let listings = self.listings(&listed, "prompts");
        let wire: Vec<&str> = listings.iter().map(|listing| listing.name.as_str()).collect();
        let prompts: Vec<Tool> = listings
            .iter()
            .zip(names::segments(&wire, "prompts."))
            .map(|(listing, name)| extras::prompt(listing, name, &self.endpoint, auth))
            .collect();
        let count = prompts.len();
        self.put(prompts)?;
        Ok(count)
    }

    /// The entries of a list that have a name, each once.
    fn listings<'l>(&mut self, listed: &'l Listed, what: &str) -> Vec<Listing<'l>> {
        if let Some(cut) = &listed.cut {
            let message = format!("the list of {what} is cut: {cut}");
            self.report.warn(self.sink, None, "list-incomplete", &message);
        }
        let mut seen = BTreeSet::new();
        let mut listings = Vec::with_capacity(listed.items.len());
        for raw in &listed.items {
            match Listing::read(raw) {
                Ok(listing) if seen.insert(listing.name.clone()) => listings.push(listing),
                Ok(listing) => {
                    let message = format!("{what}: {:?} is listed twice", line(&listing.name, 100));
                    self.report.warn(self.sink, None, "tool-refused", &message);
                }
                Err(why) => {
                    self.report.warn(self.sink, None, "tool-refused", &format!("{what}: {why}"));
                }
            }
        }
        listings
    }

    /// Puts tools in batches. One that the host does not take is put again
    /// with schemas that it takes: it is callable all the same.
    fn put(&mut self, tools: Vec<Tool>) -> Result<(), Failure> {
        let mut batch = Vec::new();
        let mut size = 0;
        let total = tools.len() as u64;
        for (done, tool) in tools.into_iter().enumerate() {
            size += tool.input_schema.len()
                + tool.output_schema.as_ref().map_or(0, String::len)
                + tool.description.len()
                + tool.binding.len();
            batch.push(tool);
            if batch.len() == BATCH_TOOLS || size >= BATCH_BYTES {
                size = 0;
                self.put_batch(std::mem::take(&mut batch))?;
                self.sink.progress(done as u64 + 1, Some(total), "tools");
            }
        }
        self.put_batch(batch)
    }

    fn put_batch(&mut self, batch: Vec<Tool>) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        let refused = self.sink.put_tools(batch.clone())?;
        let mut again = Vec::new();
        for (at, why) in refused {
            let Some(tool) = batch.get(at as usize) else { continue };
            if tool.input_schema == schema::ANY_OBJECT && tool.output_schema.is_none() {
                continue;
            }
            let message = format!("its schemas are replaced, since the host refused it: {why}");
            self.report.warn(self.sink, Some(&tool.name), "schema-replaced", &message);
            again.push(Tool {
                input_schema: schema::ANY_OBJECT.to_owned(),
                output_schema: None,
                ..tool.clone()
            });
        }
        if !again.is_empty() {
            // What is refused again is told by the host.
            self.sink.put_tools(again)?;
        }
        Ok(())
    }

    fn tell_noise(&mut self) {
        let Some(noise) = self.client.noise().filter(|noise| noise.count > 0).cloned() else { return };
        let first = noise.lines.first().map(String::as_str).unwrap_or_default();
        let message = format!(
            "the server writes to its standard output what is no message ({} lines so far): {}",
            noise.count,
            line(first, 150)
        );
        self.report.warn(self.sink, None, "stdout-noise", &message);
    }
}
