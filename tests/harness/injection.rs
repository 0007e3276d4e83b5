//! System calls that a process makes because somebody made it: its main thread is taken hold of, made to make one call after
//! another, and let go as it was.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The instruction that makes a call.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Below the stack, out of reach of what the thread has there.
const BELOW_THE_STACK: u64 = 2048;

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A number.
    Number(u64),
    /// A pointer to these bytes.
    Bytes(&'a [u8]),
}

/// A thread that is held; it goes on when this is dropped.
pub struct Injection {
    thread: Pid,
    memory: File,
    /// Where an instruction of the program makes a call.
    instruction: u64,
    before: user_regs_struct,
}

impl Injection {
    /// Takes hold of the main thread of this process.
    #[track_caller]
    pub fn begin(process: u32) -> Self {
        let thread = Pid::from_raw(i32::try_from(process).expect("process ids are small"));
        ptrace::attach(thread).expect("root may trace it");
        wait(thread, Signal::SIGSTOP);
        let memory = File::options().read(true).write(true).open(format!("/proc/{process}/mem"));
        let memory = memory.expect("root may write there");
        let instruction = find(process, &memory);
        let before = ptrace::getregs(thread).expect("it is stopped");
        Self { thread, memory, instruction, before }
    }

    /// Has it make this call; returns what the kernel does: an error is negative.
    #[track_caller]
    pub fn call(&mut self, number: i64, arguments: &[Argument<'_>]) -> i64 {
        let mut values = [0; 6];
        let mut end = self.before.rsp - BELOW_THE_STACK;
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = match argument {
                Argument::Number(number) => *number,
                Argument::Bytes(bytes) => {
                    end = (end - bytes.len() as u64) & !15;
                    self.memory.write_all_at(bytes, end).expect("its stack is there");
                    end
                }
            };
        }
        let [rdi, rsi, rdx, r10, r8, r9] = values;
        // What was interrupted is not to begin anew before this.
        let (rax, orig_rax) = (number as u64, u64::MAX);
        let registers = user_regs_struct {
            rip: self.instruction,
            rax,
            orig_rax,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.before
        };
        ptrace::setregs(self.thread, registers).expect("it is stopped");
        ptrace::step(self.thread, None).expect("it is stopped");
        wait(self.thread, Signal::SIGTRAP);
        ptrace::getregs(self.thread).expect("it is stopped").rax as i64
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        let _ = ptrace::setregs(self.thread, self.before);
        let _ = ptrace::detach(self.thread, None);
    }
}

#[track_caller]
fn wait(thread: Pid, signal: Signal) {
    let status = waitpid(thread, Some(WaitPidFlag::__WALL)).expect("it is traced");
    assert_eq!(status, WaitStatus::Stopped(thread, signal));
}

/// Looks through what the process can run.
fn find(process: u32, memory: &File) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("it runs");
    let runs = maps.lines().filter(|line| line.contains(" r-xp ") && line.contains('/'));
    let found = runs.filter_map(|line| {
        let (begin, end) = line.split(' ').next()?.split_once('-')?;
        let [begin, end] = [begin, end].map(|address| u64::from_str_radix(address, 16).expect("an address"));
        let mut code = vec![0; (end - begin) as usize];
        memory.read_exact_at(&mut code, begin).ok()?;
        let at = code.windows(2).position(|bytes| bytes == SYSCALL)?;
        Some(begin + at as u64)
    });
    let mut found = found;
    found.next().expect("every program makes calls")
}
