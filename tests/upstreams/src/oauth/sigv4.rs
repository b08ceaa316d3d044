//! Verifying AWS Signature Version 4, after AWS's description of it ("Create a
//! signed AWS API request" in the IAM user guide): the signature is in the
//! Authorization header, and the path is encoded once more than it was sent, as
//! it is for every service but S3.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use time::PrimitiveDateTime;
use time::macros::format_description;

use super::credentials::AwsKeys;
use super::hmac::{hex, hmac_sha256};

/// Everything but RFC 3986's unreserved characters is encoded.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// How far the signer's clock may be off.
const SKEW_S: i64 = 300;

/// A request that claims to be signed.
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a str,
    /// As sent.
    pub(crate) path: &'a str,
    /// As sent.
    pub(crate) query: &'a str,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: &'a [u8],
}

/// The parts of the Authorization header.
struct Claim<'a> {
    access_key: &'a str,
    date: &'a str,
    region: &'a str,
    service: &'a str,
    signed_headers: Vec<&'a str>,
    signature: &'a str,
}

/// Says what is wrong with the signature, where anything is.
pub(crate) fn verify(request: &Signed<'_>, keys: &AwsKeys, now_s: i64) -> Result<(), String> {
    let authorization = request.header("authorization").ok_or("there is no Authorization")?;
    let claim = Claim::read(&authorization)?;
    for (name, said, right) in [
        ("access key", claim.access_key, &keys.access_key),
        ("region", claim.region, &keys.region),
        ("service", claim.service, &keys.service),
    ] {
        if said != right {
            return Err(format!("the {name} is {said:?}, not {right:?}"));
        }
    }
    let moment = request.header("x-amz-date").ok_or("there is no X-Amz-Date")?;
    check_moment(&moment, claim.date, now_s)?;
    if request.header("x-amz-security-token") != keys.session_token {
        return Err("the session token is wrong, missing or one too many".to_owned());
    }
    check_signed_headers(request, &claim)?;
    let body_hash = hex(&Sha256::digest(request.body));
    if request.header("x-amz-content-sha256").is_some_and(|said| said != body_hash) {
        return Err("X-Amz-Content-Sha256 is not that of the body".to_owned());
    }
    let canonical = canonical(request, &claim.signed_headers, &body_hash)?;
    match signature(&canonical, &moment, &claim, &keys.secret_key) == claim.signature {
        true => Ok(()),
        false => Err(format!("the signature does not fit this canonical request:\n{canonical}")),
    }
}

impl Signed<'_> {
    /// The values of that name, joined by commas.
    fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter().filter(|(have, _)| have == name).map(|(_, value)| value.as_str());
        let values: Vec<&str> = values.collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}

impl<'a> Claim<'a> {
    fn read(authorization: &'a str) -> Result<Self, String> {
        let (algorithm, parts) = authorization.split_once(' ').unwrap_or((authorization, ""));
        if algorithm != ALGORITHM {
            return Err(format!("the Authorization is not {ALGORITHM}"));
        }
        let part = |name: &str| {
            let found = parts.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
            found.ok_or_else(|| format!("the Authorization has no {name}"))
        };
        let credential: Vec<&str> = part("Credential")?.split('/').collect();
        let [access_key, date, region, service, "aws4_request"] = credential[..] else {
            return Err("the Credential is not key/date/region/service/aws4_request".to_owned());
        };
        let signed_headers = part("SignedHeaders")?.split(';').collect();
        Ok(Self { access_key, date, region, service, signed_headers, signature: part("Signature")? })
    }
}

fn check_moment(moment: &str, date: &str, now_s: i64) -> Result<(), String> {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let parsed =
        PrimitiveDateTime::parse(moment, format).map_err(|_| format!("{moment:?} is no X-Amz-Date"))?;
    if !moment.starts_with(date) {
        return Err("the Credential is of another day than X-Amz-Date".to_owned());
    }
    match (parsed.assume_utc().unix_timestamp() - now_s).abs() <= SKEW_S {
        true => Ok(()),
        false => Err(format!("{moment} is too far from the time here")),
    }
}

/// The host and every `x-amz-` header have to be signed, in order.
fn check_signed_headers(request: &Signed<'_>, claim: &Claim<'_>) -> Result<(), String> {
    let names = &claim.signed_headers;
    if !names.is_sorted_by(|one, next| one < next) {
        return Err("SignedHeaders are not sorted".to_owned());
    }
    let needed = |name: &str| name == "host" || name.starts_with("x-amz-");
    let unsigned = request.headers.iter().find(|(name, _)| needed(name) && !names.contains(&name.as_str()));
    if let Some((name, _)) = unsigned {
        return Err(format!("{name} is not signed"));
    }
    match names.iter().find(|name| request.header(name).is_none()) {
        Some(absent) => Err(format!("{absent:?} is signed, but not there")),
        None => Ok(()),
    }
}

/// The canonical request.
fn canonical(request: &Signed<'_>, signed: &[&str], body_hash: &str) -> Result<String, String> {
    let mut lines = vec![request.method.to_owned(), path(request.path), query(request.query)?];
    for name in signed {
        let value = request.header(name).unwrap_or_default();
        let single_spaced: Vec<&str> = value.split(' ').filter(|part| !part.is_empty()).collect();
        lines.push(format!("{name}:{}", single_spaced.join(" ")));
    }
    lines.extend([String::new(), signed.join(";"), body_hash.to_owned()]);
    Ok(lines.join("\n"))
}

