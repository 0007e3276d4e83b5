//! Tests of feeds with a fake fetcher.

use std::io::Cursor;
use std::sync::Mutex;

use super::fetching::{FetchResponse, ResponseBody};
use super::*;
use crate::blocklist::{Blocklist, Change, Polarity, Want};
use crate::config;
use crate::fetch::{FetchError, FetchOrder};
use crate::source::reading::SourceReadings;

/// The answer to the next fetch.
type Answer = Box<dyn Fn(&FetchOrder) -> Result<FetchResponse, FetchError> + Send>;

struct Place {
    state: tempfile::TempDir,
    feeds: Feeds,
    answer: Arc<Mutex<Answer>>,
    orders: Arc<Mutex<Vec<FetchOrder>>>,
}

const ONE: &str = "lists: [{name: ipsum, url: 'https://a.example/ipsum.txt?key=sesame', refresh: 1h}]";

fn config(text: &str) -> Config {
    config::parse(Path::new("/etc/filterd.yaml"), text.into()).unwrap_or_else(|error| panic!("{error}"))
}

fn body(bytes: &'static str) -> Result<FetchResponse, FetchError> {
    let from = (1..=12).map(|host| IpAddr::from([203, 0, 113, host])).collect();
    let bytes = Box::new(Cursor::new(bytes));
    Ok(FetchResponse::Body(ResponseBody {
        etag: Some("\"1\"".into()),
        last_modified: None,
        content_type: None,
        from,
        bytes,
    }))
}

impl Place {
    fn new(text: &str) -> Self {
        Self::at(tempfile::tempdir().unwrap(), text)
    }

    fn at(state: tempfile::TempDir, text: &str) -> Self {
        let answer: Arc<Mutex<Answer>> = Arc::new(Mutex::new(Box::new(|_| body("192.0.2.1\n"))));
        let orders = Arc::new(Mutex::new(Vec::new()));
        let mut feeds = Feeds::begin(state.path(), &config(text));
        let (says, hears) = (answer.clone(), orders.clone());
        let fetch: Arc<FetchFunction> = Arc::new(move |order: &FetchOrder| {
            hears.lock().unwrap().push(order.clone());
            says.lock().unwrap()(order)
        });
        feeds.go_by(FetchTools { fetch: Some(fetch), handed: Arc::default() });
        Self { state, feeds, answer, orders }
    }

    fn answers(&self, answer: impl Fn(&FetchOrder) -> Result<FetchResponse, FetchError> + Send + 'static) {
        *self.answer.lock().unwrap() = Box::new(answer);
    }

    /// Runs the fetches that are due, and returns the lists to read because of them.
    async fn fetch(&mut self) -> Vec<String> {
        self.feeds.mind(Vec::new);
        let mut lists = Vec::new();
        while !self.feeds.running.is_empty() {
            let came = self.feeds.fetched().await;
            lists.extend(self.feeds.note(came).into_iter().flat_map(|done| done.lists));
        }
        lists.iter().map(ToString::to_string).collect()
    }

    fn told(&self) -> Vec<String> {
        let faults = self.feeds.faults(&crate::blocklist::Blocklist::default(), &SourceReadings::default());
        faults.into_iter().map(|fault| fault.told.to_string()).collect()
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.state.path().join("feeds")).map_or(0, Iterator::count)
    }

    fn has(&self) -> Option<String> {
        let key = self.feeds.feeds.keys().next()?;
        std::fs::read_to_string(self.feeds.store.file(*key)).ok()
    }
}

#[tokio::test]
async fn new_feed_is_downloaded_at_once_then_scheduled() {
    let mut place = Place::new(ONE);
    assert_eq!(place.feeds.until_due(), Some(Duration::ZERO));
    assert!(place.told().is_empty(), "that it was not fetched yet is no fault");
    assert_eq!(place.fetch().await, ["ipsum"]);
    assert_eq!(place.has().as_deref(), Some("192.0.2.1\n"));
    let next = place.feeds.until_due().unwrap();
    assert!((3200..=4000).contains(&next.as_secs()), "{next:?}");
    assert!(place.fetch().await.is_empty(), "nothing is due");
    assert_eq!(place.orders.lock().unwrap()[0].etag, None);
}

