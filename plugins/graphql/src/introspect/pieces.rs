//! A schema type by type, for servers that refuse it in one query.

use serde_json::{Value, json};

use super::{Refusal, ask, failed, query};
use crate::schema::{Draft, find_introspection, is_name, read_introspection};
use crate::seam::{Failure, Http};

const BATCH_TYPES: usize = 20;
/// The host lets 1,000 out in one call.
const MAX_REQUESTS: usize = 900;

pub(super) fn fetch<H: Http>(endpoint: &str, http: &mut H) -> Result<Draft, Failure> {
    let outline = ask(endpoint, http, query::OUTLINE).map_err(inner)?;
    let schema = find_introspection(&outline).ok_or_else(|| failed("the endpoint gave no schema"))?;
    let listed = schema.get("types").and_then(Value::as_array).cloned().unwrap_or_default();
    let names: Vec<&str> = listed
        .iter()
        .filter_map(|ty| ty.get("name")?.as_str())
        .filter(|name| is_name(name) && !name.starts_with("__"))
        .collect();
    let mut types = Vec::new();
    let (mut asked, mut requests, mut batch) = (0, 0, BATCH_TYPES);
    while asked < names.len() {
        requests += 1;
        if requests > MAX_REQUESTS {
            return Err(failed("the schema has too many types to ask for one by one"));
        }
        let some = &names[asked..names.len().min(asked + batch)];
        match ask(endpoint, http, &query::some(some)) {
            Ok(mut root) => {
                asked += some.len();
                types.extend((0..some.len()).filter_map(|number| {
                    root.pointer_mut(&format!("/data/t{number}")).map(Value::take).filter(Value::is_object)
                }));
            }
            Err(Refusal::Perhaps(_)) if batch > 1 => batch = 1,
            Err(refusal) => return Err(inner(refusal)),
        }
    }
    let root = |key: &str| schema.get(key).cloned().unwrap_or_default();
    let whole = json!({
        "queryType": root("queryType"),
        "mutationType": root("mutationType"),
        "subscriptionType": root("subscriptionType"),
        "types": types,
    });
    read_introspection(&whole).map_err(|why| failed(&why))
}

fn inner(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Perhaps(failure) | Refusal::Final(failure) => failure,
    }
}
