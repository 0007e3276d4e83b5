//! The state of `top`, and how keys change it. It draws nothing, sends no requests, and reads no clock.

use std::collections::HashMap;

use super::history::History;
use crate::control::sources::{SampledSources, SourceOrder};
use crate::control::wire::lists::ListDetails;
use crate::control::wire::snapshot::Reply as Snapshot;

/// A key, as `top` uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    Letter(char),
    Up,
    Down,
    Enter,
    Backspace,
    Escape,
    /// Ctrl-C leaves in any state.
    Interrupt,
}

/// The action that a key requests.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyAction {
    Nothing,
    Leave,
    /// Run this command of filterd.
    Do(Vec<String>),
}

/// The order in which lists are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortOrder {
    #[default]
    Rate,
    Hits,
    Entries,
    Name,
    Configured,
}

impl SortOrder {
    const ALL: [Self; 5] = [Self::Rate, Self::Hits, Self::Entries, Self::Name, Self::Configured];

    /// The name of the order on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Hits => "hits",
            Self::Entries => "entries",
            Self::Name => "name",
            Self::Configured => "the configuration",
        }
    }

    fn next(self) -> Self {
        let place = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// The content of the largest part of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopView {
    #[default]
    Lists,
    Sources,
    Reasons,
}

impl TopView {
    const fn next(self) -> Self {
        match self {
            Self::Lists => Self::Sources,
            Self::Sources => Self::Reasons,
            Self::Reasons => Self::Lists,
        }
    }
}

/// The content of the last line.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Prompt {
    /// The keys that are available.
    #[default]
    Keys,
    /// All keys with explanations, over the picture.
    Help,
    /// The argument of this verb is typed: a target, or a length of time.
    Typing { verb: &'static str, typed: String },
    /// The user is asked to confirm a command.
    Sure(Vec<String>),
    /// The output of a command.
    Answer(String),
}

/// The whole state of `top`.
#[derive(Debug, Default)]
pub struct TopState {
    pub picture: Option<Snapshot>,
    before: Option<Snapshot>,
    /// Why there is no newer picture.
    pub lost: Option<String>,
    pub drops: History,
    pub passes: History,
    pub order: SortOrder,
    pub view: TopView,
    pub by: SourceOrder,
    pub sources: SampledSources,
    pub selected: usize,
    pub prompt: Prompt,
    /// The output of a command that ended while the user typed.
    untold: Option<String>,
}

/// No target is longer than this.
const LONGEST: usize = 100;

impl TopState {
    /// Takes a newer picture.
    pub fn take(&mut self, picture: Snapshot) {
        // After a gap there is no rate.
        let is_next = self.lost.take().is_none();
        self.before = self.picture.replace(picture).filter(|_| is_next);
        let (drops, passes) = (self.rate_of("drop"), self.rate_of("pass"));
        self.drops.push(drops);
        self.passes.push(passes);
    }

    /// Notes that there is no newer picture.
    pub fn lose(&mut self, why: String) {
        self.lost = Some(why);
        self.before = None;
        self.drops.push(None);
        self.passes.push(None);
    }

    /// Shows the output of a command. A user who types is not interrupted.
    pub fn answer(&mut self, said: String) {
        match self.prompt {
            Prompt::Keys | Prompt::Answer(_) => self.prompt = Prompt::Answer(said),
            Prompt::Help | Prompt::Typing { .. } | Prompt::Sure(_) => self.untold = Some(said),
        }
    }

    /// Packets per second with this verdict, if two pictures allow to calculate it.
    pub fn rate_of(&self, verdict: &str) -> Option<f64> {
        self.rate(|picture| {
            Some(picture.reasons.iter().filter(|row| row.verdict == verdict).map(|row| row.packets).sum())
        })
    }

    /// Packets per second that hit this list.
    pub fn rate_for(&self, name: &str) -> Option<f64> {
        self.rate(|picture| {
            let list = picture.lists.iter().find(|list| list.name == name)?;
            list.hits.map(|hits| hits.all())
        })
    }

    /// Packets per second that were dropped on this interface.
    pub fn rate_on(&self, name: &str) -> Option<f64> {
        self.rate(|picture| {
            let rows = picture.by_interface.iter().filter(|row| row.interface.as_deref() == Some(name));
            (!picture.by_interface.is_empty()).then(|| rows.map(|row| row.packets).sum())
        })
    }

    /// Packets per second that the kernel received on this interface.
    pub fn rate_received(&self, name: &str) -> Option<f64> {
        self.rate(|picture| {
            let interface = picture.interfaces.iter().find(|interface| interface.name == name)?;
            Some(interface.received.as_ref()?.kernel_rx_packets)
        })
    }

    /// Calculates a rate, unless the counter was reset in between.
    fn rate(&self, counter: impl Fn(&Snapshot) -> Option<u64>) -> Option<f64> {
        let (now, before) = (self.picture.as_ref()?, self.before.as_ref()?);
        let milliseconds = now.uptime.checked_sub(before.uptime).filter(|time| *time > 0)?;
        let more = counter(now)?.checked_sub(counter(before)?)?;
        (now.pid == before.pid).then(|| more as f64 * 1000.0 / milliseconds as f64)
    }

