//! Draws one picture. Foreign text is sanitized before it is drawn.

use ratatui::Frame;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Sparkline, SparklineBar, Table};

use super::super::render::figure::count;
use super::super::render::hits::rate;
use super::super::render::moment::Clock;
use super::super::render::protection::{ProtectionInput, ProtectionLevel};
use super::foot::{self, KEYS};
use super::look::{Appearance, rows, whole};
use super::state::{Prompt, TopState, TopView};
use crate::control::sources::SourceOrder;
use crate::control::wire::lists::ListDetails;
use crate::control::wire::snapshot::{Reply as Snapshot, Sampled};
use crate::control::wire::status::{Interface, NOT_FILTERED};
use crate::text::printable;

/// The number of lines of a sparkline with its title.
const SPARK: u16 = 4;

/// From this width on, lists, sources and reasons are shown side by side.
const WIDE: u16 = 160;

/// At most this many sources are printed without a screen.
const MOST_SOURCES: usize = 10;

/// Returns the picture as text of this width, without the keys.
pub fn text(state: &TopState, clock: &Clock, width: u16) -> String {
    as_text(state, clock, Appearance::PAPER, (width, height(state, clock, width)))
}

/// Returns the picture as text, as on a screen or paper of this size.
pub fn as_text(state: &TopState, clock: &Clock, look: Appearance, (width, height): (u16, u16)) -> String {
    let Ok(mut terminal) = ratatui::Terminal::new(TestBackend::new(width, height));
    let draws = |frame: &mut Frame<'_>| draw(state, clock, look, frame);
    let Ok(done) = terminal.draw(draws);
    let buffer = done.buffer;
    let line = |y: u16| -> String {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_owned()
    };
    let lines: Vec<String> = (0..height).map(line).filter(|line| !line.starts_with(KEYS)).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The number of lines of a complete picture of this width.
fn height(state: &TopState, clock: &Clock, width: u16) -> u16 {
    let (head, troubles) =
        (head(state, clock, Appearance::PAPER, width), troubles(state, Appearance::PAPER, width));
    let interfaces = state.picture.as_ref().map_or(0, |picture| picture.interfaces.len());
    rows(head.len() + troubles.len() + interfaces + 1 + state.lists().len() + 2 + 1) + SPARK
}

/// Draws the picture into a frame.
pub fn draw(state: &TopState, clock: &Clock, look: Appearance, frame: &mut Frame<'_>) {
    let width = frame.area().width;
    let (heads, troubles) = (self::head(state, clock, look, width), troubles(state, look, width));
    let foot = foot::lines(state, look, width);
    let interfaces = state.picture.as_ref().map_or(0, |picture| picture.interfaces.len());
    let areas = Layout::vertical([
        Constraint::Length(rows(heads.len())),
        Constraint::Length(rows(troubles.len())),
        Constraint::Length(SPARK),
        Constraint::Length(rows(interfaces.min(look.most_interfaces()) + 1)),
        Constraint::Min(3),
        Constraint::Length(rows(foot.len())),
    ]);
    let [head, trouble, sparks, links, lists, prompt] = areas.areas(frame.area());
    frame.render_widget(Paragraph::new(heads), head);
    frame.render_widget(Paragraph::new(Text::from_iter(troubles)).style(look.bad()), trouble);
    let [drops, passes] = Layout::horizontal([Constraint::Percentage(50); 2]).spacing(2).areas(sparks);
    let red = look.in_colour(Color::Red);
    spark(frame, drops, "dropped", state.rate_of("drop"), state.drops.latest(drops.width.into()), red);
    let blue = look.in_colour(Color::Blue);
    spark(frame, passes, "passed", state.rate_of("pass"), state.passes.latest(passes.width.into()), blue);
    if let Some(picture) = &state.picture {
        frame.render_widget(self::links(state, picture, clock, look), links);
    }
    below(state, clock, frame, lists);
    frame.render_widget(Paragraph::new(foot), prompt);
    if state.lost.is_some() {
        // Marks the content as possibly outdated.
        for area in [trouble, sparks, links, lists] {
            frame.buffer_mut().set_style(area, Style::new().add_modifier(Modifier::DIM));
        }
    }
    if state.prompt == Prompt::Help {
        foot::help(frame);
    }
}

/// Draws lists, sources or reasons, or all of them if there is room.
fn below(state: &TopState, clock: &Clock, frame: &mut Frame<'_>, area: Rect) {
    if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Percentage(50); 2]).spacing(2).areas(area);
        let [sources, reasons] =
            Layout::vertical([Constraint::Percentage(70), Constraint::Percentage(30)]).areas(right);
        frame.render_widget(self::lists(state, clock, left.height), left);
        frame.render_widget(sampled_rows(state, TopView::Sources, sources.height), sources);
        frame.render_widget(sampled_rows(state, TopView::Reasons, reasons.height), reasons);
        return;
    }
    match state.view {
        TopView::Lists => frame.render_widget(self::lists(state, clock, area.height), area),
        view @ (TopView::Sources | TopView::Reasons) => {
            frame.render_widget(sampled_rows(state, view, area.height), area)
        }
    }
}

