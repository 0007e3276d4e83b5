//! Detects that a server sent more than the size that it announced. The announced size is then wrong, and
//! the body may be incomplete. Only bytes that have already arrived are seen, which nearly always suffices.

use std::fmt;

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use super::connector::RecordingConnector;

/// Wraps connections as the outermost layer, where the bytes are HTTP.
pub struct SurplusConnector(pub RecordingConnector);

/// A connection that is watched for surplus bytes.
pub struct SurplusTransport<T: Transport> {
    inner: T,
    connected: RecordingConnector,
}

impl<In: Transport> Connector<In> for SurplusConnector {
    type Out = SurplusTransport<In>;

    fn connect(&self, _: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(|inner| SurplusTransport { inner, connected: self.0.clone() }))
    }
}

impl<T: Transport> Transport for SurplusTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

/// A connection is dropped as soon as its body has ended.
impl<T: Transport> Drop for SurplusTransport<T> {
    fn drop(&mut self) {
        self.connected.seen().has_surplus = !self.inner.buffers().input().is_empty();
    }
}

impl fmt::Debug for SurplusConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl<T: Transport> fmt::Debug for SurplusTransport<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({:?})", self.inner)
    }
}
