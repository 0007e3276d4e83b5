//! A fast parser for the form of nearly every line of an IPv6 blocklist: `2001:db8:1:2::/64`.

/// The network half of a /64 that is the whole line, except for a carriage return.
///
/// All other lines are left to the full parser, which also explains errors.
pub fn parse(line: &[u8]) -> Option<u64> {
    let (mut net, mut rest) = (0, line);
    for shift in [48, 32, 16, 0] {
        let (number, after) = group(rest)?;
        net |= number << shift;
        rest = after.strip_prefix(b":")?;
        if let Some(after) = rest.strip_prefix(b":") {
            return matches!(after, b"/64" | b"/64\r").then_some(net);
        }
    }
    None
}

/// A hexadecimal number of one to four digits, and the rest of the text.
#[inline(always)]
fn group(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut rest) = (digit(*text.first()?)?, &text[1..]);
    for _ in 1..4 {
        let Some((Some(next), after)) = rest.split_first().map(|(byte, after)| (digit(*byte), after)) else {
            break;
        };
        (number, rest) = (number << 4 | next, after);
    }
    Some((number, rest))
}

#[inline(always)]
fn digit(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}

#[cfg(test)]
mod tests {
    use filter_common::target::Target;
    use proptest::prelude::*;

    use super::*;

    fn standard(text: &str) -> Option<u64> {
        let Ok(Target::V6(prefix)) = text.parse() else { return None };
        (prefix.length() == 64).then_some((prefix.address() >> 64) as u64)
    }

    #[test]
    fn only_complete_lines_of_this_form_match() {
        assert_eq!(parse(b"2001:DB8:1:2::/64\r"), Some(0x2001_0db8_0001_0002));
        assert_eq!(parse(b"ffff::/64"), Some(0xffff_0000_0000_0000));
        for line in [
            "",
            ":",
            "::/64",
            "1:2:3:4:5::/64",
            "1:2:3:4:/64",
            "1:2:3:4::1/64",
            "12345::/64",
            "1::/65",
            "1::/64 ",
            " 1::/64",
            "1::/064",
            "g::/64",
            "1::/64\r\r",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn fast_parser_agrees_with_full_parser(text in "([0-9a-fA-F]{0,5}:){0,6}:?[0-9a-f]{0,1}/6[4-5]") {
            let read = parse(text.as_bytes());
            prop_assert!(read.is_none() || read == standard(&text), "{text}: {read:?}");
        }

        #[test]
        fn every_one_of_this_shape_is_taken(net in any::<u64>(), groups in 1..=4_u32) {
            let net = net & u64::MAX << (64 - 16 * groups);
            let text = format!("{}/64", std::net::Ipv6Addr::from(u128::from(net) << 64));
            let taken = parse(text.as_bytes());
            prop_assert!(taken == Some(net) || text.starts_with(':'), "{text}: {taken:?}");
        }
    }
}
