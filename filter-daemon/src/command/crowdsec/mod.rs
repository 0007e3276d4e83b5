//! `filterd crowdsec`: shows how filterd follows CrowdSec.

pub mod status;

use clap::{Args, Subcommand};

use crate::cli::{GlobalOptions, WithGlobals};

#[derive(Debug, Args)]
pub struct CrowdSecCommand {
    #[command(flatten)]
    pub everywhere: GlobalOptions,
    #[command(subcommand)]
    pub verb: CrowdSecVerb,
}

// The verbs of `crowdsec`. (As a doc comment this would become the help of `crowdsec`.)
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum CrowdSecVerb {
    /// Show how many decisions of CrowdSec are enforced, and what is wrong
    Status(WithGlobals<status::CrowdSecStatus>),
}
