//! What is not done and not asked.

/// The kinds of steps and checks that are left out: `FILTERD_LIFE_SKIP`, words with commas between them.
#[derive(Clone, Debug, Default)]
pub struct LeftOut(Vec<String>);

impl LeftOut {
    /// What the environment says.
    pub fn told() -> Self {
        let words = std::env::var("FILTERD_LIFE_SKIP").unwrap_or_default();
        Self(words.split(',').map(|word| word.trim().to_owned()).collect())
    }

    /// Is this kind left out?
    pub fn has(&self, kind: &str) -> bool {
        self.0.iter().any(|word| word == kind)
    }
}
