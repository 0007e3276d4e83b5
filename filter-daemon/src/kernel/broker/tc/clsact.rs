//! Attaches a program as a filter of `clsact`, where the kernel has no links for it. Such a filter stays
//! until someone removes it, and has no pin. A symbolic link among the pins notes its interface, its
//! network namespace, and whether the qdisc is ours. It cannot be removed from another namespace, and that is
//! reported.
//!
//! Filters with the program's name are ours, because no two filterds share an interface. Filters of others
//! are left alone, and so is a qdisc that contains any.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::thread;

use aya::programs::SchedClassifier;
use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact};
use futures_util::{StreamExt, TryStreamExt};
use rtnetlink::Handle;
use rtnetlink::packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcAttribute, TcFilterBpfOption, TcHandle, TcMessage, TcOption};

use super::{TcPlace, TcSide};
use crate::kernel::KernelError;

/// The first part of a note, if the qdisc is ours.
const OWN: &str = "own-clsact-";
const FOREIGN: &str = "clsact-";

/// The separator between interface and network namespace.
const BEHIND: char = '@';

const KIND: &str = "clsact";

/// The parents of filters for received and for sent packets, and the qdisc itself.
const INGRESS: TcHandle = TcHandle { major: 0xFFFF, minor: 0xFFF2 };
const EGRESS: TcHandle = TcHandle { major: 0xFFFF, minor: 0xFFF3 };
const CLSACT: TcHandle = TcHandle { major: 0xFFFF, minor: 0xFFF1 };

/// The note among the pins for one of our filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClsactNote {
    pub index: u32,
    /// Whether we have made the qdisc.
    is_own: bool,
    /// The number of its network namespace. Notes of older filterds lack it.
    namespace: Option<u64>,
}

struct ClsactFilter {
    header: (TcHandle, u32),
    program: Option<u32>,
}

/// Attaches the program before all other filters, and then removes our earlier filters.
pub fn attach(program: &mut SchedClassifier, place: &TcPlace<'_>) -> Result<ClsactNote, KernelError> {
    let TcPlace { name, index, side, program: its, pin } = *place;
    let failed = |error: &(dyn std::error::Error + 'static)| {
        KernelError::load_of(&format!("attach the program {its} to {name}"), error)
    };
    let was_own = ClsactNote::read(pin).is_some_and(|note| note.is_own);
    let is_new = !ask(move |handle| async move { has_qdisc(&handle, index).await })?;
    if is_new {
        qdisc_add_clsact(name).map_err(|error| failed(&error))?;
    }
    let note = ClsactNote { index, is_own: is_new || was_own, namespace: namespace() };
    _ = fs::remove_file(pin);
    // Written first, so that the note survives if filterd is killed in between.
    note.write(pin)?;
    let earlier = ask(move |handle| async move { ours(&handle, index, side, its).await })?;
    let options = TcAttachOptions::Netlink(NlOptions::default());
    let attached = program.attach_with_options(name, side.attach_type(), options);
    let link = attached.and_then(|id| program.take_link(id)).map_err(|error| failed(&error))?;
    // The filter must stay when this process ends, and dropping the link would remove it.
    std::mem::forget(link);
    ask(move |handle| async move { remove(&handle, index, side, earlier).await })?;
    Ok(note)
}

/// The number of the program of this name that is attached there.
pub fn program_on(index: u32, side: TcSide, name: &'static str) -> Option<u32> {
    let found = ask(move |handle| async move { ours(&handle, index, side, name).await }).ok()?;
    found.iter().find_map(|filter| filter.program)
}

/// Removes our filter that this note describes, and the qdisc if it is ours and otherwise empty. False if it
/// is in another network namespace, and therefore stays.
pub fn detach(note: &Path, side: TcSide, program: &str) -> Result<bool, KernelError> {
    let Some(ClsactNote { index, is_own, namespace: its }) = ClsactNote::read(note) else { return Ok(true) };
    if its.is_some_and(|its| namespace().is_some_and(|here| here != its)) {
        return Ok(false);
    }
    let program = program.to_owned();
    ask(move |handle| async move {
        // If the interface is gone, its filters are gone as well.
        if !has_qdisc(&handle, index).await? {
            return Ok(true);
        }
        let found = ours(&handle, index, side, &program).await?;
        remove(&handle, index, side, found).await?;
        if is_own && is_empty(&handle, index).await? {
            let mut request = handle.qdisc().del(index as i32);
            let header = &mut request.message_mut().header;
            (header.parent, header.handle) = (CLSACT, TcHandle { major: 0xFFFF, minor: 0 });
            request.execute().await?;
        }
        Ok(true)
    })
}

/// The number of our network namespace.
fn namespace() -> Option<u64> {
    fs::metadata("/proc/thread-self/ns/net").map(|namespace| namespace.ino()).ok()
}

async fn has_qdisc(handle: &Handle, index: u32) -> Result<bool, rtnetlink::Error> {
    let all: Vec<TcMessage> = handle.qdisc().get().index(index as i32).execute().try_collect().await?;
    let is_it = |message: &TcMessage| {
        let is_kind = |attribute: &TcAttribute| matches!(attribute, TcAttribute::Kind(kind) if kind == KIND);
        message.header.index == index as i32 && message.attributes.iter().any(is_kind)
    };
    Ok(all.iter().any(is_it))
}

async fn sent(handle: &Handle, index: u32) -> Result<Vec<TcMessage>, rtnetlink::Error> {
    handle.traffic_filter(index as i32).get().egress().execute().try_collect().await
}

async fn received(handle: &Handle, index: u32) -> Result<Vec<TcMessage>, rtnetlink::Error> {
    handle.traffic_filter(index as i32).get().ingress().execute().try_collect().await
}

