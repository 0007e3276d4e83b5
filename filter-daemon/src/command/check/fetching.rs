//! Fetches lists as the daemon does, to check them, and discards the content afterwards.

use std::io;
use std::path::Path;

use crate::config::secret::{self, SystemdCredentials};
use crate::config::{Feed, ListConfig};
use crate::fetch::{FetchOrder, Fetched, Fetcher};
use crate::source::file::FileError;
use crate::source::{ListFile, list};
use crate::text::{Explain, Explanation};

/// The fetcher, started when the first list needs it.
#[derive(Default)]
pub struct Fetching(Option<Fetcher>);

impl Fetching {
    /// Fetches the current content of this list.
    pub fn read(&mut self, list: &ListConfig, feed: &Feed) -> Result<ListFile, FileError> {
        let body = self.fetch(list, feed).map_err(|told| cannot(&list.path, told))?;
        let Fetched::Body(body) = body else {
            return Err(cannot(&list.path, "its server says that nothing changed".into()));
        };
        let content_type = body.content_type.clone();
        let file = list::parse(&list.path, body, list.limits.max_entries, &list.how)?;
        Ok(file.fetched(content_type.as_deref()))
    }

    fn fetch(&mut self, list: &ListConfig, feed: &Feed) -> Result<Fetched, Explanation> {
        let credentials = feed
            .auth
            .as_ref()
            .map(|auth| secret::credentials(auth, &SystemdCredentials::by_systemd()))
            .transpose()?;
        let fetcher = match &self.0 {
            Some(fetcher) => fetcher,
            None => {
                let cannot = |error: io::Error| Explanation::from(format!("cannot fetch: {error}"));
                self.0.insert(Fetcher::start(None, &["--quiet"]).map_err(cannot)?)
            }
        };
        let order = FetchOrder {
            url: feed.url.clone(),
            etag: None,
            last_modified: None,
            credentials,
            insecure: feed.insecure,
            allow_private: feed.allow_private,
            own: Vec::new(),
            most_bytes: list.limits.most_bytes(),
            patience: feed.timeout,
            api: None,
        };
        fetcher.fetch(order).map_err(|error| error.explain())
    }
}

fn cannot(path: &Path, told: Explanation) -> FileError {
    let path = path.into();
    match told {
        Explanation { message: why, remedy: Some(remedy) } => FileError::Unusable { path, why, remedy },
        Explanation { message, remedy: None } => {
            FileError::Unreadable { path, source: io::Error::other(message) }
        }
    }
}
