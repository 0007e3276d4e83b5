//! Relative links in Markdown pages lead to files and headings that exist, and the site's table of contents names every page
//! of docs/. Links to other sites are not followed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use bpf_build::workspace;

use super::source;

/// Folders that hold pages, beside the root itself. Markdown elsewhere is a part of a generated page.
const FOLDERS: [&str; 3] = ["docs/", "tests/", "filter-ebpf/"];

/// One line for each link that leads nowhere.
pub fn complaints() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut pages = source::paths(&root, "md")?;
    pages.retain(|page| !page.contains('/') || FOLDERS.iter().any(|folder| page.starts_with(folder)));
    let mut complaints = unlisted(&root, &pages)?;
    for name in pages {
        let page = root.join(&name);
        let text = read(&page)?;
        let broken = links(&text).into_iter().filter(|(_, link)| !resolves(link, &page));
        complaints
            .extend(broken.map(|(line, link)| format!("{name}:{line}: this link leads nowhere: {link}")));
    }
    Ok(complaints)
}

/// Pages that the site would not have.
fn unlisted(root: &Path, pages: &[String]) -> Result<Vec<String>> {
    const SUMMARY: &str = "docs/SUMMARY.md";
    let listed = links(&read(&root.join(SUMMARY))?).into_iter().map(|(_, link)| format!("docs/{link}"));
    let listed: BTreeSet<_> = listed.collect();
    let is_unlisted =
        |page: &&String| page.starts_with("docs/") && *page != SUMMARY && !listed.contains(*page);
    Ok(pages.iter().filter(is_unlisted).map(|page| format!("{SUMMARY}: does not list {page}")).collect())
}

fn read(page: &Path) -> Result<String> {
    fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))
}

/// The relative links of a page, each with its line. Code has none.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in without_blocks(page) {
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let relative = targets.filter(|target| !target.contains(':') && !target.is_empty());
        links.extend(relative.map(|target| (number, target.to_owned())));
    }
    links
}

/// Lines outside of fenced blocks, with their numbers.
fn without_blocks(page: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let start = line.trim_start();
        let ticks = &start[..start.len() - start.trim_start_matches('`').len()];
        match fence {
            Some(open) if ticks == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => lines.push((number, line)),
        }
    }
    lines
}

/// Whether the file exists and, of a page, the heading.
fn resolves(link: &str, page: &Path) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = if file.is_empty() { page.to_owned() } else { page.with_file_name(file) };
    let is_page = file.extension().is_some_and(|kind| kind == "md");
    file.exists()
        && (heading.is_empty() || !is_page || read(&file).is_ok_and(|text| anchors(&text).contains(heading)))
}

/// The names that GitHub and mdBook give to the headings of a page. The second of the same name gets `-1`.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in without_blocks(page) {
        let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()) else {
            continue;
        };
        let name = anchor(heading);
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_prose_are_found() {
        let page = "[a](b.md) and [c](d.md#e), ![f](g.png)\n`[h](i.md)` [`j`](k.md)\n```text\n[l](m.md)\n```\n\
                    [n](https://example.net/) [o](#p) [q](r.md \"title\")\n";
        let found: Vec<_> = links(page).into_iter().map(|(line, link)| format!("{line} {link}")).collect();
        assert_eq!(found, ["1 b.md", "1 d.md#e", "1 g.png", "2 k.md", "6 #p", "6 r.md"]);
    }

    #[test]
    fn headings_have_the_names_of_github() {
        let page = "# filterd's `add`: a/b, c-d_e\n## X\n```sh\n# no heading\n```\n## X\n";
        let expected = ["filterds-add-ab-c-d_e", "x", "x-1"].map(str::to_owned);
        assert_eq!(anchors(page), expected.into());
    }

    #[test]
    fn files_and_headings_must_exist() {
        let page = workspace::root().join("docs/README.md");
        assert!(resolves("../README.md", &page));
        assert!(resolves("../README.md#install", &page));
        assert!(resolves("../configs", &page));
        assert!(!resolves("../README.md#uninstall", &page));
        assert!(!resolves("no-such-page.md", &page));
        assert!(!resolves("#no-such-heading", &page));
    }

    #[test]
    fn all_of_ours_lead_somewhere() {
        assert_eq!(complaints().unwrap(), Vec::<String>::new());
    }
}
