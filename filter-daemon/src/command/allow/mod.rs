//! `filterd allow`: adds, removes and shows targets that always pass.

pub mod add;
pub mod list;
pub mod remove;

use clap::{Args, Subcommand};

use crate::cli::{Everywhere, With};

#[derive(Debug, Args)]
pub struct Allow {
    #[command(flatten)]
    pub everywhere: Everywhere,
    #[command(subcommand)]
    pub verb: AllowVerb,
}

// The verbs of `allow`. (As a doc comment this would become the help of `allow`.)
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum AllowVerb {
    /// Let packets of addresses, prefixes or ranges pass, whatever blocks them, from now on
    ///
    /// What is blocked stays listed: when this ends, it is blocked again. Adding again with a longer --ttl extends it, a
    /// shorter one ends it earlier only with --shorten. Many targets at once are best given on standard input.
    Add(With<add::Add>),
    /// Allow no longer what was allowed
    ///
    /// Takes targets out of the live lists that allow, those that `filterd allow add` fills, and nothing that lies within
    /// them. What is blocked is blocked again at once: the answer names what blocks it. Exits with 1 if one of them, or a
    /// part of it, is still allowed, by another entry or by a list of the configuration (with --list: by that very list).
    #[command(visible_alias = "del")]
    Remove(With<remove::Remove>),
    /// Show what is allowed
    ///
    /// One entry a line, as `filterd list` shows what is blocked. With --json one object a line.
    List(With<list::List>),
}
