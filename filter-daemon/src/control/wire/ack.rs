//! `io.filterd.Ack`: acknowledge faults that filterd cannot end by itself.

use serde::{Deserialize, Serialize};

use super::{Counts, Deed, Failure, Fault, Method};
use crate::text::{Explanation, printable};

/// The most faults one message names: there are never more at once.
const MOST: usize = 64;

/// The faults to acknowledge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// Ids of the faults, as in the faults of a status. Without ids, all faults that have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

/// The acknowledged faults, which `status` no longer shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reply {
    /// The faults that were acknowledged.
    pub acknowledged: Vec<Fault>,
    /// Why the next start shows them again, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_durable: Option<Explanation>,
}

impl Method for Ack {
    const NAME: &'static str = "io.filterd.Ack";
    type Request = Vec<String>;
    type Reply = Reply;

    fn check(self) -> Result<Vec<String>, Failure> {
        if self.ids.len() > MOST {
            let told = format!("more than {MOST} problems at once");
            return Err(Failure::Unparsable(Explanation::new(told, "pass no id to acknowledge all")));
        }
        Ok(self.ids)
    }

    fn deed(ids: &Vec<String>) -> Option<Deed> {
        let ids: Vec<_> = ids.iter().map(|id| printable::excerpt(id)).collect();
        let note = (!ids.is_empty()).then(|| ids.join(", "));
        Some(Deed { note, ..Deed::about("ack", &[], None) })
    }

    fn counts(reply: &Reply) -> Counts {
        let troubles = reply.acknowledged.iter().map(|fault| fault.told.message.clone()).collect();
        Counts { troubles, is_volatile: reply.not_durable.is_some(), ..Counts::default() }
    }
}
