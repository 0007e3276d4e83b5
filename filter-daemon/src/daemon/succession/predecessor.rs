//! The part of the new filterd: talks to the filterd that it will replace.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::unistd::geteuid;

use super::super::not_succeeded::SuccessionError;
use super::{BYE, DONE, REFUSED};
use crate::cli::Run;
use crate::control::client::{Client, ClientError, Endpoint};
use crate::control::wire::{Failure, GiveWay, Status, TakeOver, entry, status, take_over};
use crate::control::{Server, descriptors};
use crate::lock::Lock;
use crate::text::Explanation;
use crate::{memory, net_namespace};

/// How long the old one may take to make way. It first completes the work it has begun.
const MAKES_WAY_WITHIN: Duration = Duration::from_secs(60);

/// How long the old one may take to read the last message.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// The longest refusal: two sentences with one or two paths.
const LONGEST_REFUSAL: u64 = 16 * 1024;

/// The filterd to replace. The connection was made as root, even if this process has another user now.
pub struct Predecessor {
    client: Client,
    place: take_over::Reply,
}

/// An old filterd that has made way and waits.
pub struct Takeover {
    stream: UnixStream,
    /// Its socket, now of this process.
    pub server: Server,
    /// The lock of its state directory.
    pub state: Option<Lock>,
    /// The status of its interfaces.
    pub interfaces: Vec<status::Interface>,
    /// The uptime of the machine, in milliseconds, from which nothing may be changed any more.
    pub too_late: u64,
}

impl Predecessor {
    /// Finds the filterd that listens at the socket. Returns none if there is none, or if it only knows how
    /// to end.
    pub fn find(run: &Run) -> Result<Option<Self>, SuccessionError> {
        let at = Endpoint { socket: run.socket.clone(), timeout: run.timeout };
        let asked = Client::connect(at).and_then(|mut client| {
            let place = client.call(&TakeOver {})?;
            Ok(Self { client, place })
        });
        match asked {
            Ok(predecessor) => predecessor.must_be_ours(run).map(Some),
            Err(ClientError::NotRunning(_) | ClientError::SocketGone { .. } | ClientError::Closed(_)) => {
                Ok(None)
            }
            Err(ClientError::Failed(Failure::InvalidRequest(_) | Failure::Unavailable(_))) => Ok(None),
            Err(ClientError::Failed(Failure::Refused(why))) => Err(SuccessionError::Refused(why)),
            Err(error) => Err(SuccessionError::NotAsked(error)),
        }
    }

    fn must_be_ours(self, run: &Run) -> Result<Self, SuccessionError> {
        let place = &self.place;
        must_be_the_same("pins", "--pin-dir", (&place.pin_dir, place.pid), &run.pin_dir)?;
        must_be_the_same("state", "--state-dir", (&place.state_dir, place.pid), &run.state_dir)?;
        if net_namespace::is_another(Path::new("/proc"), place.pid) {
            return Err(SuccessionError::OtherNamespace { pid: place.pid });
        }
        let ours = run.user.as_ref().map_or_else(geteuid, |user| user.uid).as_raw();
        if place.user != ours {
            return Err(SuccessionError::OtherUser { theirs: place.user, ours });
        }
        must_have_memory(place.memory, memory::available().map(|free| free.bytes))?;
        Ok(self)
    }

    /// The status of its interfaces.
    pub fn interfaces(&mut self) -> Result<Vec<status::Interface>, SuccessionError> {
        Ok(self.client.call(&Status {}).map_err(SuccessionError::NotAsked)?.interfaces)
    }

    /// The number of entries on each of its live lists.
    pub fn live_entries(&mut self) -> Result<HashMap<String, u64>, SuccessionError> {
        let lists = self.client.call(&Status {}).map_err(SuccessionError::NotAsked)?.lists;
        let live = lists.into_iter().filter(|list| list.kind == entry::LIVE);
        Ok(live.map(|list| (list.name, list.targets)).collect())
    }

