//! How much of a long test runs.

/// `few` where an answer is wanted in minutes, and `all` in `cargo xtask test --all` and in soaks.
pub fn few_or<T>(few: T, all: T) -> T {
    if std::env::var_os("FILTERD_WHOLE").is_some() { all } else { few }
}
