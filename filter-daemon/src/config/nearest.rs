//! Finds the known word that is most similar to a misspelt one.

/// The word that was probably meant, if one is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No misspelt key is this long, and the cost of the distance is quadratic.
    if word.len() > 40 {
        return None;
    }
    let word = word.to_lowercase();
    let farness = |candidate: &str| if begins(candidate, &word) { 1 } else { distance(&word, candidate) };
    let (candidate, farness) =
        known.into_iter().map(|known| (known, farness(known))).min_by_key(|(_, far)| *far)?;
    (farness <= candidate.len().div_ceil(3)).then_some(candidate)
}

/// True for words such as `iface` and `blocklist`, whose distance to `interfaces` and `block` is large.
fn begins(candidate: &str, word: &str) -> bool {
    word.len() >= 3 && (candidate.starts_with(word) || word.starts_with(candidate))
}

/// The number of letters that must be changed, added, removed or swapped with a neighbour to get from `a` to
/// `b`: the optimal string alignment distance.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            rows[i][j] = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let keys = ["interfaces", "mode", "enforce", "block", "lists"];
        let table = [
            ("interface", "interfaces"),
            ("Interfaces", "interfaces"),
            ("intrefaces", "interfaces"),
            ("mdoe", "mode"),
            ("enforced", "enforce"),
            ("blocks", "block"),
            ("blocklist", "block"),
            ("list", "lists"),
        ];
        for (word, meant) in table {
            assert_eq!(nearest(word, keys), Some(meant), "{word}");
        }
    }

    #[test]
    fn distant_words_get_no_suggestion() {
        for word in ["", "x", "metrics", "address", &"block".repeat(100)] {
            assert_eq!(nearest(word, ["interfaces", "mode", "enforce", "block"]), None, "{word}");
        }
    }

    #[test]
    fn distances_are_counted_in_letters() {
        for (a, b, far) in
            [("", "", 0), ("", "abc", 3), ("abc", "abd", 1), ("abc", "acb", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), far, "{a} {b}");
        }
    }
}
