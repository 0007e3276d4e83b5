//! One client, from its first line to its last: requests in, answers out, in the same order.

use std::io::{self, ErrorKind};
use std::time::Duration;

use filter_common::target::Target;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::complaints::Complaints;
use super::connections::Connection;
use super::lines::{Broken, Lines};
use super::request::Request;
use super::wire::{Entry, Failure, LONGEST_LINE, Reply};
use super::{Call, answer, parse};

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// To send a line it has begun.
    pub line: Duration,
    /// To take a line of its answer.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { line: Duration::from_secs(30), answer: Duration::from_secs(10) }
    }
}

/// What a conversation needs besides its client.
#[derive(Clone)]
pub struct Context {
    /// To the owner of state.
    pub calls: mpsc::Sender<Call>,
    /// How long the client may take.
    pub patience: Patience,
    /// Where its faults are noted.
    pub complaints: Complaints,
}

/// Talks with one client until either side has had enough.
pub async fn hold(stream: UnixStream, connection: Connection, context: Context) {
    let (from, to) = stream.into_split();
    let lines = Lines::new(from, LONGEST_LINE, context.patience.line);
    let mut conversation = Conversation { to, connection, context };
    match conversation.run(lines).await {
        Ok(()) => {}
        // It was interrupted: its own business.
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
        Err(error) => conversation.context.complaints.about(format_args!("lost a client: {error}")),
    }
}

struct Conversation {
    to: OwnedWriteHalf,
    connection: Connection,
    context: Context,
}

impl Conversation {
    async fn run(&mut self, mut lines: Lines<OwnedReadHalf>) -> io::Result<()> {
        loop {
            self.connection.waits();
            let request = match lines.next().await {
                Ok(Some(line)) => parse::request(line),
                Ok(None) => return Ok(()),
                Err(broken) => return self.give_up(broken).await,
            };
            self.connection.works();
            match request {
                Ok(request) => self.apply(request).await?,
                Err(failure) => self.refuse(&failure).await?,
            }
        }
    }

    /// After a line without an end nothing that follows can be trusted to be a request.
    async fn give_up(&mut self, broken: Broken) -> io::Result<()> {
        let message = match broken {
            Broken::TooLong => format!("the line is longer than {LONGEST_LINE} bytes: send several"),
            Broken::TooSlow => format!("the line did not end within {:?}", self.context.patience.line),
            Broken::Failed(error) => return Err(error),
        };
        self.refuse(&Failure::InvalidRequest(message.into())).await
    }

    async fn apply(&mut self, request: Request) -> io::Result<()> {
        if let Request::List { .. } = request {
            return self.list(request).await;
        }
        match self.ask(request).await {
            Ok(reply) => self.reply(reply, false).await,
            Err(failure) => self.refuse(&failure).await,
        }
    }

    /// Fetches page after page, so that neither side ever holds the whole list.
    async fn list(&mut self, mut request: Request) -> io::Result<()> {
        loop {
            let reply = match self.ask(request.clone()).await {
                Ok(reply) => reply,
                Err(failure) => return self.refuse(&failure).await,
            };
            let next = after(&request, &reply);
            self.reply(reply, next.is_some()).await?;
            match next {
                Some(next) => request = next,
                None => return Ok(()),
            }
        }
    }

    async fn ask(&self, request: Request) -> Result<Reply, Failure> {
        let stopping = || Failure::Unavailable("filterd is stopping".into());
        let (reply, answer) = oneshot::channel();
        self.context.calls.send(Call { request, reply }).await.map_err(|_| stopping())?;
        answer.await.unwrap_or_else(|_| Err(stopping()))
    }

    async fn reply(&mut self, reply: Reply, more: bool) -> io::Result<()> {
        let mut parts = answer::parts(reply).into_iter().peekable();
        while let Some(part) = parts.next() {
            let continues = more || parts.peek().is_some();
            self.write(&answer::line(&part, continues)).await?;
        }
        Ok(())
    }

    async fn refuse(&mut self, failure: &Failure) -> io::Result<()> {
        if let Failure::InvalidRequest(explanation) = failure {
            self.context.complaints.about(&explanation.message);
        }
        self.write(&answer::failure(failure)).await
    }

    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.connection.waits();
        let written = timeout(self.context.patience.answer, self.to.write_all(line)).await;
        self.connection.works();
        written.unwrap_or_else(|_| Err(io::Error::new(ErrorKind::TimedOut, "it does not take its answer")))
    }
}

/// The request for the page after this one, if there can be one.
fn after(request: &Request, reply: &Reply) -> Option<Request> {
    let (Request::List { list, family, after, most }, Reply::Listed { entries }) = (request, reply) else {
        return None;
    };
    let last = last_target(entries).filter(|_| entries.len() >= *most)?;
    // An owner that repeats itself must not be asked for ever.
    let forward = after.is_none_or(|after| last > after);
    forward.then(|| Request::List { list: list.clone(), family: *family, after: Some(last), most: *most })
}

fn last_target(entries: &[Entry]) -> Option<Target> {
    entries.last()?.target.parse().ok()
}
