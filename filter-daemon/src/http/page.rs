//! The page at `/`, one self-contained file. Its script and style carry a nonce that cannot be predicted,
//! so nothing runs that a name or message brought into the page.

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};

use super::answer::{HttpAnswer, whole};

const PAGE: &str = include_str!("page.html");

/// The placeholder of the nonce in the page.
const PLACE: &str = "{nonce}";

/// The page with a fresh nonce.
pub fn answer() -> HttpAnswer {
    let random = || getrandom::u64().expect("the kernel always has random numbers once it has booted");
    let word = format!("{:016x}{:016x}", random(), random());
    let mut answer = whole(StatusCode::OK, "text/html; charset=utf-8", PAGE.replace(PLACE, &word));
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy(&word));
    answer
}

/// The policy of the page: it may run its own script and connect to its own origin. Strings cannot become
/// markup or code.
fn policy(word: &str) -> HeaderValue {
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{word}'; style-src 'nonce-{word}'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    HeaderValue::from_str(&policy).expect("it has only letters that a header may have")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_loads_nothing_external() {
        let elsewhere =
            ["src=", "href=", "url(", "@import", "import(", "fetch(", "innerHTML", "style=", "onclick="];
        for word in elsewhere {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert_eq!(PAGE.matches(PLACE).count(), 2, "a style and a script bear the word");
    }

    #[test]
    fn each_page_has_its_own_nonce() {
        let policies = [answer(), answer()].map(|answer| answer.headers()[CONTENT_SECURITY_POLICY].clone());
        assert_ne!(policies[0], policies[1]);
        assert!(!policies[0].to_str().unwrap().contains("unsafe"));
    }
}
