//! Authorization on another device (RFC 8628).

use std::time::Duration;

use serde_json::Value;

use super::answer::{Refusal, shown, understood};
use super::authorization::AuthorizationView;
use super::authorize::Draft;
use super::exchange::refused;
use super::grant::Tokens;
use super::pending::LIFETIME_MS;
use crate::caller::Caller;
use crate::clock::rfc3339;
use crate::problem::{Problem, ProblemKind};
use crate::workspace::Workspace;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Between two polls, where the server names nothing (section 3.2).
const INTERVAL: Duration = Duration::from_secs(5);

/// Added where it says that it is asked too often (section 3.5).
const SLOWER: Duration = Duration::from_secs(5);

/// What a server has us wait at least: none is asked without a pause.
const INTERVAL_LEAST: Duration = Duration::from_secs(1);

/// What a server makes us wait at most.
const INTERVAL_LIMIT: Duration = Duration::from_secs(60);

impl Workspace {
    pub(super) async fn begin_device(
        &self,
        caller: &Caller,
        mut draft: Draft,
        mut view: AuthorizationView,
    ) -> Result<AuthorizationView, Problem> {
        let servers = self.servers(&draft.source.allowed_hosts);
        let url = servers.checked(draft.grant.endpoints.device.as_deref().unwrap_or_default())?;
        let scope = draft.grant.scopes.join(" ");
        let mut fields = Vec::new();
        if !scope.is_empty() {
            fields.push(("scope", scope.as_str()));
        }
        fields.extend(draft.grant.resource.as_deref().map(|resource| ("resource", resource)));
        let refused = |refusal| refused(&url, refusal);
        let asked = servers.ask_as(&url, &mut draft.client, &fields, understood).await;
        let answer = asked.map_err(refused)?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let garbage = |what: &str| refused(Refusal::Garbage { message: format!("its answer has no {what}") });
        let device_code = text("device_code").ok_or_else(|| garbage("device_code"))?.to_owned();
        let user_code = text("user_code").ok_or_else(|| garbage("user_code"))?;
        // `verification_url` is what Google's servers say.
        let page = text("verification_uri").or(text("verification_url"));
        let page = page.ok_or_else(|| garbage("verification_uri"))?;
        let whole = text("verification_uri_complete").unwrap_or(page);
        servers.checked(page)?;
        servers.checked(whole)?;
        let seconds = |name: &str| answer.get(name).and_then(Value::as_u64);
        let interval = seconds("interval").map_or(INTERVAL, Duration::from_secs);
        let interval = interval.clamp(INTERVAL_LEAST, INTERVAL_LIMIT);
        let lifetime_ms = seconds("expires_in").and_then(|seconds| i64::try_from(seconds).ok());
        let lifetime_ms =
            lifetime_ms.map_or(LIFETIME_MS, |seconds| seconds.saturating_mul(1000)).min(LIFETIME_MS);
        view.url = Some(whole.to_owned());
        view.user_code = Some(shown(user_code));
        view.expires_at = rfc3339(self.shared.now_ms() + lifetime_ms);
        self.wait(caller, &view, None, None);
        self.poll(caller.clone(), draft, view.id.clone(), device_code, interval, lifetime_ms);
        Ok(view)
    }

    /// Polls until somebody answered; ended with the authorization.
    fn poll(
        &self,
        caller: Caller,
        draft: Draft,
        id: String,
        device_code: String,
        interval: Duration,
        lifetime_ms: i64,
    ) {
        let workspace = self.this();
        let settled = id.clone();
        let task = tokio::spawn(async move {
            let deadline = Duration::from_millis(u64::try_from(lifetime_ms).unwrap_or(0));
            let mut draft = draft;
            let polling = workspace.polled(&mut draft, &device_code, interval);
            let tokens = tokio::time::timeout(deadline, polling).await.unwrap_or_else(|_| {
                Err(Problem::new(
                    ProblemKind::Unprocessable,
                    "authorization-refused",
                    "nobody entered the code in time",
                )
                .hint("begin again"))
            });
            let outcome = match tokens {
                Ok(tokens) => workspace.connect(&caller, draft, tokens).await,
                Err(problem) => Err(problem),
            };
            workspace.shared.pending.settle(&settled, &outcome);
        });
        self.shared.pending.polled_by(&id, task.abort_handle());
    }

    async fn polled(
        &self,
        draft: &mut Draft,
        device_code: &str,
        mut interval: Duration,
    ) -> Result<Tokens, Problem> {
        loop {
            tokio::time::sleep(interval).await;
            match self.asked(draft, device_code).await? {
                Ok(tokens) => return Ok(tokens),
                Err(Refusal::Refused { error, .. }) if error == "authorization_pending" => {}
                Err(Refusal::Refused { error, .. }) if error == "slow_down" => interval += SLOWER,
                Err(Refusal::Transient { retry_after_ms, .. }) => {
                    let wait = retry_after_ms.map_or(interval * 2, Duration::from_millis);
                    interval = interval.max(wait);
                }
                Err(refusal) => {
                    let url = self.servers(&draft.source.allowed_hosts);
                    let url = url.checked(draft.grant.endpoints.token.as_deref().unwrap_or_default())?;
                    return Err(refused(&url, refusal));
                }
            }
            interval = interval.min(INTERVAL_LIMIT);
        }
    }

    async fn asked(&self, draft: &mut Draft, device_code: &str) -> Result<Result<Tokens, Refusal>, Problem> {
        let servers = self.servers(&draft.source.allowed_hosts);
        let url = servers.checked(draft.grant.endpoints.token.as_deref().unwrap_or_default())?;
        let mut fields = vec![("grant_type", GRANT_TYPE), ("device_code", device_code)];
        fields.extend(draft.grant.resource.as_deref().map(|resource| ("resource", resource)));
        Ok(servers.tokens(&url, &mut draft.client, &fields, &draft.grant.scopes).await)
    }
}
