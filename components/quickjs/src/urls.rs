//! What the prelude's `URL` and `URLSearchParams` stand on: the `url` crate,
//! which implements the WHATWG URL standard.

use rquickjs::function::Opt;
use rquickjs::{Ctx, Object, Result};
use url::{Url, form_urlencoded, quirks};

use crate::host::add;

/// Adds `url`, `urlWith`, `query` and `queryText` to the prelude's `host`.
pub(crate) fn functions<'js>(host: &Object<'js>) -> Result<()> {
    add(host, "url", |ctx: Ctx<'js>, text: String, base: Opt<Option<String>>| {
        parse(&text, base.0.flatten().as_deref()).map(|url| parts(&ctx, &url)).transpose()
    })?;
    add(host, "urlWith", |ctx: Ctx<'js>, href: String, name: String, value: String| {
        let Some(mut url) = parse(&href, None) else {
            return Err(rquickjs::Error::Unknown);
        };
        set(&mut url, &name, &value);
        parts(&ctx, &url)
    })?;
    add(host, "query", |text: String| query(&text))?;
    add(host, "queryText", |pairs: Vec<Vec<String>>| {
        let mut text = form_urlencoded::Serializer::new(String::new());
        for pair in &pairs {
            if let [name, value] = pair.as_slice() {
                text.append_pair(name, value);
            }
        }
        text.finish()
    })
}

fn parse(text: &str, base: Option<&str>) -> Option<Url> {
    match base {
        Some(base) => Url::parse(base).ok()?.join(text).ok(),
        None => Url::parse(text).ok(),
    }
}

/// A setter that is refused leaves the URL as it was, as the standard has it.
fn set(url: &mut Url, name: &str, value: &str) {
    // What is refused changes nothing.
    let _refused = match name {
        "protocol" => quirks::set_protocol(url, value),
        "username" => quirks::set_username(url, value),
        "password" => quirks::set_password(url, value),
        "host" => quirks::set_host(url, value),
        "hostname" => quirks::set_hostname(url, value),
        "port" => quirks::set_port(url, value),
        "pathname" => {
            quirks::set_pathname(url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(url, value);
            Ok(())
        }
        _ => {
            quirks::set_hash(url, value);
            Ok(())
        }
    };
}

fn parts<'js>(ctx: &Ctx<'js>, url: &Url) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("href", quirks::href(url))?;
    object.set("origin", quirks::origin(url))?;
    object.set("protocol", quirks::protocol(url))?;
    object.set("username", quirks::username(url))?;
    object.set("password", quirks::password(url))?;
    object.set("host", quirks::host(url))?;
    object.set("hostname", quirks::hostname(url))?;
    object.set("port", quirks::port(url))?;
    object.set("pathname", quirks::pathname(url))?;
    object.set("search", quirks::search(url))?;
    object.set("hash", quirks::hash(url))?;
    Ok(object)
}

fn query(text: &str) -> Vec<Vec<String>> {
    let text = text.strip_prefix('?').unwrap_or(text);
    form_urlencoded::parse(text.as_bytes())
        .map(|(name, value)| vec![name.into_owned(), value.into_owned()])
        .collect()
}
