//! Fetching what others publish over http and https, in processes that can do nothing else.
//!
//! A `Fetcher` is what the daemon holds: a line to the `spawner`, a process without any capability that was started before
//! the daemon confined itself, and which starts one `child` for each `Order`. The child restricts itself before it asks the
//! network for anything (`restrict`), asks (`client`), and hands over bytes: a head, pieces with their lengths, and a word
//! at the end (`message`), so that a child that dies is never taken for an end. What the bytes mean is for others to say.

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

pub use body::{Body, Fetched};
pub use child::{VERB as CHILD, be as be_child};
pub use credentials::Credentials;
pub use error::{BadRedirect, FetchError};
pub use fetcher::Fetcher;
pub use order::Order;
pub use permits::{Permit, Reader};
pub use reachable::Reason as Unreachable;
pub use spawner::{VERB as SPAWNER, be as be_spawner};
pub use url::{NotAUrl, Url};
