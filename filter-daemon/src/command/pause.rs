//! `filterd pause`: stops dropping for a while; listed packets are only counted.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use thiserror::Error;

use super::ask::trouble::CommandError;
use super::render::console::Console;
use super::render::moment::{self, Clock};
use crate::control::client::{Client, Endpoint};
use crate::control::wire::pause::Reply;
use crate::control::wire::words::LONGEST_PAUSE;
use crate::control::wire::{self, Idle};
use crate::exit::Exit;
use crate::text::quantity::{self, QuantityError};

#[derive(Debug, Args)]
pub struct Pause {
    /// How long: 90 (seconds), 10m, 2h, at most 24h
    #[arg(value_name = "TIME", default_value = "5m")]
    length: Length,
}

/// The length of a pause, from one second to one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Length(Duration);

/// Why a word is not a valid length of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
enum LengthError {
    #[error("write seconds, or numbers with h, m or s: 90, 10m, 2h, 1h30m")]
    Form,
    #[error("at least one second; `filterd resume` ends a pause")]
    Nothing,
    #[error("at most 24h; for longer set `enforce: false` in the configuration, then `filterd reload`")]
    TooLong,
}

impl FromStr for Length {
    type Err = LengthError;

    fn from_str(word: &str) -> Result<Self, LengthError> {
        match quantity::duration(word) {
            Ok(Duration::ZERO) => Err(LengthError::Nothing),
            Ok(length) if length > LONGEST_PAUSE => Err(LengthError::TooLong),
            Ok(length) => Ok(Self(length)),
            Err(QuantityError::Form) => Err(LengthError::Form),
            Err(QuantityError::TooLarge) => Err(LengthError::TooLong),
        }
    }
}

impl Pause {
    pub fn execute(&self, socket: &Endpoint, console: &mut Console) -> Result<Exit, CommandError> {
        let request = wire::Pause { seconds: self.length.0.as_secs() };
        let paused = Client::connect(socket)?.call(&request)?;
        let clock = console.clock();
        console.answer(&paused, |paused| render(self.length, paused, &clock))?;
        Ok(Exit::Done)
    }
}

fn render(length: Length, paused: &Reply, clock: &Clock) -> String {
    let (length, until) = (moment::length(length.0.as_secs()), clock.on_the_wall(paused.until));
    let before = match paused.before {
        Some(before) if before != paused.until => {
            format!(" (no longer until {})", clock.on_the_wall(before))
        }
        Some(_) | None => String::new(),
    };
    let anyway = match paused.idle {
        Some(Idle::NotEnforced) => "\nnothing is dropped without a pause either: `enforce: false`",
        Some(Idle::NothingAttached) => {
            "\nnothing is dropped without a pause either: filterd is attached to no interface (`filterd status` shows why)"
        }
        Some(Idle::Paused) | None => "",
    };
    format!(
        "paused for {length}, until {until}{before}: NOTHING IS DROPPED, packets from listed sources are only counted\n\
         to end it now: filterd resume    (stopping or starting filterd ends it too){anyway}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NOW is 2026-11-21 21:28:00 UTC.
    const NOW: u64 = 1_795_296_480;

    #[test]
    fn pause_lasts_a_second_to_a_day() {
        let length = |word: &str| word.parse::<Length>().map(|length| length.0.as_secs());
        for (word, seconds) in [("5m", 300), ("90", 90), ("1h30m", 5400), ("24h", 86_400), ("1d", 86_400)] {
            assert_eq!(length(word), Ok(seconds), "{word}");
        }
        assert_eq!(length("0"), Err(LengthError::Nothing));
        for word in ["86401", "2d", "99999999999999999999"] {
            assert_eq!(length(word), Err(LengthError::TooLong), "{word}");
        }
        for word in ["", "-5m", "5 minutes", "ever"] {
            assert_eq!(length(word), Err(LengthError::Form), "{word}");
        }
    }

    #[test]
    fn pause_reply_shows_end_and_resume_command() {
        let length = Length(Duration::from_secs(300));
        let told = |before| {
            let paused = Reply { until: NOW + 300, before, idle: None };
            render(length, &paused, &Clock::standing(NOW)).lines().next().unwrap_or_default().to_owned()
        };
        let rest = ": NOTHING IS DROPPED, packets from listed sources are only counted";
        assert_eq!(told(None), format!("paused for 5 min, until 21:33{rest}"));
        assert_eq!(
            told(Some(NOW + 60)),
            format!("paused for 5 min, until 21:33 (no longer until 21:29){rest}")
        );
        let idle = Reply { until: NOW + 300, before: None, idle: Some(Idle::NotEnforced) };
        assert!(render(length, &idle, &Clock::standing(NOW)).ends_with("either: `enforce: false`"));
    }
}
