//! What the operations of the API take that nobody issues. Each value has
//! characters that break where one layer of encoding is forgotten or doubled.

/// The credentials that are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// In the header `X-Api-Key`.
    pub header_key: String,
    /// In the query as `api_key`.
    pub query_key: String,
    /// In the cookie `session_key`.
    pub cookie_key: String,
    /// Of HTTP basic.
    pub username: String,
    /// Of HTTP basic.
    pub password: String,
    /// Of HTTP bearer, where no access token is meant.
    pub bearer: String,
    /// Of requests signed for AWS.
    pub aws: AwsKeys,
}

/// Who may sign, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsKeys {
    /// Names the secret key.
    pub access_key: String,
    /// Signs, and is never sent.
    pub secret_key: String,
    /// Where there is one, requests must bear it in `X-Amz-Security-Token`;
    /// where there is none, they must not.
    pub session_token: Option<String>,
    /// Such as `eu-central-1`.
    pub region: String,
    /// Such as `execute-api`.
    pub service: String,
}

impl Default for Credentials {
    fn default() -> Self {
        Self {
            header_key: "header-key-41c7/+=".to_owned(),
            query_key: "query-key-52d8/+=&%# ü".to_owned(),
            cookie_key: "cookie-key-63e9/+=".to_owned(),
            username: "ada@example.com".to_owned(),
            password: "password-74fa:/+=%ü".to_owned(),
            bearer: "bearer-85ab.~+/==".to_owned(),
            aws: AwsKeys {
                access_key: "AKIDEXAMPLE".to_owned(),
                secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
                session_token: None,
                region: "eu-central-1".to_owned(),
                service: "execute-api".to_owned(),
            },
        }
    }
}
