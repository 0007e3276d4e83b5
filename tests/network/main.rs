//! Stories of a running filterd: a host, a peer, real frames between them. Needs root.

mod add_remove;
mod attach;
mod bad_input;
mod bulk;
mod config;
mod crash;
mod durable;
mod enforce;
mod flush;
mod frames;
mod hostile_clients;
mod interfaces;
mod life;
mod list_and_status;
mod list_files;
mod prefixes;
mod privilege;
mod refusals;
mod reload;
mod side_by_side;
mod sockets;
mod stop;
mod ttl;
mod vlan;
