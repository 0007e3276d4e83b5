//! Tests of lists that are fetched.

use std::time::Duration;

use super::{config, told};
use crate::config::{Auth, Scheme, Secret};

fn of(keys: &str) -> String {
    told(format!("lists: [{{name: feed, {keys}}}]"))
}

#[test]
fn url_replaces_the_path_of_a_list() {
    let list = &config("lists: [{name: feed, url: 'https://a.example/list.txt?key=1'}]").lists[0];
    let feed = list.feed.as_ref().unwrap();
    assert_eq!(list.path.to_str(), Some("https://a.example/list.txt?…"), "what may be a secret is not shown");
    assert_eq!((feed.refresh, feed.timeout), (Duration::from_secs(6 * 3600), Duration::from_secs(120)));
    assert_eq!((feed.insecure, feed.allow_private, &feed.auth), (false, false, &None));
    let said = "lists: [{name: feed, url: 'http://a/', refresh: 90m, timeout: 5, insecure: true, allow_private: true}]";
    let feed = config(said).lists[0].feed.clone().unwrap();
    assert_eq!((feed.refresh, feed.timeout), (Duration::from_secs(5400), Duration::from_secs(5)));
    assert_eq!((feed.insecure, feed.allow_private), (true, true));
}

#[test]
fn secret_is_in_file_or_credential() {
    let auth = |auth: &str| {
        let text = format!("lists: [{{name: feed, url: 'https://a/', auth: {auth}}}]");
        config(&text).lists[0].feed.clone().unwrap().auth.unwrap()
    };
    let file = Secret::File("/etc/filterd/key".into());
    let basic = Auth { scheme: Scheme::Basic("ann".into()), secret: file.clone() };
    assert_eq!(auth("{basic: ann, file: key}"), basic);
    assert_eq!(auth("{bearer: true, file: /etc/filterd/key}"), Auth { scheme: Scheme::Bearer, secret: file });
    let header =
        Auth { scheme: Scheme::Header("X-Api-Key".into()), secret: Secret::Credential("feed".into()) };
    assert_eq!(auth("{header: X-Api-Key, credential: feed}"), header);
}

#[test]
fn invalid_feed_settings_are_reported() {
    let cases = [
        ("path: a, url: 'https://a/'", "this list has both `path` and `url`"),
        ("url: ftp://a/", "`url` cannot be fetched: it begins with neither http:// nor https://"),
        ("url: 'https://ann:sesame@a/'", "it contains a user name or password"),
        ("url: 'https://a/', refresh: 5s", "`refresh` cannot be `5s`"),
        ("url: 'https://a/', refresh: often", "write 1m to 30d"),
        ("url: 'https://a/', timeout: 2h", "`timeout` cannot be `2h`"),
        ("url: 'https://a/', insecure: yes please", "`insecure` must be true or false"),
        ("path: a, refresh: 6h", "and this list has neither"),
        ("url: 'http://a/', auth: {bearer: true, file: x}", "a secret would be sent over plain http"),
        ("url: 'https://a/', auth: sesame", "`auth` must be a map of keys, not text"),
        ("url: 'https://a/', auth: {file: x}", "`auth` needs one of `basic`, `bearer` and `header`"),
        ("url: 'https://a/', auth: {basic: a, bearer: true, file: x}", "needs one of"),
        ("url: 'https://a/', auth: {basic: a}", "needs a `file` or a `credential`"),
        (
            "url: 'https://a/', auth: {basic: 'a:b', file: x}",
            "the user of `basic` cannot be empty or contain a colon",
        ),
        ("url: 'https://a/', auth: {header: 'a b', file: x}", "a header cannot have this name"),
        ("url: 'https://a/', auth: {bearer: true, credential: ../x}", "a credential has a name, not a path"),
        ("url: 'https://a/', auth: {password: x}", "unknown key `password`"),
        ("path: 'https://a/'", "write `url` in place of `path`"),
    ];
    for (keys, why) in cases {
        let told = of(keys);
        assert!(told.contains(why), "{keys}: {told}");
    }
    assert!(!told("lists: [{name: feed, urll: 'https://a/'}]").is_empty());
}
