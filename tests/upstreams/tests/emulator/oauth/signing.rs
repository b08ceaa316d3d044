//! Requests signed for AWS, by a signer of the test's own.

use executor_upstreams::oauth::{AwsKeys, Credentials, Emulator, Script};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use super::start;
use crate::client::{Call, anonymous};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let mut block = key.to_vec();
    block.resize(64, 0);
    let pad = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = Sha256::digest([pad(0x36), message.as_bytes().to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}

/// A request whose path is already encoded once in `target` and once more in
/// `canonical_path`.
struct Signer<'a> {
    method: &'a str,
    target: &'a str,
    canonical_path: &'a str,
    canonical_query: &'a str,
    body: &'a str,
}

impl Signer<'_> {
    fn signed(&self, emulator: &Emulator, keys: &AwsKeys) -> Call {
        let now = OffsetDateTime::now_utc();
        let day = format!("{:04}{:02}{:02}", now.year(), u8::from(now.month()), now.day());
        let moment = format!("{day}T{:02}{:02}{:02}Z", now.hour(), now.minute(), now.second());
        let scope = format!("{day}/{}/{}/aws4_request", keys.region, keys.service);
        let body = hex(&Sha256::digest(self.body));
        let mut headers = vec![("host", emulator.addr.to_string())];
        headers.push(("x-amz-content-sha256", body.clone()));
        headers.push(("x-amz-date", moment.clone()));
        headers.extend(keys.session_token.clone().map(|token| ("x-amz-security-token", token)));
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{}\n{body}",
            self.method,
            self.canonical_path,
            self.canonical_query,
            names.join(";")
        );
        let digest = hex(&Sha256::digest(canonical));
        let parts = [day.as_str(), &keys.region, &keys.service, "aws4_request"];
        let key =
            parts.iter().fold(format!("AWS4{}", keys.secret_key).into_bytes(), |key, part| hmac(&key, part));
        let signature = hex(&hmac(&key, &format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}")));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={}, Signature={signature}",
            keys.access_key,
            names.join(";")
        );
        let call = anonymous(emulator.addr, self.method, self.target).header("authorization", &authorization);
        headers.iter().skip(1).fold(call, |call, (name, value)| call.header(name, value))
    }
}

fn read(target: &'static str) -> Signer<'static> {
    Signer {
        method: "GET",
        target,
        canonical_path: "/auth/signed/a%2520b",
        canonical_query: "q=x%20y%2F&z=",
        body: "",
    }
}

#[tokio::test]
async fn signed_requests_are_taken() {
    let emulator = start(Script::default()).await;
    let keys = Credentials::default().aws;
    read("/auth/signed/a%20b?z&q=x%20y/").signed(&emulator, &keys).expect(200).await;
    let write = Signer {
        method: "POST",
        target: "/auth/signed/a",
        canonical_path: "/auth/signed/a",
        canonical_query: "",
        body: "{\"name\":\"one\"}",
    };
    write.signed(&emulator, &keys).body(write.body).expect(200).await;
    let other_body = write.signed(&emulator, &keys).body("{\"name\":\"two\"}").expect(401).await;
    assert_eq!(other_body["message"], "X-Amz-Content-Sha256 is not that of the body");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_a_reason() {
    let emulator = start(Script::default()).await;
    let keys = Credentials::default().aws;
    let right = "/auth/signed/a%20b?z&q=x%20y/";
    let check = async |call: Call, reason: &str| {
        let said = call.expect(401).await;
        assert!(said["message"].as_str().expect("a reason").contains(reason), "{said}");
    };
    check(read("/auth/signed/a%20c?z&q=x%20y/").signed(&emulator, &keys), "does not fit").await;
    check(read("/auth/signed/a%20b?z&q=x%20z").signed(&emulator, &keys), "does not fit").await;
    check(anonymous(emulator.addr, "GET", right), "authentication is needed").await;
    let with = |change: fn(&mut AwsKeys)| {
        let mut other = keys.clone();
        change(&mut other);
        read(right).signed(&emulator, &other)
    };
    check(with(|keys| keys.secret_key = "other".to_owned()), "does not fit").await;
    check(with(|keys| keys.access_key = "other".to_owned()), "access key").await;
    check(with(|keys| keys.region = "other".to_owned()), "region").await;
    check(with(|keys| keys.session_token = Some("other".to_owned())), "session token").await;
    emulator.change(|script| script.credentials.aws.session_token = Some("session/+=".to_owned()));
    check(with(|_| {}), "session token").await;
    with(|keys| keys.session_token = Some("session/+=".to_owned())).expect(200).await;
    emulator.advance(301);
    check(with(|_| {}), "too far").await;
}