async fn ours(
    handle: &Handle,
    index: u32,
    side: TcSide,
    program: &str,
) -> Result<Vec<ClsactFilter>, rtnetlink::Error> {
    let found = match side {
        TcSide::Received => received(handle, index).await?,
        TcSide::Sent => sent(handle, index).await?,
    };
    Ok(found.iter().filter_map(|message| ClsactFilter::of(message, program)).collect())
}

async fn is_empty(handle: &Handle, index: u32) -> Result<bool, rtnetlink::Error> {
    Ok(sent(handle, index).await?.is_empty() && received(handle, index).await?.is_empty())
}

async fn remove(
    handle: &Handle,
    index: u32,
    side: TcSide,
    filters: Vec<ClsactFilter>,
) -> Result<(), rtnetlink::Error> {
    let parent = match side {
        TcSide::Received => INGRESS,
        TcSide::Sent => EGRESS,
    };
    for ClsactFilter { header: (number, info), .. } in filters {
        let mut message = TcMessage::with_index(index as i32);
        (message.header.parent, message.header.handle, message.header.info) = (parent, number, info);
        let mut request = NetlinkMessage::from(RouteNetlinkMessage::DelTrafficFilter(message));
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK;
        let mut answers = handle.clone().request(request)?;
        while let Some(answer) = answers.next().await {
            if let NetlinkPayload::Error(error) = answer.payload
                && error.code.is_some()
            {
                return Err(rtnetlink::Error::NetlinkError(error));
            }
        }
    }
    Ok(())
}

impl ClsactNote {
    /// Whether it describes an interface of this number in our network namespace.
    pub fn is_here(self, index: u32) -> bool {
        self.index == index && self.namespace.is_none_or(|its| namespace().is_none_or(|here| here == its))
    }

    pub fn read(pin: &Path) -> Option<Self> {
        let text = fs::read_link(pin).ok()?;
        let text = text.to_str()?;
        let (number, is_own) = match text.strip_prefix(OWN) {
            Some(number) => (number, true),
            None => (text.strip_prefix(FOREIGN)?, false),
        };
        let (number, namespace) =
            number.split_once(BEHIND).map_or((number, None), |(number, its)| (number, its.parse().ok()));
        Some(Self { index: number.parse().ok()?, is_own, namespace })
    }

    fn write(self, pin: &Path) -> Result<(), KernelError> {
        let Self { index, is_own, namespace } = self;
        let its = namespace.map_or_else(String::new, |namespace| format!("{BEHIND}{namespace}"));
        let text = format!("{}{index}{its}", if is_own { OWN } else { FOREIGN });
        symlink(text, pin).map_err(|error| KernelError::load("note where a program of TC is", error))
    }

    /// Writes the note again if it is missing. True if it was missing.
    pub fn mend(self, pin: &Path) -> Result<bool, KernelError> {
        let is_missing = fs::symlink_metadata(pin).is_err();
        if is_missing {
            self.write(pin)?;
        }
        Ok(is_missing)
    }
}

impl ClsactFilter {
    /// The filter, if it is ours and the message is not a summary of several.
    fn of(message: &TcMessage, program: &str) -> Option<Self> {
        let options = message.attributes.iter().find_map(|attribute| {
            if let TcAttribute::Options(options) = attribute { Some(options) } else { None }
        })?;
        let is_named = |option: &TcOption| matches!(option, TcOption::Bpf(TcFilterBpfOption::ProgName(name)) if name == program);
        let id = options.iter().find_map(|option| {
            if let TcOption::Bpf(TcFilterBpfOption::ProgId(id)) = option { Some(*id) } else { None }
        });
        let header = (message.header.handle, message.header.info);
        options.iter().any(is_named).then_some(Self { header, program: id })
    }
}

/// Asks the kernel, on a thread of its own: a caller that runs the broker in its process may have a runtime
/// already.
fn ask<T, F>(question: impl FnOnce(Handle) -> F + Send) -> Result<T, KernelError>
where
    T: Send,
    F: Future<Output = Result<T, rtnetlink::Error>>,
{
    let failed = |reason: String| KernelError::Netlink { reason };
    let asked = || -> Result<T, KernelError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        runtime.block_on(async {
            let connected = rtnetlink::new_connection().map_err(|error| failed(error.to_string()))?;
            let (connection, handle, _) = connected;
            let talking = tokio::spawn(connection);
            let answer = question(handle).await;
            talking.abort();
            answer.map_err(|error| failed(error.to_string()))
        })
    };
    thread::scope(|threads| {
        let asked = thread::Builder::new().name("clsact".to_owned()).spawn_scoped(threads, asked);
        let asked = asked.map_err(|error| failed(error.to_string()))?;
        asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_and_old_notes_are_read() {
        let place = tempfile::tempdir().unwrap();
        let pin = place.path().join("eth0");
        for note in [
            ClsactNote { index: 7, is_own: true, namespace: Some(4_026_532_000) },
            ClsactNote { index: 7, is_own: false, namespace: None },
        ] {
            note.write(&pin).unwrap();
            assert_eq!(ClsactNote::read(&pin), Some(note));
            fs::remove_file(&pin).unwrap();
        }
        symlink("own-clsact-3", &pin).unwrap();
        assert_eq!(ClsactNote::read(&pin), Some(ClsactNote { index: 3, is_own: true, namespace: None }));
    }

    #[test]
    fn filter_in_other_namespace_is_reported() {
        let place = tempfile::tempdir().unwrap();
        let pin = place.path().join("eth0");
        ClsactNote { index: 7, is_own: true, namespace: namespace().map(|here| here + 1) }
            .write(&pin)
            .unwrap();
        assert!(!detach(&pin, TcSide::Sent, "filterd_egress").unwrap());
    }
}
