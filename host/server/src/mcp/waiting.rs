//! Executions that wait for a person, and clients that can ask theirs.
//!
//! Nobody's time is counted. Where the client, its session or the daemon goes
//! away while a person thinks, the execution waits on in the database.

use executor_control::{Capability, ExecutionView, InteractionView, Resume, ResumeAction};
use rmcp::model::{CallToolResponse, ElicitResult, ErrorData, InputRequests, InputRequiredResult};

use super::answer::{self, Form, WAITING};
use super::call::{Call, Refusal, Told};
use super::interaction::{Abilities, Said, input_request, question, said};
use super::progress;
use super::who::{Place, is_modern};

/// Answers with what became of an execution, after the client's user was asked
/// as often as it waits.
pub(super) async fn settle(
    call: &Call<'_>,
    place: &Place,
    mut view: ExecutionView,
    form: Form,
) -> Result<CallToolResponse, Refusal> {
    let abilities = Abilities::of(call.context, &place.caller);
    while view.status == WAITING {
        if is_modern(call.context) {
            return Ok(match requests(&view, abilities) {
                Some(requests) => InputRequiredResult::new(Some(requests), Some(view.id)).into(),
                None => answer::execution(view, &place.name, form).into(),
            });
        }
        let askable =
            |asked: &InteractionView| question(asked, abilities).map(|params| (asked.clone(), params));
        let Some((asked, params)) = view.interactions.iter().find_map(askable) else { break };
        let result = {
            let _telling = progress::tell(call.context, "waiting for your answer");
            tokio::select! {
                result = call.context.peer.create_elicitation(params) => result,
                () = call.cancelled() => return Err(call.cancel(place, Some(&view.id)).await),
                // Nobody is kept waiting by a daemon that ends.
                () = call.stopped() => break,
            }
        };
        let said = match result {
            Ok(result) => said(&asked, result),
            Err(error) => {
                tracing::debug!(%error, execution = view.id, "a client could not ask its user");
                Said::Nothing
            }
        };
        match resumed(call, place, &view.id, &asked, said).await? {
            Some(next) => view = next,
            None => break,
        }
    }
    Ok(answer::execution(view, &place.name, form).into())
}

/// Goes on with the answers that a client of the newest revision brings.
pub(super) async fn go_on(
    call: &Call<'_>,
    place: &Place,
    state: &str,
    form: Form,
) -> Result<CallToolResponse, Refusal> {
    let mut view = match place.workspace.execution(&place.caller, state).await {
        // The state is no secret: it leads on only for the client that began.
        Ok(view) if view.surface == place.caller.surface.as_str() && view.client == place.caller.client => {
            view
        }
        _ => {
            return Err(ErrorData::invalid_params(
                "the requestState is of no execution of this client",
                None,
            )
            .into());
        }
    };
    let mut dismissed = false;
    for (interaction, response) in &call.responses {
        let Some(asked) = view.interactions.iter().find(|asked| &asked.id == interaction).cloned() else {
            // Answered before, or never asked.
            continue;
        };
        let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|error| {
            ErrorData::invalid_params(
                format!("the response to {interaction} is no elicitation result: {error}"),
                None,
            )
        })?;
        let id = view.id.clone();
        match resumed(call, place, &id, &asked, said(&asked, result)).await? {
            Some(next) => view = next,
            None => dismissed = true,
        }
    }
    if dismissed {
        // Whoever closed the question is not asked again at once.
        return Ok(answer::execution(view, &place.name, form).into());
    }
    settle(call, place, view, form).await
}

/// All questions that the client can ask its user.
fn requests(view: &ExecutionView, abilities: Abilities) -> Option<InputRequests> {
    let askable = view.interactions.iter().filter_map(|asked| {
        question(asked, abilities).map(|params| (asked.id.clone(), input_request(params)))
    });
    let requests: InputRequests = askable.collect();
    (!requests.is_empty()).then_some(requests)
}

/// Goes on with what a person said; nothing where they said nothing.
async fn resumed(
    call: &Call<'_>,
    place: &Place,
    id: &str,
    asked: &InteractionView,
    said: Said,
) -> Result<Option<ExecutionView>, Refusal> {
    let (action, content, remember) = match said {
        // What was not offered was not said.
        Said::Yes { content, remember } => {
            (ResumeAction::Accept, content, remember && place.caller.may(Capability::Manage))
        }
        Said::No => (ResumeAction::Decline, None, false),
        Said::Nothing => return Ok(None),
    };
    let request = Resume { action, interaction: Some(asked.id.clone()), content, remember };
    let caller = place.caller.answered_by_person();
    let go_on = |told: Told| async move {
        // The id is known already: it is told once.
        let _ = told.set(id.to_owned());
        place.workspace.resume(&caller, id, request).await
    };
    Ok(Some(call.watch(place, go_on).await?))
}
