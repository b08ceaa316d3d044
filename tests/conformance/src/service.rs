//! The server under test.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::asking::{Brought, Round, States, round};
use crate::listing::{self, typed};
use crate::tools;

/// The server under test; states outlive its sessions.
pub(crate) struct Fixture {
    states: Arc<States>,
}

impl Fixture {
    pub(crate) fn new(states: Arc<States>) -> Self {
        Self { states }
    }
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({ "tools": {}, "prompts": {}, "resources": { "subscribe": true },
            "logging": {}, "completions": {} });
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("executor-conformance", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(typed(listing::tools())?))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools: Vec<Tool> = typed(listing::tools()).ok()?;
        tools.into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let brought = Brought {
            state: request.request_state.as_deref(),
            responses: request.input_responses.as_ref(),
            capabilities: context.client_capabilities().unwrap_or_default(),
        };
        match round(&request.name, &brought, &self.states)? {
            Some(Round::Done(text)) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            Some(Round::Ask(ask)) => Ok(ask.into()),
            None => {
                let arguments = request.arguments.unwrap_or_default();
                Ok(tools::call(&request.name, &arguments, &context).await?.into())
            }
        }
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(typed(listing::resources())?))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(typed(listing::templates())?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let contents = listing::contents(&uri).ok_or_else(|| {
            ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
        })?;
        Ok(typed::<ReadResourceResult>(contents)?.into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(typed(listing::prompts())?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let brought = Brought {
            state: request.request_state.as_deref(),
            responses: request.input_responses.as_ref(),
            capabilities: context.client_capabilities().unwrap_or_default(),
        };
        let messages = match round(&request.name, &brought, &self.states)? {
            Some(Round::Ask(ask)) => return Ok(ask.into()),
            Some(Round::Done(text)) => {
                json!({ "resultType": "complete", "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] })
            }
            None => {
                let arguments = request.arguments.unwrap_or_default();
                let argument =
                    |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                listing::messages(&request.name, argument)
                    .ok_or_else(|| ErrorData::invalid_params("there is no such prompt", None))?
            }
        };
        Ok(typed::<rmcp::model::GetPromptResult>(messages)?.into())
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        typed(
            json!({ "resultType": "complete", "completion": { "values": ["paris", "park", "party"], "total": 3, "hasMore": false } }),
        )
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}
