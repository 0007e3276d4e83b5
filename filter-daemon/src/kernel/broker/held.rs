//! One link that the broker holds, and its state in the kernel: its interface and its program.

use std::fs;
use std::path::{Path, PathBuf};

use aya::programs::links::{FdLink, LinkError, PinnedLink};

use super::super::KernelError;
use super::mending::TamperingLog;
use crate::text::printable;

/// A link, and the file in which the kernel describes it.
#[derive(Debug)]
pub struct HeldLink {
    _link: FdLink,
    /// A second descriptor of the link. Pinning consumes it, and a failed pin loses it.
    spare: Option<FdLink>,
    id: u32,
    /// The file in `/proc/self/fdinfo`, once it was found.
    description: Option<PathBuf>,
}

/// The interface and the program of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The interface index, valid in the network namespace where the interface is now.
    pub index: u32,
    /// The program to which the link delivers packets.
    pub program: u32,
}

impl HeldLink {
    pub fn new(link: FdLink, pin: &Path) -> Result<Self, LinkError> {
        let id = link.info()?.id();
        let spare = Some(PinnedLink::from_pin(pin)?.into());
        Ok(Self { _link: link, spare, id, description: None })
    }

    /// Pins the link again if someone removed or replaced its pin. Does nothing if the link is detached.
    pub fn mend(&mut self, pin: &Path, mending: &mut TamperingLog) -> Result<(), KernelError> {
        if self.seat().is_none() {
            return Ok(());
        }
        let failed = |error| KernelError::load("look at the pin of a link", error);
        let there =
            || PinnedLink::from_pin(pin).and_then(|there| FdLink::from(there).info()).map(|there| there.id());
        if mending.make_place(pin, self.id, || there().map_err(failed))? {
            let again = |why: &str| KernelError::refused(&format!("pin {} again", printable::path(pin)), why);
            let spare = self.spare.take().ok_or_else(|| again("that could not be done before"))?;
            self.spare = Some(spare.pin(pin).map_err(|error| again(&error.to_string()))?.into());
        }
        Ok(())
    }

    /// The interface and program of the link. None if the link is detached or its interface is gone.
    ///
    /// The kernel reports the interface only in the description of the descriptor.
    pub fn seat(&mut self) -> Option<LinkState> {
        let known = self.description.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let text = match known.filter(|text| number(text, "link_id:") == Some(self.id)) {
            Some(text) => text,
            None => self.find()?,
        };
        let (index, program) = (number(&text, "ifindex:")?, number(&text, "prog_id:")?);
        (index != 0).then_some(LinkState { index, program })
    }

    /// The kernel's number of the link.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// True only if the kernel reports that the link is on no interface. An unreadable description does not
    /// count.
    pub fn check_detached(&mut self) -> bool {
        self.find().is_some_and(|text| number(&text, "ifindex:") == Some(0))
    }

    fn find(&mut self) -> Option<String> {
        let open = fs::read_dir("/proc/self/fdinfo").ok()?.flatten().map(|entry| entry.path());
        let texts = open.filter_map(|path| Some((fs::read_to_string(&path).ok()?, path)));
        let (text, path) = texts.into_iter().find(|(text, _)| number(text, "link_id:") == Some(self.id))?;
        self.description = Some(path);
        Some(text)
    }
}

fn number(text: &str, key: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_description_is_parsed() {
        let text =
            "pos:\t0\nflags:\t02\nlink_type:\txdp\nlink_id:\t7\nprog_tag:\ta04f\nprog_id:\t21\nifindex:\t3\n";
        assert_eq!(number(text, "link_id:"), Some(7));
        assert_eq!(number(text, "prog_id:"), Some(21));
        assert_eq!(number(text, "ifindex:"), Some(3));
        assert_eq!(number(text, "netns:"), None);
    }
}
