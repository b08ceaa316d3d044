//! Signs a whole request: AWS Signature Version 4.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use http::header::{CONTENT_TYPE, HeaderName};
use url::Url;

use super::Secret;
use super::place::{PlaceError, Sealing, sensitive};

/// Where a host name says no region, as those of global services.
const DEFAULT_REGION: &str = "us-east-1";

/// An access key of AWS, and what its signatures are for.
#[derive(Debug, Clone)]
pub struct Signing {
    /// Names the key; not secret.
    pub access_key_id: String,
    /// The key.
    pub secret_access_key: Secret,
    /// Goes along with temporary keys.
    pub session_token: Option<Secret>,
    /// The region; by default what the host name says.
    pub region: Option<String>,
    /// The service's name in signatures; by default what the host name says.
    pub service: Option<String>,
}

/// Why a request was not signed.
#[derive(Debug, thiserror::Error)]
#[error("the request can't be signed: {0}")]
pub(crate) struct SignError(String);

impl Sealing {
    /// Signs what the request is now.
    pub(crate) fn sign(&mut self, signing: &Signing) -> Result<(), PlaceError> {
        self.sign_at(signing, SystemTime::now())
    }

    fn sign_at(&mut self, signing: &Signing, now: SystemTime) -> Result<(), PlaceError> {
        let told = AwsHost::of(&self.url);
        let service = signing.service.clone().unwrap_or(told.service);
        let region = signing.region.clone().or(told.region).unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let session_token = signing.session_token.as_ref().map(|token| token.expose().to_owned());
        let identity = Credentials::new(
            &signing.access_key_id,
            signing.secret_access_key.expose(),
            session_token,
            None,
            "connection",
        )
        .into();
        let broken = |error: &dyn std::error::Error| SignError(error.to_string());
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&region)
            .name(&service)
            .time(now)
            .settings(settings(&service))
            .build()
            .map_err(|error| broken(&error))?;
        let signed: Vec<(String, String)> = self.signed_headers();
        let headers = signed.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let body = SignableBody::Bytes(&self.body);
        let request = SignableRequest::new(self.method.as_str(), self.url.as_str(), headers, body)
            .map_err(|error| broken(&error))?;
        let (instructions, _) =
            sign(request, &parameters.into()).map_err(|error| broken(&error))?.into_parts();
        for (name, value) in instructions.headers() {
            let header = HeaderName::try_from(name).map_err(|_| PlaceError::Name(name.to_owned()))?;
            self.headers.insert(header, sensitive(name, value)?);
        }
        Ok(())
    }

    /// What a proxy or the connection could change is not signed.
    fn signed_headers(&self) -> Vec<(String, String)> {
        let signed = |name: &HeaderName| {
            name == CONTENT_TYPE
                || name.as_str() == "content-md5"
                || name.as_str() == "range"
                || name.as_str().starts_with("x-amz-")
        };
        let chosen = self.headers.iter().filter(|(name, _)| signed(name));
        chosen
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect()
    }
}