#[tokio::test]
async fn next_daemon_asks_only_for_new_bytes() {
    let mut place = Place::new(ONE);
    place.fetch().await;
    let mut next = Place::at(place.state, ONE);
    assert!(next.feeds.until_due().unwrap() > Duration::from_secs(3000), "it is fresh");
    next.answers(|order| {
        assert_eq!(order.etag.as_deref(), Some("\"1\""));
        Ok(FetchResponse::Unchanged { from: vec![IpAddr::from([203, 0, 113, 99])] })
    });
    assert_eq!(next.feeds.ask(&["ipsum".into()]).len(), 1);
    assert_eq!(next.fetch().await, ["ipsum"]);
    assert_eq!(next.has().as_deref(), Some("192.0.2.1\n"));
    assert_eq!(next.feeds.facts().len(), 1);
}

#[tokio::test]
async fn failed_download_keeps_list_and_is_reported() {
    struct Breaks(bool);
    impl std::io::Read for Breaks {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(FetchError::BrokenOff { bytes: 1, why: "the line is gone".into() }.into());
            }
            into[0] = b'1';
            Ok(1)
        }
    }
    let mut place = Place::new(ONE);
    place.fetch().await;
    let breaks = |_: &FetchOrder| {
        let bytes = Box::new(Breaks(false));
        Ok(FetchResponse::Body(ResponseBody {
            etag: None,
            last_modified: None,
            content_type: None,
            from: Vec::new(),
            bytes,
        }))
    };
    place.answers(|_| Err(FetchError::Status(504, Some(Duration::from_secs(600)))));
    place.feeds.ask(&["ipsum".into()]);
    assert!(place.fetch().await.is_empty());
    let told = place.told().join("\n");
    assert!(told.contains("list \"ipsum\" cannot be fetched from https://a.example/ipsum.txt?…: "), "{told}");
    assert!(told.contains("504") && told.contains("filterd lists refresh ipsum"), "{told}");
    assert!(!told.contains("sesame"), "{told}");
    assert!(place.feeds.until_due().unwrap() > Duration::from_secs(590), "its server wants to be left alone");
    let again = Feeds::begin(place.state.path(), &config(ONE));
    let next = again.feeds.values().next().unwrap().next;
    assert!(clock::until(next) > Duration::from_secs(590), "the next filterd knows that, too");
    let told_again: Vec<_> = again.faults(&Blocklist::default(), &SourceReadings::default());
    assert_eq!(told_again.len(), 1, "and tells it");
    assert_eq!(told_again[0].told.to_string(), told);
    place.answers(breaks);
    place.feeds.ask(&["ipsum".into()]);
    assert!(place.fetch().await.is_empty());
    assert!(place.told().join("\n").contains("the line is gone"));
    assert_eq!((place.has().as_deref(), place.files()), (Some("192.0.2.1\n"), 2));
    place.answers(|_| body("192.0.2.2\n"));
    place.feeds.ask(&["ipsum".into()]);
    assert_eq!(place.fetch().await, ["ipsum"]);
    assert!(place.told().is_empty());
}