    /// Lists that block, in the chosen order, then lists that allow.
    pub fn lists(&self) -> Vec<&ListDetails> {
        let Some(picture) = &self.picture else { return Vec::new() };
        let mut lists: Vec<&ListDetails> = picture.lists.iter().collect();
        let rates: HashMap<&str, f64> =
            lists.iter().filter_map(|list| Some((list.name.as_str(), self.rate_for(&list.name)?))).collect();
        let rate = |list: &ListDetails| rates.get(list.name.as_str()).copied().unwrap_or(0.0);
        let hits = |list: &ListDetails| list.hits.map_or(0, |hits| hits.all());
        match self.order {
            SortOrder::Rate => {
                lists.sort_by(|a, b| rate(b).total_cmp(&rate(a)).then(hits(b).cmp(&hits(a))));
            }
            SortOrder::Hits => lists.sort_by_key(|list| std::cmp::Reverse(hits(list))),
            SortOrder::Entries => lists.sort_by_key(|list| std::cmp::Reverse(list.entries)),
            SortOrder::Name => lists.sort_by(|a, b| a.name.cmp(&b.name)),
            SortOrder::Configured => {}
        }
        lists.sort_by_key(|list| list.allows);
        lists
    }

    /// Handles a key, and returns the resulting action.
    pub fn press(&mut self, key: KeyPress) -> KeyAction {
        if key == KeyPress::Interrupt {
            return KeyAction::Leave;
        }
        let deed = self.press_on(key);
        if self.prompt == Prompt::Keys
            && let Some(said) = self.untold.take()
        {
            self.prompt = Prompt::Answer(said);
        }
        deed
    }

    fn press_on(&mut self, key: KeyPress) -> KeyAction {
        match std::mem::take(&mut self.prompt) {
            Prompt::Typing { verb, typed } => self.type_on(verb, typed, key),
            Prompt::Sure(words) if key == KeyPress::Letter('y') => return KeyAction::Do(words),
            Prompt::Sure(_) => self.prompt = Prompt::Answer("not done".to_owned()),
            Prompt::Keys | Prompt::Answer(_) => return self.browse(key),
            // Any key closes the help.
            Prompt::Help => {}
        }
        KeyAction::Nothing
    }

    fn browse(&mut self, key: KeyPress) -> KeyAction {
        match key {
            KeyPress::Letter('q') => return KeyAction::Leave,
            KeyPress::Letter('?' | 'h') => self.prompt = Prompt::Help,
            KeyPress::Letter('v') => (self.view, self.selected) = (self.view.next(), 0),
            KeyPress::Letter('s') if self.view == TopView::Sources => self.by = self.by.next(),
            KeyPress::Letter('s') => self.order = self.order.next(),
            KeyPress::Up | KeyPress::Letter('k') => self.selected = self.selected.saturating_sub(1),
            KeyPress::Down | KeyPress::Letter('j') => {
                self.selected = (self.selected + 1).min(self.rows().saturating_sub(1));
            }
            KeyPress::Letter('p') => {
                let is_paused = self.picture.as_ref().is_some_and(|picture| picture.paused.is_some());
                self.prompt = if is_paused {
                    Prompt::Sure(vec!["resume".to_owned()])
                } else {
                    Prompt::Typing { verb: "pause", typed: "5m".to_owned() }
                };
            }
            KeyPress::Letter('b') => {
                self.prompt = Prompt::Typing { verb: "add", typed: self.chosen_source() }
            }
            KeyPress::Letter('u') => {
                self.prompt = Prompt::Typing { verb: "remove", typed: self.chosen_source() }
            }
            KeyPress::Letter(_)
            | KeyPress::Enter
            | KeyPress::Backspace
            | KeyPress::Escape
            | KeyPress::Interrupt => {}
        }
        KeyAction::Nothing
    }

    /// The number of rows that can be selected.
    fn rows(&self) -> usize {
        match self.view {
            TopView::Lists => self.lists().len(),
            TopView::Sources => self.sources.by_source(self.by).len(),
            TopView::Reasons => self.sources.by_reason().len(),
        }
    }

    /// The address of the selected source; empty if none is selected.
    fn chosen_source(&self) -> String {
        if self.view != TopView::Sources {
            return String::new();
        }
        let sources = self.sources.by_source(self.by);
        sources.into_iter().nth(self.selected).map(|row| row.name).unwrap_or_default()
    }

    fn type_on(&mut self, verb: &'static str, mut typed: String, key: KeyPress) {
        match key {
            KeyPress::Escape => return,
            KeyPress::Enter if typed.trim().is_empty() => return,
            KeyPress::Enter => {
                self.prompt = Prompt::Sure(vec![verb.to_owned(), "--".to_owned(), typed.trim().to_owned()]);
                return;
            }
            KeyPress::Backspace => _ = typed.pop(),
            KeyPress::Letter(letter) if typed.len() < LONGEST && !letter.is_control() => typed.push(letter),
            KeyPress::Letter(_) | KeyPress::Up | KeyPress::Down | KeyPress::Interrupt => {}
        }
        self.prompt = Prompt::Typing { verb, typed };
    }
}
