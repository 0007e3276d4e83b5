//! Tests with files in the registries' format, written for this purpose.

use super::*;

const FILE: &str = "2|apnic|20261120|5|19830613|20261119|+1000
# a comment
apnic|*|asn|*|1|summary
apnic|*|ipv4|*|4|summary
apnic|*|ipv6|*|2|summary
apnic|CN|asn|4608|1|20000101|allocated
apnic|CN|ipv4|1.0.1.0|256|20110414|allocated
apnic|CN|ipv4|1.0.2.0|512|20110414|allocated|A92E1062
apnic|JP|ipv4|1.0.16.0|4096|20110412|assigned|A92D9378
apnic||ipv4|1.1.0.0|256||available|
apnic|CN|ipv6|2001:250::|35|20000426|assigned|A91872ED|e-stats
apnic|CN|ipv6|2001:252::|32|20110331|reserved|
";

fn read_as(text: &str, country: &str) -> (Delegated, Vec<String>) {
    let mut spans = Spans::new(1000);
    let wanted: Country = country.parse().unwrap();
    let file = read(text.as_bytes(), |country| country == wanted, &mut spans).unwrap();
    spans.join();
    let mut lines = String::new();
    spans.lines().read_to_string(&mut lines).unwrap();
    (file, lines.lines().map(str::to_owned).collect())
}

#[test]
fn only_allocations_of_the_country_are_read() {
    let (file, networks) = read_as(FILE, "CN");
    assert_eq!(networks, ["1.0.1.0/24", "1.0.2.0/23", "2001:250::/35"]);
    assert_eq!((file.registry.as_str(), file.day, file.is_truncated()), ("apnic", Some(20_261_119), None));
    assert_eq!(file.built(), date::midnight(2026, 11, 19));
    assert_eq!(read_as(FILE, "JP").1, ["1.0.16.0/20"]);
}

#[test]
fn truncated_file_is_detected_by_count() {
    let end = FILE.find("apnic|CN|ipv6").unwrap();
    assert_eq!(read_as(&FILE[..end], "CN").0.is_truncated(), Some((4, 6)));
    assert_eq!(
        read_as(&FILE.replace("*|2|summary", "*|99999|summary"), "CN").0.is_truncated(),
        Some((6, 100_003))
    );
}

#[test]
fn lines_that_make_no_sense_are_passed_over() {
    for line in [
        "apnic|CN|ipv4|1.0.1.0|0|x|allocated",
        "apnic|CN|ipv4|255.255.255.0|257|x|allocated",
        "apnic|CN|ipv4|1.0.1.0|99999999999|x|allocated",
        "apnic|CN|ipv4|1.0.1.0|-1|x|allocated",
        "apnic|CN|ipv4|nonsense|1|x|allocated",
        "apnic|CN|ipv6|2001::1|32|x|allocated",
        "apnic|CN|ipv6|2001::|129|x|allocated",
        "apnic|CN|ipv6|1.0.0.0|32|x|allocated",
        "apnic|CN|ipv4|1.0.1.0|256",
        "apnic|CN|ipv4",
        "apnic|C\u{e9}|ipv4|1.0.1.0|256|x|allocated",
        "apnic|CN|ipv9|1.0.1.0|256|x|allocated",
        "|||||||",
    ] {
        let text = format!("2|apnic|20261120|1|0|20261120|+0\n{line}\n");
        assert_eq!(read_as(&text, "CN").1, [""; 0], "{line}");
    }
}

#[test]
fn a_file_is_known_by_its_first_line() {
    for (beginning, is) in [
        (FILE, true),
        ("# made today\n\n2.3|ripencc|1795219199|180000|19830705|20261119|+0100\n", true),
        ("2|apnic", false),
        ("203.0.113.7\n", false),
        ("", false),
        ("1|apnic|20261120|5|1|20261119|+1\n", false),
        ("2|AP NIC|20261120|5|1|20261119|+1\n", false),
    ] {
        assert_eq!(is_one(beginning.as_bytes()), is, "{beginning}");
    }
}

#[test]
fn invalid_day_is_ignored() {
    let day = |line: &str| header(line.as_bytes()).unwrap().day;
    assert_eq!(day("2|arin|20261120|5|19700101|00000000|-0500"), Some(20_261_120));
    assert_eq!(day("2|ripencc|1795219199|5|19700101|x|+0100"), None);
    assert_eq!(header(b"2|arin|0|5|0|20261399|-0500").unwrap().built(), None);
}
