//! TCP streams from the peer to the host, as fast as both can.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use harness::HOST;
use harness::limited::LimitedListener;

use super::contender::Guarded;

/// How long one stream is measured.
const STREAM: Duration = Duration::from_millis(300);

/// Bytes in one call.
const AT_ONCE: usize = 1 << 17;

/// The rate of one stream, in Gbit/s.
pub fn rate(host: &Guarded) -> Result<f64> {
    let listener = host.net.host().entered(|| TcpListener::bind((HOST, 0))).context("cannot listen")?;
    let port = listener.local_addr()?.port();
    let mut writer =
        host.net.peer().entered(|| TcpStream::connect((HOST, port))).context("cannot connect")?;
    let (mut reader, _) = listener.limited_accept().context("nobody connects")?;
    thread::scope(|scope| {
        let writing = scope.spawn(move || -> Result<()> {
            let (begun, bytes) = (Instant::now(), vec![7; AT_ONCE]);
            while begun.elapsed() < STREAM {
                writer.write_all(&bytes)?;
            }
            Ok(writer.shutdown(Shutdown::Write)?)
        });
        let (begun, mut place, mut read) = (Instant::now(), vec![0; AT_ONCE], 0_u64);
        loop {
            match reader.read(&mut place)? {
                0 => break,
                more => read += more as u64,
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        writing.join().expect("it only writes")?;
        Ok(read as f64 * 8e-9 / seconds)
    })
}
