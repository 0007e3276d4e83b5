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
    /// Allow addresses, prefixes or ranges even if they are blocked
    Add(With<add::Add>),
    /// Stop allowing what `filterd allow add` allowed
    #[command(visible_alias = "del")]
    Remove(With<remove::Remove>),
    /// Show what is allowed
    List(With<list::List>),
}
