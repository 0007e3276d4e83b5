//! `io.filterd.GiveWay`: stop and hand the filter over, and continue if the successor fails. After the reply, the
//! connection carries another protocol: descriptors one way, `done` the other, `bye` back.

use serde::{Deserialize, Serialize};

use super::{Failure, Method, ping};

/// This method has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GiveWay {}

impl Method for GiveWay {
    const NAME: &'static str = "io.filterd.GiveWay";
    type Request = ();
    type Reply = ping::Reply;
    const IS_ROOTS: bool = true;

    fn check(self) -> Result<(), Failure> {
        Ok(())
    }
}