#[tokio::test]
async fn next_daemon_continues_with_failed_feed() {
    let mut place = Place::new(ONE);
    place.fetch().await;
    place.answers(|_| Err(FetchError::Status(404, None)));
    place.feeds.ask(&["ipsum".into()]);
    assert!(place.fetch().await.is_empty());
    let mut next = Place::at(place.state, ONE);
    let wait = next.feeds.until_due().unwrap().as_secs();
    assert!((12..=17).contains(&wait), "{wait}");
    assert!(next.told().join("\n").contains("404"), "{:?}", next.told());
    next.answers(|_| Err(FetchError::Status(404, None)));
    next.feeds.ask(&["ipsum".into()]);
    assert!(next.fetch().await.is_empty());
    let wait = next.feeds.until_due().unwrap().as_secs();
    assert!((26..=34).contains(&wait), "it was the second time: {wait}");
    next.answers(|_| Ok(FetchResponse::Unchanged { from: vec![] }));
    next.feeds.ask(&["ipsum".into()]);
    assert_eq!(next.fetch().await, ["ipsum"]);
    let last = Place::at(next.state, ONE);
    assert!(last.told().is_empty(), "it is well again");
    assert!(last.feeds.until_due().unwrap().as_secs() > 3000);
}

#[tokio::test]
async fn no_more_than_four_are_fetched_at_once() {
    let lists: Vec<_> =
        (0..6).map(|number| format!("{{name: l{number}, url: 'https://a.example/{number}'}}")).collect();
    let mut place = Place::new(&format!("lists: [{}]", lists.join(", ")));
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let answer: Arc<FetchFunction> = Arc::new(move |_: &FetchOrder| {
        _ = wait.lock().unwrap().recv();
        body("192.0.2.1\n")
    });
    place.feeds.go_by(FetchTools { fetch: Some(answer), handed: Arc::default() });
    place.feeds.mind(Vec::new);
    assert_eq!(place.feeds.running.len(), 4);
    assert_eq!(place.feeds.until_due(), None, "the others wait for one of these");
    drop(go_on);
    let came = place.feeds.fetched().await;
    place.feeds.note(came);
    assert_eq!(place.feeds.until_due(), Some(Duration::ZERO));
    place.fetch().await;
}

#[tokio::test]
async fn refresh_during_download_gets_a_later_one() {
    let mut place = Place::new(ONE);
    place.feeds.mind(Vec::new);
    place.feeds.ask(&["ipsum".into()]);
    let came = place.feeds.fetched().await;
    assert!(place.feeds.note(came).is_none(), "that had begun before");
    assert_eq!(place.feeds.until_due(), Some(Duration::ZERO));
    assert_eq!(place.fetch().await, ["ipsum"]);
}

#[tokio::test]
async fn eight_servers_are_guarded_for_a_day() {
    let mut place = Place::new(ONE);
    place.fetch().await;
    assert_eq!(place.feeds.facts().len(), 8);
    assert_eq!(place.feeds.facts()[0].what.to_string(), "list \"ipsum\" is fetched from it");
    let fed = place.feeds.feeds.values_mut().next().unwrap();
    let reached = fed.reached.as_mut().unwrap();
    reached.at = reached.at.later_by(-24 * 60 * 60);
    assert!(place.feeds.facts().is_empty());
}

#[tokio::test]
async fn servers_stay_guarded_while_host_is_named() {
    let mut place = Place::new(ONE);
    place.fetch().await;
    let other = ONE.replace("ipsum.txt", "gone.txt");
    place.feeds.follow(&config(&other));
    place.feeds.tidy();
    assert_eq!(place.feeds.facts().len(), 8);
    place.answers(|_| Err(FetchError::Status(404, None)));
    place.fetch().await;
    assert_eq!(place.feeds.facts().len(), 8);
    let mut next = Place::at(place.state, &other);
    assert_eq!(next.feeds.facts().len(), 8, "the next filterd knows them, too");
    let of_another = |name: &str| ONE.replace("ipsum,", &format!("{name},"));
    next.feeds.follow(&config(&of_another("other").replace("ipsum.txt", "other.txt")));
    assert!(next.feeds.facts().is_empty(), "that is another list");
    let mut last = Place::new(ONE);
    last.fetch().await;
    last.feeds.follow(&config(&ONE.replace("a.example/ipsum", "b.example/ipsum")));
    assert!(last.feeds.facts().is_empty(), "that is another host");
}

