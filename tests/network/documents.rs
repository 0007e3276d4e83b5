//! The commands and transcripts in README and docs/ work as they stand there. `harness::page` has the rules of their blocks.

mod figures;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use harness::{ATTACKER, ATTACKER6, BYSTANDER, Net, page};

/// Pages that are run together. A page belongs to the first group with which its path begins.
const GROUPS: [&str; 7] = [
    "README.md",
    "docs/tutorial/",
    "docs/how-to/migrate/",
    "docs/how-to/",
    "docs/reference/",
    "docs/explanation/",
    OTHERS,
];

const OTHERS: &str = "";

#[test]
fn readme_can_be_typed() {
    run(GROUPS[0]);
}

#[test]
fn tutorials_can_be_typed() {
    run(GROUPS[1]);
}

#[test]
fn migration_guides_can_be_typed() {
    run(GROUPS[2]);
}

#[test]
fn how_to_guides_can_be_typed() {
    run(GROUPS[3]);
}

#[test]
fn reference_pages_can_be_typed() {
    run(GROUPS[4]);
}

#[test]
fn explanations_can_be_typed() {
    run(GROUPS[5]);
}

#[test]
fn all_other_pages_can_be_typed() {
    run(OTHERS);
}

/// `FILTERD_PAGE=/path/page.md cargo test -p filterd-tests --test network -- --ignored one_page`
#[test]
#[ignore = "runs the page that FILTERD_PAGE names"]
fn one_page_can_be_typed() {
    let page = std::env::var_os("FILTERD_PAGE").expect("FILTERD_PAGE names a page");
    run_all(&[page.into()]);
}

#[test]
fn every_page_is_run_in_one_group() {
    assert!(all_pages().contains(&root().join("docs/tutorial/first-block.md")));
    let mut pages: Vec<_> = GROUPS.iter().flat_map(|group| pages_of(group)).collect();
    let mut all = all_pages();
    pages.sort();
    all.sort();
    assert_eq!(pages, all);
}

#[test]
fn blocks_shown_for_policy_deny_drop_both_families() {
    let pages = all_pages();
    let page = pages.iter().find(|page| page.ends_with("xdp-filter.md")).expect("there is a page");
    let page = read(page);
    let (_, behind) = page.split_once("`block: [").expect("it shows the key");
    let (block, _) = behind.split_once("]`").expect("and its end");
    let net = Net::with_filterd(&format!("block: [{block}]\nallow: [{BYSTANDER}]"));
    net.expect(ATTACKER).dropped();
    net.expect(ATTACKER6).dropped();
    net.expect(BYSTANDER).passes();
}

#[test]
fn unexpected_exit_codes_and_output_fail_a_page() {
    let net = Net::new();
    let error = |block: &str| net.run_page(block).expect_err(block);
    let sh = |text: &str| error(&format!("```sh\n{text}\n```\n"));
    let console = |text: &str| error(&format!("```console\n{text}\n```\n"));
    assert!(sh("true\nfalse # not mentioned").contains("exits with 1, not 0: false # not mentioned"));
    assert!(sh("true # exits with 1").contains("exits with 0, not 1"));
    assert!(sh("sudo filterd --iface nowhere0 --no-such-flag").contains("does not run: sudo filterd"));
    assert!(console("$ echo a\nb").contains("echo a\n-- writes:\na\n-- but the page shows:\nb"));
    assert!(console("$ echo a").contains("-- writes:\na"));
    assert!(console("^C").contains("nothing is in the foreground"));
}

#[test]
fn foreground_commands_write_what_a_page_shows() {
    let page = "```console\n$ sudo filterd --iface eth0\n…\n… ready: …\n```\n\
                ```console\n$ filterd add 203.0.113.7\n…\n$ peer-connects 203.0.113.7 22 3\n```\n\
                ```console\n$ filterd stats\n3 packets dropped, …\n…\n```\n\
                ```console\n^C\n… stopping …\n…\n$ filterd ping   # exits with 6\n…\n```\n";
    assert_eq!(Net::new().run_page(page), Ok(()));
    let error =
        Net::new().run_page(&page.replace("ready:", "asleep:")).expect_err("filterd writes no such line");
    assert!(error.contains("asleep"), "{error}");
}

#[track_caller]
fn run(group: &str) {
    run_all(&pages_of(group));
}

/// Each page on a host of its own, all at once.
#[track_caller]
fn run_all(pages: &[PathBuf]) {
    let errors: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = pages.iter().map(|page| scope.spawn(move || error_in(page))).collect();
        running.into_iter().filter_map(|page| page.join().expect("a page is run")).collect()
    });
    assert!(errors.is_empty(), "{}", errors.join("\n\n"));
}

fn error_in(page: &Path) -> Option<String> {
    let text = read(page);
    let has_steps = page::steps(&text).is_ok_and(|steps| !steps.is_empty());
    let done = if has_steps { Net::new().run_page(&text) } else { page::steps(&text).map(|_| ()) };
    done.err().map(|error| format!("{}: {error}", page.display()))
}

fn pages_of(group: &str) -> Vec<PathBuf> {
    let root = root();
    let is_in_group = |page: &PathBuf| {
        let page = page.strip_prefix(&root).expect("all pages are below the root").to_string_lossy();
        GROUPS.iter().find(|group| page.starts_with(**group)) == Some(&group)
    };
    all_pages().into_iter().filter(is_in_group).collect()
}

/// README and every page below docs/.
fn all_pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("cannot read {}: {error}", page.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace").to_owned()
}
