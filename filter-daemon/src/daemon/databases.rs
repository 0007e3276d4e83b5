//! Refreshes lists chosen from databases at the interval that each list sets, so that an updated database
//! needs no `filterd reload`. Each look is a refresh of the list, which does not read an unchanged file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::blocklist::Timestamp;
use crate::clock;
use crate::config::Config;

/// When each list is due for its next look.
#[derive(Default)]
pub struct Databases(BTreeMap<Arc<str>, DatabaseCheck>);

struct DatabaseCheck {
    every: Duration,
    next: Timestamp,
}

impl Databases {
    /// Takes over the lists of this configuration. A list whose interval is unchanged keeps its time.
    pub fn follow(&mut self, config: &Config) {
        let mut before = std::mem::take(&mut self.0);
        for list in &config.lists {
            let Some(every) = list.how.database.as_ref().and_then(|database| database.refresh) else {
                continue;
            };
            let name: Arc<str> = list.name.as_str().into();
            let look = before.remove(&name).filter(|look| look.every == every);
            self.0.insert(name, look.unwrap_or_else(|| DatabaseCheck { every, next: clock::after(every) }));
        }
    }

    /// The time until the next list is due.
    pub fn until_due(&self) -> Option<Duration> {
        self.0.values().map(|look| clock::until(look.next)).min()
    }

    /// Returns the lists that are due now, and sets the next time of each.
    pub fn take_due(&mut self) -> Vec<Arc<str>> {
        let due = self.0.iter_mut().filter(|(_, look)| clock::until(look.next).is_zero());
        let taken = due.map(|(name, look)| {
            look.next = clock::after(look.every);
            name.clone()
        });
        taken.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn following(lists: &str) -> Databases {
        let text = format!("lists: [{lists}]");
        let config = crate::config::parse(Path::new("f.yaml"), text.into()).unwrap();
        let mut databases = Databases::default();
        databases.follow(&config);
        databases
    }

    #[test]
    fn database_list_is_checked_whenever_due() {
        let mut databases = following(
            "{name: far, country: [CN], database: x, refresh: 1h}, {name: once, country: [CN], database: x}, \
             {name: plain, path: y}",
        );
        let left = databases.until_due().unwrap();
        assert!(left > Duration::from_secs(3500) && databases.take_due().is_empty(), "{left:?}");
        databases.0.values_mut().for_each(|look| look.next = Timestamp::default());
        assert_eq!(databases.until_due(), Some(Duration::ZERO));
        assert_eq!(databases.take_due(), ["far".into()]);
        assert!(databases.take_due().is_empty(), "it was just looked at");
        assert_eq!(following("{name: plain, path: y}").until_due(), None);
    }
}
