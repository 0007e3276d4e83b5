//! How a picture looks: its colours, how much of it there is room for, and lines that are broken between words.

use ratatui::style::{Color, Modifier, Style};

/// On a screen, things to be mended are shown in no more lines than these.
const MOST_TROUBLE: usize = 6;

/// And no more interfaces than these.
const MOST_INTERFACES: usize = 4;

/// How it looks: with colours, or without (`NO_COLOR`).
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub has_colours: bool,
    /// Whoever reads it later cannot ask for the rest: nothing is left out.
    is_whole: bool,
}

impl Look {
    /// On a screen.
    pub const fn on_a_screen(has_colours: bool) -> Self {
        Self { has_colours, is_whole: false }
    }

    /// In a file, or a pipe.
    pub const PAPER: Self = Self { has_colours: false, is_whole: true };

    /// Lines of what is to be mended.
    pub const fn most_trouble(self) -> usize {
        if self.is_whole { usize::MAX } else { MOST_TROUBLE }
    }

    /// Interfaces.
    pub const fn most_interfaces(self) -> usize {
        if self.is_whole { usize::MAX } else { MOST_INTERFACES }
    }

    /// Where there are colours.
    pub fn in_colour(self, colour: Color) -> Style {
        let style = Style::new();
        if self.has_colours { style.fg(colour) } else { style }
    }

    /// Packets may pass.
    pub fn bad(self) -> Style {
        self.in_colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// All is well.
    pub fn good(self) -> Style {
        self.in_colour(Color::Green).add_modifier(Modifier::BOLD)
    }

    /// Of a column.
    pub fn head() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// So many lines.
pub fn rows(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// On as many lines as it takes: half a remedy mends nothing.
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
