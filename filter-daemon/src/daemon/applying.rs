//! The steps that reloads, rollbacks and refreshes have in common: to read files in another thread, to apply
//! what they say, and to save it.

use super::commit::CommitError;
use super::jobs::Turn;
use super::lists::ListToKeep;
use super::owner::Owner;
use super::reload::{AppliedReload, ListSources, RunningReload};
use crate::control::wire::reload::Reply as Reloaded;

/// Reads in another thread, with the knowledge of earlier readings.
pub async fn read<T: Send + 'static>(
    turn: &Turn<Owner>,
    read: impl FnOnce(&mut ListSources) -> T + Send + 'static,
) -> T {
    let mut sources = turn.now(|owner| owner.sources.readings.lend_sources());
    let reading = tokio::task::spawn_blocking(move || {
        sources.writes = true;
        (read(&mut sources), sources)
    });
    let read = reading.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    turn.next().await;
    turn.now(|owner| {
        owner.sources.readings.take_back(read.1);
        // Files of the guard may have changed meanwhile. Their addresses are allowed before anything is
        // blocked.
        owner.guard.look_at_files(&mut owner.core.protection);
    });
    read.0
}

/// Applies a reload that has begun, completely or not at all.
pub async fn apply(turn: &Turn<Owner>, mut reload: RunningReload) -> Result<AppliedReload, CommitError> {
    turn.now(|owner| owner.core.activity = Some("reloading"));
    let applied = reload.run(turn).await;
    turn.now(|owner| {
        owner.core.activity = None;
        let (blocklist, sources) = (owner.core.protection.blocklist_mut(), &mut owner.core.lists.sources);
        match applied {
            Ok(()) => Ok(reload.finish(blocklist, sources)),
            Err(error) => {
                reload.give_back(blocklist, sources);
                Err(error)
            }
        }
    })
}

/// Saves the generation with these lists. Returns when it is on disk, or the disk has refused it.
pub async fn save(turn: &Turn<Owner>, to_keep: Vec<ListToKeep>, reloaded: &mut Reloaded) {
    turn.now(|owner| owner.core.lists.save(owner.configuration.save_target(), to_keep));
    while turn.now(|owner| owner.core.lists.is_writing()) {
        turn.event().await;
    }
    turn.now(|owner| {
        reloaded.not_kept.extend(owner.core.lists.without_copies());
        reloaded.not_kept.extend(owner.core.lists.gone(owner.core.protection.blocklist()));
    });
}
