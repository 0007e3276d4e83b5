//! Unsafe code lies only in the files that `xtask/imports.toml` lists, and each listed file has some.

use super::rules::FILE;
use super::source::File;

/// One line for each unsafe file that is not listed, and for each listed one that is not unsafe.
pub fn complaints(files: &[File], listed: &[String]) -> Vec<String> {
    let unlisted = files.iter().filter(|file| !listed.contains(&file.path)).filter_map(|file| {
        let line = file.is_unsafe?;
        Some(format!("{}:{line}: unsafe code, but {FILE} does not list this file under [unsafe]", file.path))
    });
    let is_unsafe = |path: &str| files.iter().any(|file| file.path == path && file.is_unsafe.is_some());
    let idle = listed.iter().filter(|path| !is_unsafe(path));
    let idle = idle.map(|path| format!("{FILE}: {path} is listed under [unsafe], but holds no unsafe code"));
    unlisted.chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source;

    fn file(path: &str, text: &str) -> File {
        source::parse(path.to_owned(), text).unwrap()
    }

    fn listed() -> Vec<String> {
        ["a/maps.rs", "a/frame.rs"].map(str::to_owned).to_vec()
    }

    #[test]
    fn unlisted_unsafe_code_is_reported() {
        let files =
            [file("a/maps.rs", "unsafe {}"), file("a/frame.rs", "unsafe {}"), file("b.rs", "\nunsafe {}")];
        let expected = "b.rs:2: unsafe code, but xtask/imports.toml does not list this file under [unsafe]";
        assert_eq!(complaints(&files, &listed()), [expected]);
    }

    #[test]
    fn listed_files_without_unsafe_code_are_reported() {
        let files = [file("a/maps.rs", "unsafe {}"), file("a/frame.rs", "fn f() {}")];
        let expected = "xtask/imports.toml: a/frame.rs is listed under [unsafe], but holds no unsafe code";
        assert_eq!(complaints(&files, &listed()), [expected]);
    }
}
