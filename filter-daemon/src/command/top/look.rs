//! Decides how a picture looks: its colours, how much is shown, and how lines are wrapped.

use ratatui::style::{Color, Modifier, Style};

/// At most this many lines of faults are shown on a screen.
const MOST_TROUBLE: usize = 6;

/// At most this many interfaces are shown on a screen.
const MOST_INTERFACES: usize = 4;

/// The look of a picture, with colours or without (`NO_COLOR`).
#[derive(Clone, Copy, Debug)]
pub struct Appearance {
    pub has_colours: bool,
    /// Whether everything is shown, because a later reader cannot ask for the rest.
    is_whole: bool,
}

impl Appearance {
    /// The look on a screen.
    pub const fn on_a_screen(has_colours: bool) -> Self {
        Self { has_colours, is_whole: false }
    }

    /// The look in a file or a pipe.
    pub const PAPER: Self = Self { has_colours: false, is_whole: true };

    /// The maximum number of lines for faults.
    pub const fn most_trouble(self) -> usize {
        if self.is_whole { usize::MAX } else { MOST_TROUBLE }
    }

    /// The maximum number of interfaces.
    pub const fn most_interfaces(self) -> usize {
        if self.is_whole { usize::MAX } else { MOST_INTERFACES }
    }

    /// The style for text in this colour, if colours are used.
    pub fn in_colour(self, colour: Color) -> Style {
        let style = Style::new();
        if self.has_colours { style.fg(colour) } else { style }
    }

    /// The style for a state in which packets may pass.
    pub fn bad(self) -> Style {
        self.in_colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The style for a state without faults.
    pub fn good(self) -> Style {
        self.in_colour(Color::Green).add_modifier(Modifier::BOLD)
    }

    /// The style of a column's head.
    pub fn head() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// Converts a count to a number of rows.
pub fn rows(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Wraps text to as many lines as needed, because a truncated remedy is useless.
pub fn whole(words: &str, indent: &str, width: u16) -> Vec<String> {
    let room = usize::from(width).saturating_sub(indent.len());
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}