/// S3 takes paths as they are and wants the body's digest; every other service
/// wants paths normalised and escaped once more.
fn settings(service: &str) -> SigningSettings {
    let mut settings = SigningSettings::default();
    if matches!(service, "s3" | "s3express" | "s3-object-lambda") {
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    settings
}

/// What a name of AWS says: `dynamodb.eu-west-1.amazonaws.com`,
/// `BUCKET.s3.eu-west-1.amazonaws.com`, `ID.execute-api.eu-west-1.amazonaws.com`,
/// `iam.amazonaws.com`. Of any other name the first label is the service.
struct AwsHost {
    service: String,
    region: Option<String>,
}

impl AwsHost {
    fn of(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let own = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"));
        let own = own.or_else(|| host.strip_suffix(".api.aws")).unwrap_or(host);
        let labels: Vec<&str> = own.split('.').filter(|label| *label != "dualstack").collect();
        match labels.iter().rposition(|label| is_region(label)) {
            Some(place) if place > 0 => {
                Self { service: labels[place - 1].to_owned(), region: Some(labels[place].to_owned()) }
            }
            // The older `s3-eu-west-1.amazonaws.com`.
            _ => match labels.last().and_then(|label| label.split_once('-')) {
                Some(("s3", region)) if is_region(region) => {
                    Self { service: "s3".to_owned(), region: Some(region.to_owned()) }
                }
                _ => Self { service: labels.last().copied().unwrap_or_default().to_owned(), region: None },
            },
        }
    }
}

/// `eu-west-1`, `us-gov-east-1`: two or more words and a number.
fn is_region(label: &str) -> bool {
    let mut parts = label.rsplit('-');
    let number =
        parts.next().is_some_and(|last| !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()));
    let words: Vec<&str> = parts.collect();
    let lower = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    number && words.len() >= 2 && words.iter().all(lower)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::{HeaderMap, Method};

    use super::*;

    fn check_host(url: &str, service: &str, region: Option<&str>) {
        let found = AwsHost::of(&Url::parse(url).expect("a fixture"));
        assert_eq!((found.service.as_str(), found.region.as_deref()), (service, region), "{url}");
    }

    #[test]
    fn host_names_say_service_and_region() {
        check_host("https://dynamodb.eu-west-1.amazonaws.com/", "dynamodb", Some("eu-west-1"));
        check_host("https://b.s3.us-east-2.amazonaws.com/k", "s3", Some("us-east-2"));
        check_host("https://s3-eu-central-1.amazonaws.com/", "s3", Some("eu-central-1"));
        check_host("https://s3.dualstack.us-gov-west-1.amazonaws.com/", "s3", Some("us-gov-west-1"));
        check_host("https://x1.execute-api.cn-north-1.amazonaws.com.cn/", "execute-api", Some("cn-north-1"));
        check_host("https://iam.amazonaws.com/", "iam", None);
        check_host("http://localhost:4566/", "localhost", None);
    }

    fn signing(service: &str, token: Option<&str>) -> Signing {
        Signing {
            access_key_id: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into()),
            session_token: token.map(|token| Secret::new(token.into())),
            region: None,
            service: Some(service.into()),
        }
    }

    fn request(method: Method, url: &str, headers: &[(&'static str, &str)], body: &'static str) -> Sealing {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a fixture")))
            .collect();
        Sealing {
            method,
            url: Url::parse(url).expect("a fixture"),
            headers,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    /// The examples of "Signature Calculations for the Authorization Header",
    /// Amazon S3 API Reference: 24 May 2013, 00:00:00 UTC.
    fn check_s3(mut request: Sealing, expect: &str) {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_369_353_600);
        request.sign_at(&signing("s3", None), then).expect("a fixture");
        let header = request.headers["authorization"].to_str().expect("a fixture");
        assert_eq!(header.rsplit('=').next(), Some(expect), "{header}");
    }

    #[test]
    fn the_published_examples_have_their_signatures() {
        check_s3(
            request(
                Method::GET,
                "https://examplebucket.s3.amazonaws.com/test.txt",
                &[("range", "bytes=0-9")],
                "",
            ),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        );
        check_s3(
            request(Method::GET, "https://examplebucket.s3.amazonaws.com/?lifecycle", &[], ""),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        );
        check_s3(
            request(Method::GET, "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", &[], ""),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        );
    }

    #[test]
    fn a_session_token_goes_along_and_is_signed() {
        let mut with = request(Method::POST, "https://sqs.eu-west-1.amazonaws.com/", &[], "a=1");
        with.sign_at(&signing("sqs", Some("t0ken")), SystemTime::now()).expect("a fixture");
        assert_eq!(with.headers["x-amz-security-token"], "t0ken");
        let header = with.headers["authorization"].to_str().expect("a fixture");
        assert!(header.contains("/eu-west-1/sqs/aws4_request"), "{header}");
        assert!(header.contains("x-amz-security-token"), "{header}");
        assert!(with.headers["authorization"].is_sensitive());
    }
}
