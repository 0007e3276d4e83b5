//! Tests of a list's `ports` and `except_ports`.

use super::{config, told};

#[test]
fn a_list_says_on_which_ports_it_blocks() {
    let ports = |keys: &str| {
        let ports = config(&format!("lists: [{{name: a, path: a{keys}}}]")).lists[0].ports;
        ports.map(|clause| clause.to_string())
    };
    for (keys, expected) in [
        ("", None),
        (", ports: [22]", Some("on port 22 only")),
        (", ports: [8000-8100, 22]", Some("on ports 22, 8000-8100 only")),
        (", ports: ['22', 23, 24 - 30]", Some("on ports 22-30 only")),
        (", except_ports: [443]", Some("on all but port 443")),
    ] {
        assert_eq!(ports(keys).as_deref(), expected, "{keys}");
    }
    let many = (1..=33).map(|port| (2 * port).to_string()).collect::<Vec<_>>().join(", ");
    for (keys, expected) in [
        ("ports: 22", "`ports` must be a list, not a number"),
        ("ports: []", "`ports` is empty"),
        ("ports: [0]", "`ports` are numbers, not 0"),
        ("ports: [70000]", "write a number from 1 to 65535"),
        ("ports: [ssh]", "`ports` are numbers, not `ssh`"),
        ("ports: [8100-8000]", "did you mean 8000-8100?"),
        ("ports: ['8000:8100']", "did you mean 8000-8100?"),
        ("except_ports: [22-]", "`except_ports` are numbers, not `22-`"),
        ("ports: [22], except_ports: [443]", "both `ports` and `except_ports`"),
        ("ports: [22], allow: true", "a list that allows cannot have ports"),
        ("port: [22]", "did you mean `ports`?"),
        (&format!("ports: [{many}]"), "more than 32 ports and ranges"),
    ] {
        let told = told(format!("lists: [{{name: a, path: a, {keys}}}]"));
        assert!(told.contains(expected), "{keys}: {told}");
    }
}

#[test]
fn more_than_four_clauses_are_refused() {
    let list = |number: usize, keys: &str| format!("  - {{name: l{number}, path: a{number}, {keys}}}\n");
    let four: String = ["ports: [1]", "ports: [2]", "except_ports: [1]", "ports: [3-5]", "ports: [3, 4, 5]"]
        .iter()
        .enumerate()
        .map(|(number, keys)| list(number, keys))
        .collect();
    assert_eq!(config(&format!("lists:\n{four}")).lists.len(), 5);
    let told = told(format!("lists:\n{four}{}", list(9, "ports: [7]")));
    assert!(told.contains("at most 4 different `ports` and `except_ports` settings"), "{told}");
}
