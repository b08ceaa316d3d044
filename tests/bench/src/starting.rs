//! From nothing to the first answer, and what is installed for it.

use anyhow::Result;

use crate::Context;
use crate::figures::{Measured, Row, reach};
use crate::rounds::{Plan, action, alternate};

const SERVE: &str = "`serve` to first answer, cache warm";
const BINARY: &str = "what is installed";

pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    // Components are compiled here, once for all homes.
    let home = context.homes.ours()?;
    let (first, _) = context.homes.start(&home)?;
    first.execute(&mut first.client()?, "return 'compiled'")?;
    drop(first);
    if !context.figures.begins("starting", &[SERVE, BINARY]) {
        return Ok(());
    }
    if context.figures.wants(SERVE) {
        let peer_home = context.homes.fresh()?;
        let plan = Plan { warm: 1, ..context.options.plan(1, 20.0) };
        let homes = &context.homes;
        let [ours, peer] = alternate(
            plan,
            [
                action(|_| Ok(homes.start(&home)?.1)),
                context.peer.clone().and_then(|peer| {
                    let peer_home = &peer_home;
                    action(move |_| Ok(peer.start(peer_home)?.1))
                }),
            ],
        );
        context.figures.add(Row::new(SERVE, "ms", ours).peer(peer).reach(reach(50.0)));
    }
    if context.figures.wants(BINARY) {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let ours = megabytes(std::fs::metadata(&context.options.executor)?.len());
        let peer = match &context.peer {
            Ok(peer) => peer.bytes().map(megabytes).into(),
            Err(reason) => Measured::Missing(reason.clone()),
        };
        let row = Row::new(BINARY, "MB", ours).peer(peer).reach(reach(70.0));
        context.figures.add(row.more("binary with everything; the peer's with its modules for one platform"));
    }
    Ok(())
}
