//! Many samples as three figures.

/// The middle half of some samples.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Figures {
    /// Those of `samples`, of which there is at least one.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |part: f64| samples[((samples.len() - 1) as f64 * part).round() as usize];
        Self { median: at(0.5), low: at(0.25), high: at(0.75) }
    }
}
