//! What is not done and not asked, where it is known to be wrong.

/// Known faults of filterd.
const FAULTS: [&str; 2] = ["never-loaded", "unsaved-stays"];

/// The kinds of steps and checks that are left out: `FILTERD_LIFE_SKIP`, words with commas between them, and known faults
/// unless `FILTERD_LIFE_FAULTS` is set.
#[derive(Clone, Debug, Default)]
pub struct LeftOut(Vec<String>);

impl LeftOut {
    /// What the environment says.
    pub fn told() -> Self {
        let words = std::env::var("FILTERD_LIFE_SKIP").unwrap_or_default();
        let faults = if std::env::var_os("FILTERD_LIFE_FAULTS").is_some() { &[][..] } else { &FAULTS };
        Self(words.split(',').chain(faults.iter().copied()).map(|word| word.trim().to_owned()).collect())
    }

    /// Is this kind left out?
    pub fn has(&self, kind: &str) -> bool {
        self.0.iter().any(|word| word == kind)
    }
}
