//! Tests of the LAPIs of CrowdSec.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{config, told};
use crate::config::{Config, LapiConfig, LapiCredential, Secret};

const KEY: &str = "api_key: {file: secrets/crowdsec}";

fn lapis(text: &str) -> Vec<LapiConfig> {
    config(&format!("crowdsec: {text}")).crowdsec
}

/// A LAPI on this host with these keys besides.
fn local(keys: &str) -> LapiConfig {
    lapis(&format!("{{api_url: 'http://127.0.0.1:8080', {KEY}, {keys}}}")).remove(0)
}

fn refused(keys: &str) -> String {
    told(format!("crowdsec: {{{keys}}}"))
}

#[test]
fn url_and_key_suffice() {
    let lapi = &lapis(&format!("{{api_url: 'http://127.0.0.1:8080/', {KEY}}}"))[0];
    let expected = LapiConfig {
        name: "main".to_owned(),
        url: "http://127.0.0.1:8080".parse().unwrap(),
        credential: LapiCredential::Key(Secret::File("/etc/filterd/secrets/crowdsec".into())),
        frequency: Duration::from_secs(1),
        types: vec!["ban".to_owned()],
        origins: vec![],
        scopes: ["ip", "range", "as", "country"].map(str::to_owned).to_vec(),
        scenarios_containing: vec![],
        scenarios_not_containing: vec![],
        ports: None,
        database: vec![],
        max_shrink: 50,
        max_entries: 5_000_000,
        timeout: Duration::from_secs(120),
        authority: None,
    };
    assert_eq!(*lapi, expected);
    assert_eq!(local("types: [], origins: ~, scopes: []"), expected);
    assert_eq!(config("crowdsec:\nblock: []"), Config::default());
    assert_eq!(lapis("[]"), []);
}

#[test]
fn several_lapis_have_names() {
    let second = "{name: office, api_url: 'https://lapi.example/crowdsec', api_key: {credential: office}}";
    let lapis = lapis(&format!("[{{api_url: 'http://[::1]:8080', {KEY}}}, {second}]"));
    let names: Vec<_> = lapis.iter().map(|lapi| lapi.name.as_str()).collect();
    assert_eq!(names, ["main", "office"]);
    assert_eq!(lapis[1].url.as_text(), "https://lapi.example/crowdsec");
    assert_eq!(lapis[1].credential, LapiCredential::Key(Secret::Credential("office".to_owned())));
    assert_eq!(lapis.iter().map(|lapi| lapi.frequency.as_secs()).collect::<Vec<_>>(), [1, 10]);
}

#[test]
fn certificate_replaces_the_key() {
    let with = |key: &str| {
        let text = format!("{{api_url: 'https://lapi:8080', cert: tls/us.crt, key: {key}, ca: /etc/ca.crt}}");
        lapis(&text).remove(0)
    };
    let lapi = with("tls/us.key");
    let certificate = PathBuf::from("/etc/filterd/tls/us.crt");
    let key = Secret::File("/etc/filterd/tls/us.key".into());
    assert_eq!(lapi.credential, LapiCredential::Certificate { certificate: certificate.clone(), key });
    assert_eq!(lapi.authority.as_deref(), Some(Path::new("/etc/ca.crt")));
    assert_eq!(with("{file: tls/us.key}"), lapi);
    let key = Secret::Credential("us".to_owned());
    assert_eq!(with("{credential: us}").credential, LapiCredential::Certificate { certificate, key });
}

