//! Stories of whole machines: a guest with a filterd in it, and frames that come in at its virtio card from outside.
//! Needs root; `cargo xtask vm --ring guest` runs it, for it alone knows kernels and QEMU.

mod card;
mod guest;
mod lan;
mod machine;
mod ping;

mod boot;
mod clocks;
mod package;
mod power_loss;
mod three_parties;
mod virtio_net;