    /// Asks it to make way. From then on, all its clients wait for this process.
    pub fn make_way(mut self, run: &Run) -> Result<Takeover, SuccessionError> {
        let interfaces = self.interfaces()?;
        self.client.send(&GiveWay {}).map_err(SuccessionError::NotAsked)?;
        let stream = self.client.into_stream();
        let waits = stream.set_read_timeout(Some(MAKES_WAY_WITHIN));
        let answered = waits.and_then(|()| descriptors::receive(&stream)).map_err(SuccessionError::Broken)?;
        let (too_late, handed) = must_not_be_refused(answered, &stream)?;
        let take = || {
            let mut handed = handed.into_iter();
            let (Some(listener), Some(claim)) = (handed.next(), handed.next()) else {
                return Err(io::Error::other("it keeps its socket"));
            };
            let server = Server::handed_over(&run.socket, listener, claim)?;
            Ok((server, handed.next().map(Lock::handed_over)))
        };
        let (server, state) = take().map_err(SuccessionError::Broken)?;
        Ok(Takeover { stream, server, state, interfaces, too_late })
    }
}

impl Takeover {
    /// Reports that this filterd works. The old one ends when it has read that. If it does not confirm, it
    /// continues, and this one must not.
    pub fn done(mut self) -> Result<(Server, Option<Lock>), SuccessionError> {
        let mut word = [0; 1];
        let said = self
            .stream
            .set_read_timeout(Some(ANSWERS_WITHIN))
            .and_then(|()| self.stream.write_all(&[DONE]))
            .and_then(|()| self.stream.read_exact(&mut word));
        match said {
            Ok(()) if word == [BYE] => {
                self.server.take();
                Ok((self.server, self.state))
            }
            Ok(()) => Err(SuccessionError::Broken(io::Error::other("it sent an unexpected message"))),
            Err(error) => Err(SuccessionError::Broken(error)),
        }
    }
}

/// Handles a refusal: the old one may have found only now that entries would be lost.
fn must_not_be_refused(
    (too_late, handed): (u64, Vec<OwnedFd>),
    stream: &UnixStream,
) -> Result<(u64, Vec<OwnedFd>), SuccessionError> {
    if too_late != REFUSED {
        return Ok((too_late, handed));
    }
    let why: Result<Explanation, _> = serde_json::from_reader(stream.take(LONGEST_REFUSAL));
    Err(why.map_or_else(|error| SuccessionError::Broken(error.into()), SuccessionError::Refused))
}

/// Requires as much free memory as the old one uses.
fn must_have_memory(needed: u64, available: Option<u64>) -> Result<(), SuccessionError> {
    let available = available.unwrap_or(u64::MAX);
    if needed <= available {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    Err(SuccessionError::NoMemory { needed: mebibytes(needed), available: mebibytes(available) })
}

/// Requires that both paths, which may differ, lead to the same file.
fn must_be_the_same(
    what: &'static str,
    flag: &'static str,
    (theirs, pid): (&Path, u32),
    ours: &Path,
) -> Result<(), SuccessionError> {
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    let is_named_the_same = || std::path::absolute(ours).is_ok_and(|ours| ours == theirs);
    match (identity(theirs), identity(ours)) {
        (Ok(one), Ok(other)) if one == other => Ok(()),
        _ if is_named_the_same() => Err(SuccessionError::OtherMounts { what, path: theirs.to_owned(), pid }),
        _ => Err(SuccessionError::Elsewhere { what, flag, theirs: theirs.to_owned(), ours: ours.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::successor::refuse;
    use super::*;
    use crate::text::Explain;

    #[test]
    fn late_loss_is_reported_to_the_newcomer() {
        let (old, new) = UnixStream::pair().unwrap();
        let why = Explanation::new("its live entries are not all on disk", "make room");
        refuse(old, &why).unwrap();
        let answered = descriptors::receive(&new).unwrap();
        let Err(refused) = must_not_be_refused(answered, &new) else { panic!("it was given the place") };
        assert!(matches!(&refused, SuccessionError::Refused(told) if *told == why), "{refused}");
        assert_eq!(refused.remedy().as_deref(), Some("make room"));
    }

    #[test]
    fn handover_and_refusal_are_distinguished() {
        let (_old, new) = UnixStream::pair().unwrap();
        assert_eq!(must_not_be_refused((7, Vec::new()), &new).unwrap().0, 7);
    }

    #[test]
    fn old_daemon_stays_without_memory_for_two() {
        must_have_memory(1 << 30, Some(1 << 30)).unwrap();
        must_have_memory(1 << 30, None).unwrap();
        let refused = must_have_memory(3 << 30, Some(1 << 30)).unwrap_err();
        let told = refused.explain();
        assert!(
            told.message.contains("need 3072 MiB") && told.message.contains("1024 MiB are free"),
            "{told}"
        );
        assert!(told.remedy.unwrap().starts_with("nothing has changed"));
    }
}
