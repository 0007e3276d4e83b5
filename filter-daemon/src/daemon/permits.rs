//! Reads which fetches the configuration names. The process that starts fetches does this itself, so that it
//! does not rely on the daemon. LAPIs of CrowdSec are fetched from, too.

use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::cli::Run;
use crate::config;
use crate::fetch::{Fetcher, Permit, PermitReader};

/// Without a configuration there are no feeds and no LAPIs.
const NO_CONFIGURATION: &str = "/dev/null";

/// A reader that reads this file each time.
pub fn read_from(configuration: PathBuf) -> PermitReader {
    Box::new(move || {
        let config = config::load(&configuration).ok()?;
        let feeds = config.lists.into_iter().filter_map(|list| list.feed);
        let feeds = feeds.map(|feed| Permit {
            url: feed.url,
            insecure: feed.insecure,
            allow_private: feed.allow_private,
            is_api: false,
        });
        let lapis = config.crowdsec.into_iter().map(|lapi| lapi.permit());
        Some(feeds.chain(lapis).collect())
    })
}

/// Starts the process that starts fetches. If the daemon stays root, that process runs as `nobody`, which may
/// not be able to read the configuration. In this case it fetches everything that the daemon orders.
pub fn start_fetcher(run: &Run) -> std::io::Result<Fetcher> {
    let (user, log) = (run.user.as_ref(), run.log.words());
    if user.map_or_else(geteuid, |user| user.uid).is_root() {
        return Fetcher::start(user, &log);
    }
    let configuration = std::path::absolute(run.config.path().unwrap_or(Path::new(NO_CONFIGURATION)))?;
    Fetcher::start_named_by(&configuration, user, &log)
}
