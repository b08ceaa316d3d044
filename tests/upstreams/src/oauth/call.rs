//! A request, with what OAuth reads of it.

use crate::plain::Request;

use super::refusals::Refusal;

/// Names and values of a query or a form, decoded, in order.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(crate) fn read(encoded: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The value of that name. An empty one counts as none (RFC 6749, section
    /// 3.1), and two are refused.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.all(name);
        let first = values.next();
        match values.next() {
            Some(_) => Err(Refusal::invalid_request(format!("{name} is there more than once"))),
            None => Ok(first.filter(|value| !value.is_empty())),
        }
    }

    /// As [`Self::one`], refused where there is none.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Refusal> {
        self.one(name)?.ok_or_else(|| Refusal::invalid_request(format!("{name} is missing")))
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

/// The first header of that name, where it is text.
pub(crate) fn header<'a>(request: &'a Request<'_>, name: &str) -> Option<&'a str> {
    request.header(name).and_then(|value| std::str::from_utf8(value).ok())
}

/// What follows the scheme in the Authorization header, where that is it.
pub(crate) fn authorization<'a>(request: &'a Request<'_>, scheme: &str) -> Option<&'a str> {
    let (have, rest) = header(request, "authorization")?.split_once(' ')?;
    have.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

/// The form of a POST.
pub(crate) fn form(request: &Request<'_>) -> Result<Parameters, Refusal> {
    if request.method != "POST" {
        return Err(Refusal::method_not_allowed("POST"));
    }
    let media_type = header(request, "content-type").unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let said = format!("the body is {essence:?}, not application/x-www-form-urlencoded");
        return Err(Refusal::invalid_request(said));
    }
    Ok(Parameters::read(request.body))
}

/// The names of a `scope` value.
pub(crate) fn scopes(value: &str) -> Vec<String> {
    value.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect()
}
