//! `io.filterd.GiveWay`: stop, hand over, and wait whether it comes to anything. What follows on this connection is no
//! longer of this protocol: descriptors one way, `done` the other, `bye` back.

use serde::{Deserialize, Serialize};

use super::{Failure, Method, ping};

/// It has no parameters.
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
