//! Fetches lists over HTTP and HTTPS, in processes that can do nothing else.
//!
//! The daemon has a `Fetcher`: a connection to the `spawner`. The spawner has no capabilities, and was
//! started before the daemon confined itself. It starts one `child` for each `Order`. The child restricts
//! itself (`restrict`) before it asks the network (`client`), and returns bytes: a head, pieces with their
//! lengths, and an end (`message`). A child that dies is therefore never mistaken for a complete body. This
//! module does not interpret the bytes. An order can also ask an API (`api`).

mod api;
mod api_remedy;
mod authorities;
mod body;
mod child;
mod client;
mod connector;
mod credentials;
mod error;
mod fetcher;
mod line;
mod message;
mod order;
mod permits;
mod reachable;
mod resolver;
mod restrict;
mod retry;
mod spawner;
mod surplus;
mod trouble;
mod url;

pub use api::{ApiRequest, ClientIdentity, UnusablePem, check_authority};
pub use body::{Fetched, FetchedBody};
pub use child::{VERB as CHILD, be as be_child};
pub use credentials::Credentials;
pub use error::{BadRedirect, FetchError};
pub use fetcher::Fetcher;
pub use order::FetchOrder;
pub use permits::{Permit, PermitReader};
pub use reachable::UnreachableReason as Unreachable;
pub use spawner::{VERB as SPAWNER, be as be_spawner};
pub use url::{NotAUrl, Url};
