//! A fast parser for the form of nearly every line of a blocklist: `203.0.113.7`.

/// The address that is the whole line, except for a carriage return.
///
/// All other lines are left to the full parser, which also explains errors.
pub fn parse(line: &[u8]) -> Option<u32> {
    let (first, rest) = octet(line)?;
    let (second, rest) = octet(rest.strip_prefix(b".")?)?;
    let (third, rest) = octet(rest.strip_prefix(b".")?)?;
    let (fourth, rest) = octet(rest.strip_prefix(b".")?)?;
    matches!(rest, [] | [b'\r']).then_some(first << 24 | second << 16 | third << 8 | fourth)
}

/// A decimal number up to 255 without leading zeros, and the rest of the text.
#[inline(always)]
fn octet(text: &[u8]) -> Option<(u32, &[u8])> {
    let (mut number, mut rest) = match text {
        [first @ b'0'..=b'9', rest @ ..] => (u32::from(first - b'0'), rest),
        _ => return None,
    };
    while let [digit @ b'0'..=b'9', after @ ..] = rest
        && (1..=25).contains(&number)
    {
        (number, rest) = (number * 10 + u32::from(digit - b'0'), after);
    }
    (number <= 255).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn standard(text: &str) -> Option<u32> {
        text.parse().ok().map(Ipv4Addr::to_bits)
    }

    #[test]
    fn every_octet_is_read_and_nothing_beyond() {
        for number in 0..=1000 {
            let text = format!("1.{number}.{number}.4");
            assert_eq!(parse(text.as_bytes()), standard(&text), "{text}");
        }
    }

    #[test]
    fn only_a_whole_line_is_taken() {
        assert_eq!(parse(b"1.2.3.4\r"), Some(0x0102_0304));
        for line in [
            "1.2.3.4 ",
            " 1.2.3.4",
            "1.2.3.4/32",
            "1.2.3.4\r\r",
            "1.2.3",
            "1.2.3.4.5",
            "1..3.4",
            "",
            "01.2.3.4",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn parser_agrees_with_standard_library(text in "[0-9]{0,4}\\.[0-9]{0,4}\\.[0-9]{0,4}\\.[0-9./ ]{0,4}") {
            prop_assert_eq!(parse(text.as_bytes()), standard(&text));
        }
    }
}
