//! `filterd allow`: adds, removes and shows targets that always pass.

pub mod add;
pub mod list;
pub mod remove;

use clap::{Args, Subcommand};

use crate::cli::{GlobalOptions, WithGlobals};

#[derive(Debug, Args)]
pub struct Allow {
    #[command(flatten)]
    pub everywhere: GlobalOptions,
    #[command(subcommand)]
    pub verb: AllowVerb,
}

// The verbs of `allow`. (As a doc comment this would become the help of `allow`.)
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum AllowVerb {
    /// Allow addresses, prefixes or ranges even if they are blocked
    Add(WithGlobals<add::AllowAdd>),
    /// Stop allowing what `filterd allow add` allowed
    #[command(visible_alias = "del")]
    Remove(WithGlobals<remove::AllowRemove>),
    /// Show what is allowed
    List(WithGlobals<list::AllowList>),
}
