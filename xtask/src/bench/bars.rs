//! Bars as SVG, for the overview: dark on light or light on dark, as the reader's system prefers.

use std::fmt::Write;

/// One row of bars.
#[derive(Debug)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// The value as the table has it.
    pub shown: String,
}

const WIDTH: f64 = 720.0;
/// Where bars begin.
const LEFT: f64 = 230.0;
/// Room for the value of the longest bar.
const RIGHT: f64 = 90.0;
const ROW: f64 = 28.0;
const TOP: f64 = 44.0;

const STYLE: &str = "text{font:14px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.bar{fill:#8c959f}.own{fill:#0969da}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.own{fill:#58a6ff}}";

/// Draws the bars from the shortest to the longest. filterd's have a colour of their own.
pub fn draw(title: &str, mut bars: Vec<Bar>) -> String {
    bars.sort_by(|one, other| one.value.total_cmp(&other.value));
    let height = TOP + ROW * bars.len() as f64 + 8.0;
    let longest = bars.last().map_or(1.0, |bar| bar.value).max(f64::MIN_POSITIVE);
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{title}\">\n<style>{STYLE}</style>\n<text class=\"title\" x=\"8\" y=\"24\">{title}</text>\n"
    );
    for (bar, at) in bars.iter().zip(0_u32..) {
        let y = TOP + ROW * f64::from(at);
        let length = (WIDTH - LEFT - RIGHT) * bar.value / longest;
        let class = if bar.name.starts_with("filterd") { "bar own" } else { "bar" };
        _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.0}\" width=\"{:.1}\" \
             height=\"18\" rx=\"2\"/><text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            LEFT - 8.0,
            y + 14.0,
            escaped(&bar.name),
            y,
            length.max(1.0),
            LEFT + length.max(1.0) + 6.0,
            y + 14.0,
            escaped(&bar.shown)
        );
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, value: f64) -> Bar {
        Bar { name: name.to_owned(), value, shown: format!("{value} ns") }
    }

    #[test]
    fn bars_are_sorted_and_to_scale() {
        let svg = draw("A <frame>", vec![bar("nftables & co", 400.0), bar("filterd", 100.0)]);
        let widths: Vec<_> = svg
            .split("height=\"18\"")
            .filter_map(|part| part.rsplit_once("width=\""))
            .map(|(_, width)| width)
            .collect();
        assert_eq!(widths[..2], ["100.0\" ", "400.0\" "]);
        assert!(svg.find("filterd</text>") < svg.find("nftables &amp; co</text>"), "{svg}");
        assert!(svg.contains("A &lt;frame&gt;") && svg.contains("class=\"bar own\""), "{svg}");
        assert!(svg.contains("prefers-color-scheme:dark"), "{svg}");
    }

    #[test]
    fn missing_bars_draw_nothing() {
        let svg = draw("None", Vec::new());
        assert!(!svg.contains("<rect") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
