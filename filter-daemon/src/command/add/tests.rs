//! Tests the answers of `filterd add` word for word.

use super::*;

fn add(words: &[&str], ttl: Option<&str>) -> Add {
    let targets = words.iter().map(ToString::to_string).collect();
    let ttl = ttl.map(|word| word.parse().unwrap());
    Add { addition: Addition { targets, ttl, ..Addition::default() }, direction: "in".into(), wide: false }
}

fn told(words: &[&str], ttl: Option<&str>, numbers: [u64; 3]) -> String {
    told_with(words, ttl, numbers, vec![])
}

fn told_with(
    words: &[&str],
    ttl: Option<&str>,
    [named, changed, entered]: [u64; 3],
    longer: Vec<Entry>,
) -> String {
    let changed = Changed { named, changed, entered, longer, ..Changed::default() };
    told_all(&add(words, ttl), &outcome(words, changed))
}

fn outcome(words: &[&str], changed: Changed) -> ChangeOutcome {
    let first = words.iter().filter_map(|word| word.parse().ok()).collect();
    ChangeOutcome { changed, first, ..ChangeOutcome::default() }
}

fn told_all(add: &Add, outcome: &ChangeOutcome) -> String {
    let mut told = add.render(outcome, &Clock::standing(1_795_296_480));
    addition::remedies(outcome, "manual", "remove")
        .iter()
        .for_each(|remedy| told.push_str(&format!("\n{remedy}")));
    told
}

#[test]
fn passing_targets_are_not_called_blocked() {
    let idle = |idle| {
        let changed = Changed { named: 1, changed: 1, entered: 1, idle: Some(idle), ..Changed::default() };
        let (add, outcome) =
            (add(&["192.0.2.1"], None), ChangeOutcome { changed, ..ChangeOutcome::default() });
        (told_all(&add, &outcome), add.exit(&outcome))
    };
    let (told, exit) = idle(Idle::NothingAttached);
    let words = "listed 192.0.2.1, but nothing is dropped: filterd is attached to no interface (`filterd status` shows why)";
    assert_eq!((told.as_str(), exit), (words, Exit::Partly));
    let (told, exit) = idle(Idle::NotEnforced);
    let words = "listed 192.0.2.1; with `enforce: false` it is only counted";
    assert_eq!((told.as_str(), exit), (words, Exit::Done));
}

#[test]
fn partly_allowed_target_is_named() {
    let told = |words: &[&str], named| {
        let allowed_by = vec![entry("198.51.100.10", "office", None)];
        let changed = Changed { named, changed: named, entered: named, allowed_by, ..Changed::default() };
        told_all(&add(words, None), &outcome(words, changed))
    };
    let one = "a part of 198.51.100.0/24 is allowed, so not dropped\n\
               allowed by 198.51.100.10 of list `office`, permanent";
    for words in [&["198.51.100.0/24"][..], &["2001:db8::/48", "198.51.100.0/24"]] {
        assert!(told(words, words.len() as u64).ends_with(one), "{}", told(words, words.len() as u64));
    }
    let both = told(&["198.51.100.0/24", "198.51.0.0/16"], 2);
    assert!(
        both.contains("\nparts of 198.51.100.0/24, 198.51.0.0/16 are allowed, so not dropped\n"),
        "{both}"
    );
    assert!(told(&["-"], 9).contains("\na part of them is allowed"), "{}", told(&["-"], 9));
}

fn entry(target: &str, list: &str, until: Option<u64>) -> Entry {
    let (target, list) = (target.into(), list.into());
    Entry { target, list, since: 0, until, origin: Some("live".into()), ..Entry::default() }
}

#[test]
fn longer_block_is_reported_with_its_list() {
    let told = |numbers, longer| told_with(&["192.0.2.1"], Some("1h"), numbers, longer);
    let own = "192.0.2.1 is already blocked for longer: nothing was changed\n\
               stays blocked by list `manual`: expires 23:28 (in 2 h)\n\
               adding again only extends an entry; to shorten the one in list `manual`, pass --shorten";
    assert_eq!(told([1, 0, 0], vec![entry("192.0.2.1", "manual", Some(1_795_296_480 + 7200))]), own);
    let others = "192.0.2.1 was already blocked; list `manual` now holds it for 1 h\n\
                  stays blocked by list `drop`: permanent\n\
                  stays blocked by 192.0.2.0/24 of list `ssh`: permanent";
    let longer = vec![entry("192.0.2.1", "drop", None), entry("192.0.2.0/24", "ssh", None)];
    assert_eq!(told([1, 1, 0], longer.clone()), others);
    let added = "added 192.0.2.1 to list `manual` for 1 h, but it is blocked for longer\n\
                 stays blocked by list `drop`: permanent\n";
    assert!(told([1, 1, 1], longer).starts_with(added));
}