#[tokio::test]
async fn removed_feed_ends_and_changed_one_restarts() {
    let mut place = Place::new(ONE);
    place.fetch().await;
    place.feeds.follow(&config(&ONE.replace("ipsum,", "other,")));
    assert!(
        place.feeds.until_due().unwrap() > Duration::from_secs(3000),
        "a list that is renamed is the same"
    );
    place.feeds.follow(&config(&ONE.replace("1h", "2h")));
    assert_eq!(place.feeds.until_due(), Some(Duration::ZERO));
    place.feeds.follow(&config(&ONE.replace("sesame", "other")));
    place.feeds.tidy();
    assert_eq!((place.has(), place.files()), (None, 0), "with another key it is another feed");
}

#[tokio::test]
async fn shared_url_is_downloaded_once_with_larger_limit() {
    let two = "lists: [{name: b, url: 'https://a.example/', max_entries: 10}, {name: a, url: 'https://a.example/'}]";
    let mut place = Place::new(two);
    assert_eq!(place.fetch().await, ["a", "b"]);
    let orders = place.orders.lock().unwrap();
    assert_eq!(orders.len(), 1);
    assert!(orders[0].most_bytes > 1 << 29);
}

#[tokio::test]
async fn nothing_is_written_after_release() {
    let mut place = Place::new(ONE);
    place.feeds.let_go();
    assert!(place.fetch().await.is_empty());
    assert_eq!(place.files(), 0);
}

#[tokio::test]
async fn unwritable_state_directory_is_reported() {
    let mut place = Place::new(ONE);
    std::fs::write(place.state.path().join("feeds"), "").unwrap();
    assert!(place.fetch().await.is_empty());
    let told = place.told().join("\n");
    assert!(told.contains("cannot write the fetched list to the state directory"), "{told}");
    assert!(told.contains("check its free space"), "{told}");
    std::fs::remove_dir_all(place.state.path()).unwrap();
    place.feeds.ask(&["ipsum".into()]);
    assert!(place.fetch().await.is_empty());
    assert!(place.told().join("\n").contains("the state directory is missing"), "{:?}", place.told());
}

#[tokio::test]
async fn feed_changed_during_download_is_downloaded_again() {
    let mut place = Place::new(ONE);
    place.feeds.mind(Vec::new);
    place.feeds.follow(&config(&ONE.replace("1h", "2h")));
    let came = place.feeds.fetched().await;
    assert!(place.feeds.note(came).is_none(), "that was asked in the old words");
    assert_eq!(place.feeds.until_due(), Some(Duration::ZERO));
}

#[tokio::test]
async fn readded_feed_ignores_its_earlier_download() {
    let mut place = Place::new(ONE);
    let answer = place.answer.clone();
    {
        // Neither fetch gets its answer before both have begun.
        let _held = answer.lock().unwrap();
        place.feeds.mind(Vec::new);
        place.feeds.follow(&config("lists: []"));
        place.feeds.follow(&config(ONE));
        place.feeds.mind(Vec::new);
    }
    assert_eq!(place.feeds.running.len(), 2);
    let mut read = 0;
    while !place.feeds.running.is_empty() {
        let came = place.feeds.fetched().await;
        read += usize::from(place.feeds.note(came).is_some());
    }
    assert_eq!(read, 1);
}

#[tokio::test]
async fn a_server_that_filterd_blocks_is_named() {
    let blocks = |target: &str| {
        let mut blocklist = Blocklist::default();
        let targets = [target.parse().unwrap()].into_iter().collect();
        blocklist.apply(&Change::Want(Want::live("manual", Polarity::Block, targets)), clock::now()).unwrap();
        blocklist
    };
    let by_number = "lists: [{name: ipsum, url: 'https://198.51.100.7/ipsum.txt', refresh: 1h}]";
    // The first fetch of `body` comes from 203.0.113.1 to 203.0.113.12.
    for (text, blocked, expected) in [
        (ONE, "203.0.113.0/24", Some("`filterd test 203.0.113.1`")),
        (ONE, "203.0.113.9", Some("`filterd test 203.0.113.9`")),
        (ONE, "192.0.2.1", None),
        (by_number, "198.51.100.7", Some("`filterd test 198.51.100.7`")),
    ] {
        let mut place = Place::new(text);
        place.fetch().await;
        place.answers(|_| Err(FetchError::TooSlow { patience: Duration::from_secs(60), bytes: 0 }));
        place.feeds.ask(&["ipsum".into()]);
        place.fetch().await;
        let faults = place.feeds.faults(&blocks(blocked), &SourceReadings::default());
        let told = faults[0].told.to_string();
        assert_eq!(told.contains("filterd itself blocks"), expected.is_some(), "{told}");
        assert!(told.contains(expected.unwrap_or_default()), "{told}");
    }
}