/// The table of sources or of reasons, estimated from samples.
fn sampled_rows(state: &TopState, view: TopView, height: u16) -> Table<'static> {
    let (samples, over) = (state.sources.samples(), state.sources.over().as_secs_f64().max(1.0));
    let (rows, what, by) = match view {
        TopView::Reasons => (state.sources.by_reason(), "Reasons", SourceOrder::Packets),
        TopView::Lists | TopView::Sources => (state.sources.by_source(state.by), "Sources", state.by),
    };
    let room = usize::from(height.saturating_sub(2));
    let selected = state.selected.min(rows.len().saturating_sub(1));
    let is_chosen = state.view == view;
    let from = if is_chosen { (selected + 1).saturating_sub(room) } else { 0 };
    let a_second = |sum: u64| sum as f64 / over;
    let row = |(place, row): (usize, &Sampled)| {
        let style = Style::new();
        let is_chosen = is_chosen && place == selected;
        let style = if is_chosen { style.add_modifier(Modifier::REVERSED) } else { style };
        let cells = [
            printable::on_one_line(&row.name),
            right(rate(a_second(row.packets)), 12),
            right(rate(a_second(row.bytes) * 8.0), 14),
            right(count(row.samples), 9),
            row.list.as_deref().map(printable::on_one_line).unwrap_or_default(),
        ];
        Row::new(cells).style(style)
    };
    let drawn: Vec<_> = rows.iter().enumerate().skip(from).take(room).map(row).collect();
    let widths = [
        Constraint::Min(20),
        Constraint::Length(12),
        Constraint::Length(14),
        Constraint::Length(9),
        Constraint::Length(16),
    ];
    let first = if view == TopView::Reasons { "reason" } else { "source" };
    let last = if view == TopView::Reasons { "" } else { "list" };
    let heads = [first, "  to drop/s", "        bit/s", "  samples", last];
    let title = match &state.sources.refused {
        Some(why) => format!("{what}: no samples: {}", printable::on_one_line(why)),
        None => format!("{what}, by {}, estimated from {} samples in {over:.0} s", by.name(), count(samples)),
    };
    let block = Block::new().borders(Borders::TOP).title(title);
    Table::new(drawn, widths).header(Row::new(heads).style(Appearance::head())).block(block)
}

/// Formats sources and reasons as text below a picture. Empty if nothing was dropped.
pub fn sampled(state: &TopState) -> String {
    let samples = state.sources.samples();
    if samples == 0 {
        return String::new();
    }
    let line = |row: &Sampled| {
        let list = row.list.as_deref().map(|list| format!("  {}", printable::on_one_line(list)));
        let (name, packets) = (printable::on_one_line(&row.name), count(row.packets));
        format!("\n{name:<40}{packets:>13}{}", list.unwrap_or_default())
    };
    let table = |rows: Vec<Sampled>| rows.iter().take(MOST_SOURCES).map(line).collect::<String>();
    let (sources, reasons) =
        (table(state.sources.by_source(SourceOrder::Packets)), table(state.sources.by_reason()));
    let samples = count(samples);
    format!(
        "\n\nDropped in one second, estimated from {samples} samples, by source{sources}\n\nby reason{reasons}"
    )
}

/// Describes the daemon, and whether protection is as configured.
fn head(state: &TopState, clock: &Clock, look: Appearance, width: u16) -> Vec<Line<'static>> {
    let Some(picture) = &state.picture else { return vec![Line::from("filterd top")] };
    let up = clock.elapsed(picture.started);
    let who = format!("filterd {}, pid {}, up {up}", picture.filterd, picture.pid);
    let (words, style) = match &state.lost {
        Some(why) => (format!("NO ANSWER for {}: {why}", clock.elapsed(picture.taken / 1000)), look.bad()),
        None => {
            let protection = ProtectionInput::of(picture);
            let style = match protection.standing() {
                ProtectionLevel::Well => look.good(),
                ProtectionLevel::Noteworthy => look.in_colour(Color::Yellow),
                ProtectionLevel::Bad => look.bad(),
            };
            (protection.told(clock), style)
        }
    };
    let words = whole(&printable::on_one_line(&words), "", width);
    [Line::from(who)].into_iter().chain(words.into_iter().map(|line| Line::styled(line, style))).collect()
}

