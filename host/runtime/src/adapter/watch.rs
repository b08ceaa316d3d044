//! Has an adapter listen to an upstream: `executor:adapter/watch`.

use executor_bindings::watch::exports::executor::adapter::watch::Subject;

use super::{Adapter, AdapterContext, AdapterError};
use crate::guest::{self, Usage};
use crate::limits::Limits;
use crate::seams::{self, AdapterSeam};
use crate::share::Share;

impl Adapter {
    /// Whether it listens.
    pub fn watches(&self) -> bool {
        self.roomy.watch.is_some()
    }

    /// Listens until the adapter ends that by itself, fails or breaks, or has
    /// used what one watch may use; says what it used. Dropping the future
    /// ends it.
    pub async fn watch(
        &self,
        share: &Share,
        context: AdapterContext,
        config: String,
        settings: String,
    ) -> (Result<(), AdapterError>, Usage) {
        let Some(watch) = &self.roomy.watch else {
            return (Ok(()), Usage::default());
        };
        let place = share.watch(&context.scope.trace).await;
        let limits = context.limits.clone().unwrap_or_else(Limits::adapter_watch);
        let seam = AdapterSeam::new(self.egress.clone(), self.processes.clone(), context, &limits);
        let mut store = guest::store(&self.roomy.engine, &limits, &self.meter, seam);
        let subject = Subject { config, settings, meta: None };
        let (result, usage) = guest::call(&self.identity.name, &limits, None, &mut store, async |store| {
            let watching = watch.instantiate_async(&mut *store).await?;
            watching.executor_adapter_watch().call_run(store, &subject).await
        })
        .await;
        store.data_mut().seam.ended(result.is_ok());
        guest::retire(store, place);
        let result = match result {
            Ok(ended) => ended.map_err(|failure| seams::failure(failure).into()),
            Err(broken) => Err(broken.into()),
        };
        (result, usage)
    }
}
