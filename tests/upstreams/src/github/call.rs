//! One request as the operations see it.

use std::sync::{Arc, MutexGuard};

use axum::extract::{FromRequestParts, Path};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use serde::de::DeserializeOwned;

use super::app::App;
use super::refusals::Refusal;
use super::state::World;

/// A request whose body has arrived and whose token was checked.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) method: Method,
    /// As sent, percent-encoded.
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// The login whose token came along.
    pub(crate) caller: Option<String>,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.app.world()
    }

    /// The caller's login, or 401.
    pub(crate) fn author(&self) -> Result<&str, Refusal> {
        self.caller.as_deref().ok_or_else(Refusal::authentication_required)
    }
}

impl<S: Sync> FromRequestParts<S> for Call {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let call = parts.extensions.get::<Self>().cloned();
        Ok(call.expect("the pipeline put one there before it routed"))
    }
}

/// The parameters after the `?`, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first of that name; none where it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(have, _)| have == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    /// All of them, encoded again.
    pub(crate) fn text(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// The query with `name` set to `value`.
    pub(crate) fn with(&self, name: &str, value: &str) -> String {
        let others = self.0.iter().filter(|(have, _)| have != name);
        url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(others)
            .append_pair(name, value)
            .finish()
    }
}

/// The parameters in the path; what does not parse is a path that leads
/// nowhere.
pub(crate) struct Route<T>(pub(crate) T);

impl<S, T> FromRequestParts<S> for Route<T>
where
    S: Send + Sync,
    T: DeserializeOwned + Send,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(Refusal::not_found()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn parameters_are_decoded_and_replaced() {
        let query = Query::parse("q=a+b%26c&page=2&empty=");
        assert_eq!(query.get("q"), Some("a b&c"));
        assert_eq!(query.get("empty"), None);
        assert_eq!(query.number("page"), Some(2));
        assert_eq!(query.with("page", "3"), "q=a+b%26c&empty=&page=3");
    }
}