/// Each segment encoded once more; `.` and `..` are walked, empty segments left
/// out.
fn path(sent: &str) -> String {
    let mut segments = Vec::new();
    for segment in sent.split('/') {
        match segment {
            "" | "." => {}
            ".." => _ = segments.pop(),
            other => segments.push(encoded(other)),
        }
    }
    let end = if sent.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

/// Sorted by encoded name, then by encoded value.
fn query(sent: &str) -> Result<String, String> {
    if sent.contains('+') {
        return Err("a + in the query is a space to some and a plus to others: send %20 or %2B".to_owned());
    }
    let mut pairs = Vec::new();
    for pair in sent.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let again = |text: &str| {
            let decoded = percent_decode_str(text).decode_utf8();
            decoded.map(|text| encoded(&text)).map_err(|_| "the query is no UTF-8".to_owned())
        };
        pairs.push((again(name)?, again(value)?));
    }
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(pairs.join("&"))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

fn signature(canonical: &str, moment: &str, claim: &Claim<'_>, secret_key: &str) -> String {
    let Claim { date, region, service, .. } = claim;
    let digest = hex(&Sha256::digest(canonical));
    let to_sign = format!("{ALGORITHM}\n{moment}\n{date}/{region}/{service}/aws4_request\n{digest}");
    let mut key = hmac_sha256(format!("AWS4{secret_key}").as_bytes(), date.as_bytes());
    for part in [region, service, "aws4_request"] {
        key = hmac_sha256(&key, part.as_bytes());
    }
    hex(&hmac_sha256(&key, to_sign.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2015-08-30T12:36:00Z, the moment of AWS's published examples.
    const MOMENT_S: i64 = 1_440_938_160;

    fn keys(service: &str) -> AwsKeys {
        AwsKeys {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
            region: "us-east-1".to_owned(),
            service: service.to_owned(),
        }
    }

    fn request<'a>(query: &'a str, service: &str, headers: &[(&str, &str)], signature: &str) -> Signed<'a> {
        let mut all = vec![("x-amz-date", "20150830T123600Z")];
        all.extend(headers);
        let mut names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let authorization = format!(
            "{ALGORITHM} Credential=AKIDEXAMPLE/20150830/us-east-1/{service}/aws4_request, \
            SignedHeaders={}, Signature={signature}",
            names.join(";"),
        );
        let mut headers: Vec<_> =
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        headers.push(("authorization".to_owned(), authorization));
        Signed { method: "GET", path: "/", query, headers, body: b"" }
    }

    /// `get-vanilla` and `get-vanilla-query-order-key-case` of AWS's test
    /// suite, and the request to IAM that its documentation walks through.
    #[test]
    fn the_published_examples_hold() {
        let host = [("host", "example.amazonaws.com")];
        let vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        assert_eq!(verify(&request("", "service", &host, vanilla), &keys("service"), MOMENT_S), Ok(()));
        let ordered = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500";
        let sent = request("Param2=value2&Param1=value1", "service", &host, ordered);
        assert_eq!(verify(&sent, &keys("service"), MOMENT_S), Ok(()));
        let iam = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        let headers = [
            ("host", "iam.amazonaws.com"),
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
        ];
        let sent = request("Action=ListUsers&Version=2010-05-08", "iam", &headers, iam);
        assert_eq!(verify(&sent, &keys("iam"), MOMENT_S), Ok(()));
    }

    #[test]
    fn what_is_changed_afterwards_does_not_fit() {
        let vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        let sent = || request("", "service", &[("host", "example.amazonaws.com")], vanilla);
        let check = |sent: Signed<'_>, keys: &AwsKeys, now_s: i64, expect: &str| {
            let said = verify(&sent, keys, now_s).expect_err("it does not fit");
            assert!(said.contains(expect), "{said}");
        };
        let right = keys("service");
        check(Signed { body: b"more", ..sent() }, &right, MOMENT_S, "does not fit");
        check(Signed { method: "PUT", ..sent() }, &right, MOMENT_S, "does not fit");
        check(Signed { path: "/other", ..sent() }, &right, MOMENT_S, "does not fit");
        check(Signed { query: "a=b", ..sent() }, &right, MOMENT_S, "does not fit");
        check(Signed { query: "a=+", ..sent() }, &right, MOMENT_S, "a + in the query");
        check(sent(), &AwsKeys { secret_key: "other".to_owned(), ..right.clone() }, MOMENT_S, "does not fit");
        check(sent(), &AwsKeys { region: "eu".to_owned(), ..right.clone() }, MOMENT_S, "the region is");
        check(sent(), &right, MOMENT_S + SKEW_S + 1, "too far");
        let mut more = sent();
        more.headers.push(("x-amz-target".to_owned(), "t".to_owned()));
        check(more, &right, MOMENT_S, "x-amz-target is not signed");
        let mut hashed = sent();
        hashed.headers.push(("x-amz-content-sha256".to_owned(), "0".to_owned()));
        check(hashed, &right, MOMENT_S, "x-amz-content-sha256 is not signed");
        let bare = Signed { headers: Vec::new(), ..sent() };
        check(bare, &right, MOMENT_S, "no Authorization");
    }

    #[test]
    fn paths_and_queries_become_canonical() {
        assert_eq!(path("/"), "/");
        assert_eq!(path("/a%20b/./c/../d//"), "/a%2520b/d/");
        assert_eq!(query("b=2&a=%7E%2f&a=&c"), Ok("a=&a=~%2F&b=2&c=".to_owned()));
    }
}
