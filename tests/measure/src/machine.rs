//! What it was measured on.

use std::fs;
use std::io::{Error, Result};
use std::process::Command;

use nix::sys::utsname::uname;

/// One line: processor, how many of it, how much cache, the kernel, and how busy it all was.
pub fn describe() -> String {
    let kernel =
        uname().map_or_else(|_| "?".to_owned(), |name| name.release().to_string_lossy().into_owned());
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processors = text.lines().filter(|line| line.starts_with("processor")).count();
    format!("{processors} × {}, {}, Linux {kernel}, load average {}", processor(&text), caches(), load())
}

/// The date, as in 2026-11-26.
pub fn today() -> Result<String> {
    let output = Command::new("date").arg("+%F").output()?;
    let date = String::from_utf8(output.stdout).map_err(Error::other)?;
    Ok(date.trim_end().to_owned())
}

/// How many wanted a processor at a time, in the last five minutes.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').nth(1).unwrap_or("?").to_owned()
}

fn processor(text: &str) -> String {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let name =
        value("model name").or_else(|| value("CPU part")).unwrap_or_else(|| "unknown processor".to_owned());
    let model = value("model\t").map_or_else(String::new, |model| format!(" model {model}"));
    let clock = value("cpu MHz").map_or_else(String::new, |clock| format!(" at {clock} MHz"));
    name + &model + &clock
}

/// The data caches of the first processor.
fn caches() -> String {
    let read = |index: u32, file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
        fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
    };
    let cache = |index| Some((read(index, "level")?, read(index, "type")?, read(index, "size")?));
    let data = (0..8).filter_map(cache).filter(|(_, kind, _)| kind != "Instruction");
    data.map(|(level, _, size)| format!("L{level} {size}")).collect::<Vec<_>>().join(" ")
}
