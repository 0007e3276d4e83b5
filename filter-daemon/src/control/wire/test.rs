//! `io.filterd.Test`: are these addresses dropped, and why?

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::strings::Strings;
use super::{Entry, Failure, Idle, Method, parts, words};

/// As it travels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Single addresses.
    pub addresses: Strings,
}

/// As it is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// None of them IPv4-mapped.
    pub addresses: Vec<IpAddr>,
}

/// All answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// One for each address asked, in that order.
    pub tested: Vec<Tested>,
    /// Until when protection is paused, if it is, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<u64>,
}

/// The answer for one address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The address asked for.
    pub address: String,
    /// Is a packet from there dropped now?
    pub dropped: bool,
    /// Why what is listed is dropped nowhere at the moment, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Of what is dropped: interfaces that are there and not filtered, while others are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// On which ports, if not on all: what it is dropped for is `on port 22 only`, or `on all but port 443`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Every entry that blocks the address, the longest prefix first.
    pub because: Vec<Entry>,
    /// Every entry that allows it, whatever blocks it, the longest prefix first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<Entry>,
}

impl Method for Test {
    const NAME: &'static str = "io.filterd.Test";
    type Request = Request;
    type Reply = Reply;

    fn check(self) -> Result<Request, Failure> {
        Ok(Request { addresses: words::addresses(&self.addresses)? })
    }

    fn parts(reply: Reply) -> Vec<Reply> {
        let weight = |one: &Tested| 1 + one.because.len() + one.allowed_by.len();
        let paused_until = reply.paused_until;
        parts::split(reply.tested, weight).map(|tested| Reply { tested, paused_until }).collect()
    }
}