#[test]
fn filters_and_limits_are_taken() {
    let lapi = local(
        "update_frequency: 250ms, types: [Ban, captcha, ban], origins: ['lists:x', CAPI], scopes: [Ip, AS], \
         scenarios_containing: ssh, scenarios_not_containing: [http, test], database: [geo.mmdb, /x], \
         max_shrink: 10%, max_entries: 7, timeout: 5s",
    );
    assert_eq!(lapi.frequency, Duration::from_millis(250));
    assert_eq!((lapi.types, lapi.scopes), (words(&["ban", "captcha"]), words(&["ip", "as"])));
    assert_eq!(lapi.origins, words(&["lists:x", "CAPI"]));
    assert_eq!(lapi.scenarios_containing, words(&["ssh"]));
    assert_eq!(lapi.scenarios_not_containing, words(&["http", "test"]));
    assert_eq!(lapi.database, [Path::new("/etc/filterd/geo.mmdb"), Path::new("/x")]);
    assert_eq!((lapi.max_shrink, lapi.max_entries, lapi.timeout), (10, 7, Duration::from_secs(5)));
    for (said, seconds) in [("1h", 3600.0), ("90", 90.0), ("'500 ms'", 0.5), ("1m30s", 90.0)] {
        assert_eq!(local(&format!("update_frequency: {said}")).frequency.as_secs_f32(), seconds, "{said}");
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn filters_are_part_of_the_url() {
    let plain =
        "http://127.0.0.1:8080/v1/decisions/stream?startup=true&dedup=false&scopes=ip,range,as,country";
    assert_eq!(local("").decisions_url(true).unwrap().as_text(), plain);
    let lapi = local("scopes: ip, origins: [CAPI, 'lists:a&b'], scenarios_not_containing: ['é']");
    let url = "http://127.0.0.1:8080/v1/decisions/stream?startup=false&dedup=false&scopes=ip\
               &origins=CAPI,lists:a%26b&scenarios_not_containing=%C3%A9";
    assert_eq!(lapi.decisions_url(false).unwrap().as_text(), url);
    assert_eq!(lapi.metrics_url().unwrap().as_text(), "http://127.0.0.1:8080/v1/usage-metrics");
}

#[test]
fn invalid_lapis_are_reported() {
    let local = format!("api_url: 'http://127.0.0.1:8080', {KEY}");
    let https = "api_url: 'https://lapi:8080'";
    let long = ["x".repeat(100), "y".repeat(120)].map(|word| format!("{word}1, {word}2, {word}3, {word}4, "));
    let long = long.concat() + &["é".repeat(60), "ü".repeat(60), "ö".repeat(60), "ä".repeat(60)].join(", ");
    let many = (0..65).map(|number| format!("a{number}")).collect::<Vec<_>>().join(", ");
    let cases = [
        (String::new(), "this LAPI has no `api_url`", "write {api_url: http://127.0.0.1:8080"),
        (https.to_owned(), "this LAPI has neither `api_key` nor `cert`", "`sudo cscli bouncers add filterd`"),
        (KEY.to_owned(), "this LAPI has no `api_url`", ""),
        (format!("api_url: 8080, {KEY}"), "`api_url` must be text, not a number", ""),
        (
            format!("api_url: 'localhost:8080', {KEY}"),
            "neither http:// nor https://",
            "http://127.0.0.1:8080",
        ),
        (format!("api_url: 'http://a:b@127.0.0.1', {KEY}"), "a user name or password", "`api_key`"),
        (format!("api_url: 'http://127.0.0.1/?x', {KEY}"), "`api_url` cannot have a query", "from the ? on"),
        (
            format!("api_url: 'http://127.0.0.1:8080/v1/', {KEY}"),
            "before /v1",
            "write http://127.0.0.1:8080\n",
        ),
        (
            format!("api_url: 'http://127.0.0.1/a/v1/decisions/stream', {KEY}"),
            "before /v1",
            "write http://127.0.0.1/a\n",
        ),
        (format!("api_url: 'http://10.0.0.1:8080', {KEY}"), "over plain http to another host", "127.0.0.1"),
        (format!("api_url: 'http://127.1:8080', {KEY}"), "over plain http to another host", ""),
        (format!("{https}, api_key: [a]"), "`api_key` must be a map of keys, not a list", "{file: "),
        (format!("{https}, api_key: {{}}"), "`api_key` needs either a `file` or a `credential`", "{file: "),
        (format!("{https}, api_key: {{file: a, credential: b}}"), "needs either a `file` or a", ""),
        (format!("{https}, api_key: {{credential: a/b}}"), "a credential has a name, not a path", ""),
        (format!("{https}, api_key: {{path: a}}"), "unknown key `path`", "file, credential"),
        (format!("{https}, {KEY}, cert: a, key: b"), "both an `api_key` and a certificate", "remove"),
        (format!("{https}, {KEY}, key: b"), "both an `api_key` and a certificate", ""),
        (format!("{https}, cert: a"), "a `cert` without its `key`", "write `key: PATH`"),
        (format!("{https}, key: a"), "a `key` without its `cert`", "`api_key`"),
        (format!("{https}, cert: ~/a, key: b"), "~ is not expanded here", ""),
        ("api_url: 'http://127.0.0.1', cert: a, key: b".to_owned(), "certificate needs https", "https://"),
        (format!("{local}, ca: x"), "`ca` has no effect without https", "remove `ca`"),
        (format!("{local}, name: Office"), "`Office` cannot be the name of a LAPI", "1 to 12 of a-z"),
        (format!("{local}, name: thirteen_long"), "cannot be the name", ""),
        (format!("{local}, name: ''"), "cannot be the name", ""),
        (format!("{local}, name: cscli"), "the name `cscli` is reserved", "choose another"),
        (format!("{local}, name: lists-x"), "`crowdsec-lists` belongs to the LAPI `main`", ""),
        (format!("{local}, update_frequency: 100ms"), "`update_frequency` cannot be `100ms`", "250ms to 1h"),
        (format!("{local}, update_frequency: 2h"), "`update_frequency` cannot be `2h`", ""),
        (format!("{local}, update_frequency: ms"), "`update_frequency` cannot be `ms`", ""),
        (format!("{local}, types: [1]"), "`types` must be text, not a number", ""),
        (format!("{local}, origins: ['a,b']"), "`origins` cannot contain `a,b`", "as in [a, b]"),
        (format!("{local}, origins: [capi]"), "there is no origin `capi`", "did you mean CAPI?"),
        (format!("{local}, scopes: [session]"), "of the scope `session`", "use ip, range, as or country"),
        (format!("{local}, scopes: [contry]"), "of the scope `contry`", "did you mean country?"),
        (format!("{local}, scopes: [ASN]"), "of the scope `ASN`", "did you mean as?"),
        (format!("{local}, origins: [{many}]"), "`origins` has at most 64 words", "name fewer"),
        (format!("{local}, origins: [{long}], scenarios_containing: [{long}]"), "are too long", "4096 bytes"),
        (format!("{local}, database: []"), "`database` names 1 to 16 files, not 0", "GeoLite2-ASN.mmdb"),
        (format!("{local}, max_shrink: half"), "`max_shrink` cannot be `half`", ""),
        (format!("{local}, max_entries: 0"), "`max_entries` is a number of targets", ""),
        (format!("{local}, timeout: 2h"), "`timeout` cannot be `2h`", "1s to 1h"),
        (format!("{local}, ports: [22], except_ports: [80]"), "both `ports` and `except_ports`", "only one"),
        (format!("{local}, ports: [70000]"), "`ports` are numbers, not 70000", "1 to 65535"),
        (
            format!("{local}, ports: [10001, 10003, 10005, 10007, 10009]"),
            "the ports of a LAPI are too long",
            "join neighbours",
        ),
    ];
    for (keys, why, help) in cases {
        let told = refused(&keys) + "\n";
        assert!(told.contains(why) && told.contains(help), "{keys}: {told}");
    }
    for (text, why) in [
        ("crowdsec: true", "`crowdsec` must be a map of keys, or a list of maps, not true or false"),
        ("crowdsec: [main]", "or a list of maps, not text"),
        ("crowdsec: [1, 2, 3, 4, 5, 6, 7, 8, 9]", "`crowdsec` has at most 8 LAPIs"),
        ("crowdsek: {}", "did you mean `crowdsec`?"),
    ] {
        let told = told(text);
        assert!(told.contains(why), "{text}: {told}");
    }
}

#[test]
fn lapis_must_differ() {
    let lapi = |name: &str, key: &str| {
        format!("{{{name} api_url: 'http://127.0.0.1:8080', api_key: {{file: {key}}}}}")
    };
    let twice = |first: String, second: String| told(format!("crowdsec:\n- {first}\n- {second}"));
    let same_name = twice(lapi("", "a"), lapi("name: main,", "b"));
    assert!(same_name.starts_with("f.yaml:3:10: two LAPIs have the name `main`"), "{same_name}");
    let same_key = twice(lapi("", "a"), lapi("name: b, origins: [CAPI],", "a"));
    assert!(same_key.starts_with("f.yaml:3:3: `b` has the `api_url` and the key of `main`"), "{same_key}");
    assert!(same_key.ends_with("`sudo cscli bouncers add filterd-b`"), "{same_key}");
    assert_eq!(lapis(&format!("[{}, {}]", lapi("", "a"), lapi("name: b,", "b"))).len(), 2);
}

#[test]
fn keys_of_other_bouncers_are_recognized() {
    for (there, here) in [
        ("url: 'http://127.0.0.1:8080'", "api_url"),
        ("ca_cert_path: a", "ca"),
        ("cert_path: a", "cert"),
        ("key_path: a", "key"),
        ("only_include_decisions_from: [CAPI]", "origins"),
        ("include_scenarios_containing: [a]", "scenarios_containing"),
        ("exclude_scenarios_containing: [a]", "scenarios_not_containing"),
        ("supported_decisions_types: [ban]", "types"),
    ] {
        let told = refused(&format!("api_url: 'http://127.0.0.1:8080', {KEY}, {there}"));
        assert!(told.contains(&format!("help: filterd calls it `{here}`")), "{there}: {told}");
    }
    let told = refused(&format!("api_url: 'https://a', {KEY}, insecure_skip_verify: true"));
    assert!(told.contains("never skips the check of a certificate") && told.contains("`ca: PATH`"), "{told}");
    assert!(refused(&format!("api_url: 'https://a', {KEY}, update_frequenzy: 1s")).contains("did you mean"));
}

/// Errors reach terminals and logs.
#[test]
fn key_in_the_configuration_is_not_shown() {
    for text in [
        "crowdsec: {api_url: 'http://127.0.0.1:8080', api_key: 5E5A3E, x: 1}",
        "crowdsec: {api_key: \"5E5A3E\"}",
        "crowdsec:\n  api_url: http://127.0.0.1:8080\n  api_key: 5E5A3E # new\n",
        "crowdsec:\n  api_key: 'ü5E5A3E'\n  api_url: http://127.0.0.1:8080/\n",
        "crowdsec: {api_key: 5053, name: A}",
        "crowdsec: {api_url: 'https://a', cert: a, key: '-----BEGIN 5E5A3E'}",
    ] {
        let told = told(text);
        assert!(!told.contains("5E5A3E") && !told.contains("5053"), "{told}");
        assert!(told.contains("not the key itself") && told.contains("***"), "{told}");
    }
}

#[test]
fn names_of_lists_of_decisions_are_reserved() {
    for (name, owner) in [("crowdsec-capi", "CrowdSec"), ("fleet-a", "a fleet")] {
        for keys in ["path: x", "ipv6_prefix: 64"] {
            let told = told(format!("lists: [{{name: {name}, {keys}}}]"));
            assert!(
                told.contains(&format!("the name `{name}` is reserved: lists of {owner} begin with")),
                "{told}"
            );
        }
    }
    assert_eq!(config("lists: [{name: crowdsec, path: x}]").lists.len(), 1);
}
