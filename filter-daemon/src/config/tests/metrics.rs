//! `metrics:`.

use super::{config, told};

#[test]
fn where_it_listens_and_by_which_names_is_said_in_one_section() {
    for (text, listen, hosts) in [
        ("metrics:\nblock: []", None, vec![]),
        ("metrics: {listen: 127.0.0.1:9477}", Some("127.0.0.1:9477"), vec![]),
        (
            "metrics: {listen: '[::1]:80', hosts: [Filter.Example.NET]}",
            Some("[::1]:80"),
            vec!["filter.example.net"],
        ),
        (
            "metrics:\n  listen: 0.0.0.0:9477\n  hosts:\n  - a_b\n  - c-d.e",
            Some("0.0.0.0:9477"),
            vec!["a_b", "c-d.e"],
        ),
    ] {
        let metrics = config(text).metrics;
        assert_eq!(metrics.listen.map(|address| address.to_string()).as_deref(), listen, "{text}");
        assert_eq!(metrics.hosts, hosts, "{text}");
    }
}

#[test]
fn what_is_no_address_and_no_name_is_told() {
    for (keys, expected) in [
        ("true", "`metrics` must be a map of keys, not true or false"),
        ("127.0.0.1:9477", "write {listen: 127.0.0.1:9477}"),
        ("{listen: 9477}", "`listen` must be text, not a number"),
        ("{listen: localhost:9477}", "`localhost:9477` is no address with a port"),
        ("{listen: 127.0.0.1}", "write it as in 127.0.0.1:9477"),
        ("{listen: 127.0.0.1:0}", "there is no port 0"),
        ("{listen: '::1:9477'}", "or \"[::1]:9477\""),
        ("{hosts: filter}", "`hosts` must be a list, not text"),
        ("{hosts: [filter:9477]}", "`filter:9477` is no name of a host"),
        ("{hosts: ['*']}", "write it as browsers are told it"),
        ("{hosts: [a..b]}", "`a..b` is no name of a host"),
        ("{listens: 127.0.0.1:9477}", "did you mean `listen`?"),
    ] {
        let told = told(format!("metrics: {keys}"));
        assert!(told.contains(expected), "{keys}: {told}");
    }
}
