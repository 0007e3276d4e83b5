//! `io.filterd.Allow` and `io.filterd.Disallow`: let packets of targets pass even if they are blocked, or end that.
//!
//! They have the parameters of `Add` and `Remove`, but are methods of their own. A daemon of an older version, which
//! can only block, refuses them, and blocks nothing by mistake.

use serde::{Deserialize, Serialize};

use super::{Add, Changed, Counts, Deed, Failure, Method, Remove, add, remove};

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Allow(pub Add);

/// The parameters on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Disallow(pub Remove);

impl Method for Allow {
    const NAME: &'static str = "io.filterd.Allow";
    type Request = add::Request;
    type Reply = Changed;

    fn check(self) -> Result<add::Request, Failure> {
        self.0.check()
    }

    fn sign(request: &mut add::Request, who: impl FnOnce(&str) -> String) {
        request.by = Some(who("allow add"));
    }

    fn deed(request: &add::Request) -> Option<Deed> {
        Add::deed(request).map(|deed| Deed { verb: "allow add", ..deed })
    }

    fn counts(reply: &Changed) -> Counts {
        reply.into()
    }
}

impl Method for Disallow {
    const NAME: &'static str = "io.filterd.Disallow";
    type Request = remove::Request;
    type Reply = Changed;

    fn check(self) -> Result<remove::Request, Failure> {
        self.0.check()
    }

    fn deed(request: &remove::Request) -> Option<Deed> {
        Remove::deed(request).map(|deed| Deed { verb: "allow remove", ..deed })
    }

    fn counts(reply: &Changed) -> Counts {
        reply.into()
    }
}
