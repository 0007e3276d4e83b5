//! Draws the foot of the screen: the keys, the current input, or the output of a command.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use super::look::{Appearance, rows, whole};
use super::state::{Prompt, TopState};
use crate::text::printable;

/// An output of up to this many lines is shown completely.
const MOST: usize = 8;

/// The keys that are shown while no input is requested.
pub const KEYS: &str = "q leave  v view  s sort  p pause  b block  u unblock  ? keys";

const HELP: &str = "\
q, Ctrl-C   leave
up, down    choose a list, or a source
v           show lists, sources, or reasons
s           sort them another way
p           pause dropping for a while, or end a pause
b           block an address or a prefix
u           unblock one

Nothing is done before it was shown and `y` was pressed.
Any key goes on.";

/// Wraps text to as many lines as needed, so that the command to confirm, and the remedy in an output, are
/// completely visible.
pub fn lines(state: &TopState, look: Appearance, width: u16) -> Vec<Line<'static>> {
    let plain =
        |words: &str| -> Vec<Line<'static>> { whole(words, "", width).into_iter().map(Line::from).collect() };
    match &state.prompt {
        Prompt::Keys | Prompt::Help => vec![Line::from(KEYS)],
        Prompt::Typing { verb, typed } => {
            let what = match *verb {
                "add" => "block",
                "remove" => "unblock",
                _ => "pause for",
            };
            plain(&format!("{what}: {}_   (Enter goes on, Escape leaves it)", printable::on_one_line(typed)))
        }
        Prompt::Sure(words) => {
            let words = printable::on_one_line(&words.join(" "));
            let asked = whole(&format!("filterd {words}   sure? (y, or any other key)"), "", width);
            asked.into_iter().map(|line| Line::styled(line, look.bad())).collect()
        }
        Prompt::Answer(answer) => {
            let each = answer.lines().map(str::trim).filter(|line| !line.is_empty());
            let mut all: Vec<_> = each.flat_map(|line| plain(&printable::on_one_line(line))).collect();
            if all.len() > MOST {
                let more = all.len() + 1 - MOST;
                all.truncate(MOST - 1);
                all.push(Line::from(format!("{more} more lines: run the same command in a shell")));
            }
            all
        }
    }
}

/// Draws all keys on top of the picture.
pub fn help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (62.min(area.width), rows(HELP.lines().count() + 2).min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    let place = Rect { x, y, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title("Keys")), place);
}
