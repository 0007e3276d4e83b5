//! One client, from its first line to its last. Answers are sent in the order of the requests.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::admission::ClientProcess;
use super::asker::Asker;
use super::audit::{Audit, AuditedClient};
use super::complaints::Complaints;
use super::connections::Connection;
use super::lines::{LineError, SocketLines};
use super::watching::{FrameDepth, SampledDrop, Watching};
use super::wire::watch::{Drop, Reply, Request};
use super::wire::{
    Answers, Call, Counts, Deed, Failure, LONGEST_LINE, Message, Method, PendingRequest, RequestLine,
};
use super::{answer, parse, watchers};
use crate::text::Explanation;

/// The error if the owner has ended. The request was not carried out.
pub const STOPPING: &str = "filterd is stopping";

/// How often to look whether a client that has sent more requests is still connected.
const PIPELINED: Duration = Duration::from_millis(20);

/// How many drops are sent at once.
const MOST_AT_ONCE: usize = 64;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct ClientTimeouts {
    /// To send a line that it has begun.
    pub line: Duration,
    /// To read a line of its answer.
    pub answer: Duration,
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        Self { line: Duration::from_secs(30), answer: Duration::from_secs(10) }
    }
}

/// The parts of the daemon that a session needs.
#[derive(Clone)]
pub struct SessionContext {
    /// Sends requests to the owner of the state.
    pub calls: mpsc::Sender<Call>,
    /// Sends the SSH connections of clients to the owner.
    pub askers: Option<mpsc::Sender<String>>,
    pub patience: ClientTimeouts,
    /// Logs faults of the client.
    pub complaints: Complaints,
    /// Logs changes that the client requests.
    pub audit: Audit,
    /// The source of events for clients that watch.
    pub watching: Watching,
}

/// The client at the other end.
pub struct SessionClient {
    /// The process, according to the kernel.
    pub peer: ClientProcess,
    /// Whether it may replace this filterd by another one.
    pub may_replace: bool,
    /// Logs the changes that it requests.
    pub witness: AuditedClient,
}

impl SessionClient {
    /// Root may see complete frames, because it can read them by other means, too.
    fn depth(&self) -> FrameDepth {
        if self.peer.user == 0 { FrameDepth::Whole } else { FrameDepth::Headers }
    }
}

/// Serves one client until either side ends the connection.
pub async fn hold(
    stream: UnixStream,
    client: SessionClient,
    connection: Connection,
    context: SessionContext,
) {
    let (from, to) = stream.into_split();
    let lines = SocketLines::new(from, LONGEST_LINE, context.patience.line);
    let mut session = Session { to, client, connection, context, asker: None };
    match session.run(lines).await {
        Ok(()) => {}
        // An interrupted client is no fault.
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
        Err(error) => session.context.complaints.about(format_args!("lost a client: {error}")),
    }
}

struct Session {
    to: OwnedWriteHalf,
    client: SessionClient,
    connection: Connection,
    context: SessionContext,
    /// The identity of the client, once it was looked up.
    asker: Option<Asker>,
}

impl Session {
    /// Answers until the client ends.
    async fn run(&mut self, mut lines: SocketLines<OwnedReadHalf>) -> io::Result<()> {
        loop {
            self.connection.waits();
            let line = match lines.next().await {
                Ok(Some(line)) => parse::line(line),
                Ok(None) => return Ok(()),
                Err(broken) => return self.hang_up(broken).await,
            };
            self.connection.works();
            match line {
                Ok(RequestLine { message: Message::Watch(watch), .. }) => match watch.check() {
                    Ok(request) => {
                        if !self.watch(&request, &mut lines).await? {
                            return Ok(());
                        }
                    }
                    Err(failure) => self.refuse(&failure).await?,
                },
                Ok(RequestLine { message, came_by }) => {
                    self.tell_came_by(came_by);
                    message.give(self).await?;
                }
                Err(failure) => self.refuse(&failure).await?,
            }
        }
    }

