//! What the daemon tells while it runs: one line an event, on standard error, where journald and people read it.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use crate::text;

/// Everything from `info` on, unless `FILTERD_LOG` says otherwise. No time stamps where somebody else adds them.
pub fn start() {
    let filter = EnvFilter::try_from_env("FILTERD_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).with_target(false);
    let lines = lines.fmt_fields(text::log::fields());
    lines.with_ansi(colours).without_time().init();
}