/// The faults, each with its remedy.
fn troubles(state: &TopState, look: Appearance, width: u16) -> Vec<Line<'static>> {
    let faults = state.picture.iter().flat_map(|picture| &picture.faults);
    let lines = faults.flat_map(|fault| {
        let lines: Vec<String> = fault.told.lines().map(printable::on_one_line).collect();
        let indent = |place| if place == 0 { "" } else { "    " };
        let each = lines.iter().enumerate().flat_map(|(place, line)| whole(line, indent(place), width));
        each.collect::<Vec<_>>()
    });
    let mut lines: Vec<_> = lines.collect();
    let most = look.most_trouble();
    if lines.len() > most {
        let more = lines.len() + 1 - most;
        lines.truncate(most - 1);
        lines.push(format!("{more} more lines: see `filterd status`"));
    }
    lines.into_iter().map(Line::from).collect()
}

fn spark(
    frame: &mut Frame<'_>,
    area: Rect,
    what: &str,
    now: Option<f64>,
    figures: Vec<Option<u64>>,
    style: Style,
) {
    let most = figures.iter().flatten().max().copied().unwrap_or(0);
    let now = now.map_or_else(|| "?".to_owned(), rate);
    let title = format!("{what} {now}/s (peak {})", count(most));
    let block = Block::new().borders(Borders::TOP).title(title);
    let bars = figures.into_iter().map(SparklineBar::from);
    frame.render_widget(Sparkline::default().block(block).style(style).data(bars.collect::<Vec<_>>()), area);
}

fn links(state: &TopState, picture: &Snapshot, clock: &Clock, look: Appearance) -> Table<'static> {
    let row = |interface: &Interface| {
        let mode = if interface.mode == NOT_FILTERED { "NOT FILTERED" } else { interface.mode.as_str() };
        let a_second = |figure: Option<f64>| figure.map(rate).unwrap_or_default();
        // Both rates come from the same two pictures, or neither does. Rates over different times cannot be
        // compared.
        let (received, dropped) =
            match state.rate_received(&interface.name).zip(state.rate_on(&interface.name)) {
                None => (interface.packets_per_second, interface.drops_per_second),
                both => both.unzip(),
            };
        Row::new([
            printable::on_one_line(&interface.name),
            mode.to_owned(),
            interface.driver.clone().unwrap_or_default(),
            right(a_second(received), 12),
            right(a_second(dropped), 12),
            interface.up_since.map(|since| clock.elapsed(since)).unwrap_or_default(),
        ])
    };
    let widths = [15, 12, 12, 12, 12, 10].map(Constraint::Length);
    let (all, most) = (picture.interfaces.len(), look.most_interfaces());
    let first = if all > most { format!("{most} of {all}") } else { "interface".to_owned() };
    let heads = [first.as_str(), "mode", "driver", "  received/s", "   to drop/s", "up"].map(str::to_owned);
    Table::new(picture.interfaces.iter().take(most).map(row), widths)
        .header(Row::new(heads).style(Appearance::head()))
}

fn lists(state: &TopState, clock: &Clock, height: u16) -> Table<'static> {
    let lists = state.lists();
    // The selected row is always visible.
    let room = usize::from(height.saturating_sub(2));
    let selected = state.selected.min(lists.len().saturating_sub(1));
    let from = (selected + 1).saturating_sub(room);
    let row = |(place, list): (usize, &&ListDetails)| {
        let style = Style::new();
        let style = if place == selected { style.add_modifier(Modifier::REVERSED) } else { style };
        Row::new(cells(state, list, clock)).style(style)
    };
    let rows = lists.iter().enumerate().skip(from).take(room).map(row);
    let widths = [
        Constraint::Min(16),
        Constraint::Length(12),
        Constraint::Length(13),
        Constraint::Length(11),
        Constraint::Length(10),
        Constraint::Length(11),
    ];
    let heads = ["list", "     entries", "         hits", "     hits/s", "age", "state"];
    let until = lists.len().min(from + room);
    let part = match until - from.min(until) < lists.len() {
        true => format!(" ({} to {until} of {})", from + 1, lists.len()),
        false => String::new(),
    };
    let title = format!("Lists, by {}{part}", state.order.name());
    let block = Block::new().borders(Borders::TOP).title(title);
    Table::new(rows, widths).header(Row::new(heads).style(Appearance::head())).block(block)
}

fn cells(state: &TopState, list: &ListDetails, clock: &Clock) -> [String; 6] {
    let hits = list.hits.map(|hits| count(hits.all()));
    let word = match (&list.fault, &list.fetching) {
        (Some(_), _) => "not updated",
        (None, Some(fetching)) if fetching.failed.is_some() => "not fetched",
        _ if list.allows => "allows",
        _ => list.kind.as_str(),
    };
    [
        printable::on_one_line(&list.name),
        right(count(list.entries), 12),
        right(hits.unwrap_or_default(), 13),
        right(state.rate_for(&list.name).or(list.rate).map(rate).unwrap_or_default(), 11),
        list.written.or(list.read).map(|then| clock.elapsed(then)).unwrap_or_default(),
        word.to_owned(),
    ]
}

fn right(cell: String, width: usize) -> String {
    format!("{cell:>width$}")
}