    /// Sends events until the limit is reached, or the client ends or sends another line. Returns whether the
    /// client is still connected.
    async fn watch(&mut self, request: &Request, lines: &mut SocketLines<OwnedReadHalf>) -> io::Result<bool> {
        let mut watcher = match self.context.watching.watch(request) {
            Ok(watcher) => watcher,
            Err(failure) => return self.refuse(&failure).await.map(|()| true),
        };
        let depth = self.client.depth();
        let asker = self.asker.get_or_insert_with(|| Asker::of(&self.client.peer)).clone();
        let _logged = watchers::WatchLog::begin(asker, request, depth);
        let over = async {
            match request.length {
                Some(length) => sleep(length).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(over);
        let no_drops = tokio::select! {
            no_drops = watcher.begins() => no_drops,
            _ = lines.next() => return Ok(false),
        };
        self.tell(&[Reply { no_drops, ..Reply::new() }], true).await?;
        let (mut lost, mut told) = (0, 0);
        while request.count.is_none_or(|count| told < count) {
            let mut replies = Vec::new();
            tokio::select! {
                event = next(&mut watcher.events) => match event {
                    Ok(event) if request.wants(&event) => {
                        replies.push(Reply { event: Some(event), ..Reply::new() });
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(more)) => lost += more,
                    Err(RecvError::Closed) => break,
                },
                drop = next(&mut watcher.drops) => {
                    let mut seen = drop.map_err(|error| match error {
                        RecvError::Lagged(more) => TryRecvError::Lagged(more),
                        RecvError::Closed => TryRecvError::Closed,
                    });
                    let most = request.count.map_or(MOST_AT_ONCE as u64, |count| count - told);
                    loop {
                        match seen {
                            Ok(one) if watcher.is_new(&one) && request.wants_drop(&one.told) => {
                                let drop = Some(in_full(&one, request, depth));
                                replies.push(Reply { drop, ..Reply::new() });
                            }
                            Ok(_) => {}
                            Err(TryRecvError::Lagged(more)) => lost += more,
                            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                        }
                        if replies.len() as u64 >= most.min(MOST_AT_ONCE as u64) {
                            break;
                        }
                        let more = watcher.drops.as_mut().map(broadcast::Receiver::try_recv);
                        seen = more.unwrap_or(Err(TryRecvError::Empty));
                    }
                }
                () = &mut over => break,
                _ = lines.next() => return Ok(false),
            }
            if let Some(first) = replies.first_mut() {
                first.lost = std::mem::take(&mut lost);
                told += replies.len() as u64;
                self.tell(&replies, true).await?;
            }
        }
        self.tell(&[Reply { lost, ..Reply::new() }], false).await.map(|()| true)
    }

    /// Sends replies without a time limit. Meanwhile the connection may be closed to make room for others.
    async fn tell(&mut self, replies: &[Reply], continues: bool) -> io::Result<()> {
        let lines: Vec<u8> = replies.iter().flat_map(|reply| answer::line(reply, continues)).collect();
        self.connection.waits();
        let written = self.to.write_all(&lines).await;
        self.connection.works();
        written
    }

    /// Refuses the client. After a line without an end, the following bytes cannot be trusted to be a
    /// request.
    async fn hang_up(&mut self, broken: LineError) -> io::Result<()> {
        let message = match broken {
            LineError::TooLong => {
                format!("the line is longer than {LONGEST_LINE} bytes: split it into several")
            }
            LineError::TooSlow => format!("the line did not end within {:?}", self.context.patience.line),
            LineError::Failed(error) => return Err(error),
        };
        self.refuse(&Failure::InvalidRequest(message.into())).await
    }

    /// Reports the SSH connection before the request itself.
    fn tell_came_by(&self, words: Option<String>) {
        if let (Some(words), Some(askers)) = (words, &self.context.askers) {
            // If the channel is full, this one is dropped. Most requests at once come over the same
            // connection.
            _ = askers.try_send(words);
        }
    }

    async fn ask<M: Method>(&self, request: M::Request) -> Result<M::Reply, Failure> {
        let stopping = || Failure::Unavailable(STOPPING.into());
        let (reply, answer) = oneshot::channel();
        self.context.calls.send(M::call(PendingRequest { request, reply })).await.map_err(|_| stopping())?;
        tokio::select! {
            answered = answer => answered.unwrap_or_else(|_| Err(stopping())),
            // A daemon must not end for a process that is gone.
            () = self.disconnected(), if M::IS_ROOTS => Err(stopping()),
        }
    }

    /// Waits until the client has closed the connection.
    async fn disconnected(&self) {
        while !self.to.ready(Interest::READABLE).await.is_ok_and(|ready| ready.is_read_closed()) {
            // It has sent another request.
            sleep(PIPELINED).await;
        }
    }

    fn note(&mut self, deed: Deed, came_of_it: Result<Counts, Failure>) {
        let SessionClient { peer, witness, .. } = &mut self.client;
        let known = self.asker.as_ref();
        witness.tell(|| known.cloned().unwrap_or_else(|| Asker::of(peer)), deed, came_of_it);
    }

    async fn reply<M: Method>(&mut self, reply: M::Reply, more: bool) -> io::Result<()> {
        let mut parts = M::parts(reply).into_iter().peekable();
        while let Some(part) = parts.next() {
            let continues = more || parts.peek().is_some();
            self.write(&answer::line(&part, continues)).await?;
        }
        Ok(())
    }

    async fn refuse(&mut self, failure: &Failure) -> io::Result<()> {
        if let Failure::InvalidRequest(explanation) = failure {
            self.complain(explanation);
        }
        self.write(&answer::failure(failure)).await
    }

    fn complain(&self, what: &Explanation) {
        self.context.complaints.about(format_args!("{what} ({})", self.client.peer));
    }

    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.connection.waits();
        let written = timeout(self.context.patience.answer, self.to.write_all(line)).await;
        self.connection.works();
        written.unwrap_or_else(|_| Err(io::Error::new(ErrorKind::TimedOut, "it does not read its answer")))
    }
}

/// The next item, or never if the client does not want any.
async fn next<T: Clone>(from: &mut Option<broadcast::Receiver<T>>) -> Result<T, RecvError> {
    match from {
        Some(from) => from.recv().await,
        None => std::future::pending().await,
    }
}

fn in_full(seen: &SampledDrop, request: &Request, depth: FrameDepth) -> Drop {
    let hexadecimal = |frame: &[u8]| frame.iter().map(|byte| format!("{byte:02x}")).collect();
    let frame = seen.frame(depth).filter(|_| request.frames).map(hexadecimal);
    Drop { frame, ..seen.told.clone() }
}

impl Answers for Session {
    /// Sends the request to the owner, and again for each further page.
    async fn answer<M: Method>(&mut self, parameters: M) -> io::Result<()> {
        if M::IS_ROOTS && !self.client.may_replace {
            let message = "only root may replace the running filterd";
            return self.refuse(&Failure::PermissionDenied(Explanation::new(message, "use sudo"))).await;
        }
        let mut request = match parameters.check() {
            Ok(request) => request,
            Err(failure) => {
                if !matches!(failure, Failure::InvalidRequest(_)) {
                    self.complain(failure.explanation());
                }
                return self.refuse(&failure).await;
            }
        };
        let peer = &self.client.peer;
        M::sign(&mut request, |verb| self.asker.get_or_insert_with(|| Asker::of(peer)).signature(verb));
        loop {
            let (asked, deed) = (M::bookmark(&request), M::deed(&request));
            let answered = self.ask::<M>(request).await;
            if let Some(deed) = deed {
                self.note(deed, answered.as_ref().map(M::counts).map_err(Failure::clone));
            }
            let reply = match answered {
                Ok(reply) => reply,
                Err(failure) => return self.refuse(&failure).await,
            };
            let next = asked.and_then(|asked| M::next_page(asked, &reply));
            self.reply::<M>(reply, next.is_some()).await?;
            match next {
                Some(next) => request = next,
                None => return Ok(()),
            }
        }
    }
}