#[tokio::test]
async fn held_back_download_is_retried_completely() {
    let mut place = Place::new(ONE);
    let mut waits = Vec::new();
    for _ in 0..3 {
        place.feeds.ask(&["ipsum".into()]);
        assert_eq!(place.fetch().await, ["ipsum"]);
        place.feeds.judge(["ipsum"].into_iter(), |list| list == "ipsum");
        waits.push(place.feeds.until_due().unwrap().as_secs());
        // A reload reads unchanged content again.
        place.feeds.judge(["ipsum"].into_iter(), |list| list == "ipsum");
        assert!(place.feeds.until_due().unwrap().as_secs() <= waits[waits.len() - 1]);
    }
    for (wait, about) in waits.iter().zip([15, 30, 60]) {
        // Within a tenth, and up to the end of that second.
        assert!((about * 9 / 10 - 1..=about * 11 / 10 + 1).contains(wait), "{waits:?}");
    }
    let tags: Vec<_> = place.orders.lock().unwrap().iter().map(|order| order.etag.clone()).collect();
    assert_eq!(tags, [None, None, None], "a gateway's tag says nothing of the list");
    place.feeds.ask(&["ipsum".into()]);
    place.fetch().await;
    place.feeds.judge(["other"].into_iter(), |list| list == "ipsum");
    place.feeds.judge(["ipsum"].into_iter(), |_| false);
    assert!(place.feeds.until_due().unwrap().as_secs() > 3000, "it is believed");
    place.feeds.ask(&["ipsum".into()]);
    place.fetch().await;
    assert_eq!(place.orders.lock().unwrap().last().unwrap().etag.as_deref(), Some("\"1\""));
}

#[tokio::test]
async fn next_daemon_respects_retry_after_without_bytes() {
    for (asked, waits) in [(Some(600), 590..=600), (None, 12..=17)] {
        let mut place = Place::new(ONE);
        place.answers(move |_| Err(FetchError::Status(429, asked.map(Duration::from_secs))));
        assert!(place.fetch().await.is_empty());
        let mut next = Place::at(place.state, ONE);
        assert!(waits.contains(&next.feeds.until_due().unwrap().as_secs()), "{:?}", next.feeds.until_due());
        next.feeds.ask(&["ipsum".into()]);
        assert_eq!(next.fetch().await, ["ipsum"]);
        let last = Feeds::begin(next.state.path(), &config(ONE));
        let next = last.feeds.values().next().unwrap().next;
        assert!(clock::until(next).as_secs() > 3000, "it came, and what was before counts no more");
    }
}

#[tokio::test]
async fn permission_of_one_list_does_not_extend() {
    let two = "lists: [{name: b, url: 'http://a.example/', allow_private: true}, {name: a, url: 'http://a.example/'}, \
               {name: c, url: 'http://a.example/', insecure: true}]";
    let mut place = Place::new(two);
    let mut came = place.fetch().await;
    came.sort();
    assert_eq!(came, ["a", "b", "c"]);
    let orders = place.orders.lock().unwrap();
    let mut allowed: Vec<_> = orders.iter().map(|order| (order.allow_private, order.insecure)).collect();
    allowed.sort();
    assert_eq!(allowed, [(false, false), (false, true), (true, false)]);
}