#[test]
fn note_changes_no_expiry_and_reports_none() {
    let longer = vec![entry("192.0.2.1", "manual", Some(1_795_296_480 + 7200))];
    let words = "192.0.2.1 is already blocked for longer: only its note was changed\n\
                 stays blocked by list `manual`: expires 23:28 (in 2 h)\n\
                 adding again only extends an entry; to shorten the one in list `manual`, pass --shorten";
    assert_eq!(told_with(&["192.0.2.1"], Some("3s"), [1, 1, 0], longer), words);
}

#[test]
fn target_expires_with_wider_entry_of_its_list() {
    let wider = || vec![entry("192.0.2.0/24", "manual", None)];
    let words = "added 192.0.2.1 to list `manual` for 1 h, but it is blocked for longer\n\
                 stays blocked by 192.0.2.0/24 of list `manual`: permanent\n\
                 to remove all of 192.0.2.0/24 from list `manual`: filterd remove 192.0.2.0/24 --list manual";
    assert_eq!(told_with(&["192.0.2.1"], Some("1h"), [1, 1, 1], wider()), words);
    let again = told_with(&["192.0.2.1"], Some("1h"), [1, 0, 0], wider());
    assert!(!again.contains("--shorten"), "{again}");
    // The same target, written differently.
    let itself =
        told_with(&["192.0.2.1/32"], Some("1h"), [1, 0, 0], vec![entry("192.0.2.1", "manual", None)]);
    assert!(itself.contains("stays blocked by list") && itself.contains("--shorten"), "{itself}");
}

#[test]
fn shortened_entry_is_reported_as_changed() {
    let mut shorten = add(&["192.0.2.1"], Some("10m"));
    shorten.addition.shorten = true;
    let changed = Changed { named: 1, changed: 1, ..Changed::default() };
    let words = "the entry of 192.0.2.1 in list `manual` now expires in 10 min";
    assert_eq!(told_all(&shorten, &outcome(&["192.0.2.1"], changed)), words);
}

#[test]
fn the_answer_says_what_changed() {
    assert_eq!(told(&["192.0.2.1"], None, [1, 1, 1]), "blocked 192.0.2.1");
    assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1, 1]), "blocked 192.0.2.1 for 2 h");
    let permanent = "192.0.2.1 is already blocked: list `manual` holds it permanently";
    assert_eq!(told(&["192.0.2.1"], None, [1, 0, 0]), permanent);
    let same = "192.0.2.1 is already blocked for that long by list `manual`";
    assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 0, 0]), same);
    let renewed = "192.0.2.1 was already blocked; list `manual` now holds it for 2 h";
    assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1, 0]), renewed);
    let many = "1,000 targets: 10 added, 5 already blocked, now held by list `manual` permanently, 985 already blocked";
    assert_eq!(told(&["-"], None, [1000, 15, 10]), many, "nobody has looked what else blocks them");
    assert_eq!(told(&["-"], None, [1, 1, 1]), "1 target: 1 newly blocked");
    assert_eq!(
        told(&["10.0.0.1-10.0.0.2"], None, [2, 2, 2]),
        "10.0.0.1-10.0.0.2 (2 prefixes): 2 newly blocked"
    );
    assert_eq!(told(&["-"], None, [0, 0, 0]), "");
}

#[test]
fn earlier_block_is_not_claimed() {
    let wider = |list, until| entry("192.0.2.0/24", list, until);
    let told = |words: &[&str], ttl, [named, covered]: [u64; 2], covered_by, longer| {
        let (changed, entered) = (named, named);
        let changed = Changed { named, changed, entered, covered, covered_by, longer, ..Changed::default() };
        told_all(&add(words, ttl), &outcome(words, changed))
    };
    let by = vec![wider("drop", None)];
    let permanent = "added 192.0.2.1 to list `manual`; it was already blocked\n\
                     also blocked by 192.0.2.0/24 of list `drop`: permanent";
    assert_eq!(told(&["192.0.2.1"], None, [1, 1], by.clone(), vec![]), permanent);
    let ends = vec![wider("ssh", Some(1_795_296_480 + 3600))];
    let sooner = "added 192.0.2.1 to list `manual` for 2 h; it was already blocked\n\
                  also blocked by 192.0.2.0/24 of list `ssh`: expires 22:28 (in 1 h)";
    assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1], ends, vec![]), sooner);
    let longer = "added 192.0.2.1 to list `manual` for 2 h, but it is blocked for longer\n\
                  stays blocked by 192.0.2.0/24 of list `drop`: permanent";
    assert_eq!(told(&["192.0.2.1"], Some("2h"), [1, 1], by.clone(), by.clone()), longer);
    let many = "3 targets: 3 added\n2 of them also blocked by wider entries\n\
                also blocked by 192.0.2.0/24 of list `drop`: permanent";
    assert_eq!(told(&["-"], None, [3, 2], by, vec![]), many);
}
