//! What filterd answers to odd inputs: a table of command lines and answers, kept as text that people read, one file a
//! section. Whoever changes an answer reads it there once more.
//!
//! A line of a section is a command for `sh`, whose answer follows:
//! ```text
//! $ filterd add 203.0.113.300
//! ! filterd: what went to standard error
//! > what went to standard output
//! = 2
//! ```
//! Without `=` it exits with 0. `ODD_INPUTS=write cargo xtask test odd_inputs` writes down what is answered now.

use harness::limited::LimitedCommand;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;

use harness::{Net, home};

const SECTIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/odd_inputs");

#[test]
fn every_answer_is_as_it_was_read() {
    let write = std::env::var_os("ODD_INPUTS").is_some_and(|what| what == "write");
    let kept = sections().into_iter().map(|path| (fs::read_to_string(&path).expect("it is there"), path));
    let kept: Vec<_> = kept.collect();
    let answers: Vec<_> = thread::scope(|scope| {
        let begun: Vec<_> = kept.iter().map(|(text, _)| scope.spawn(|| answered(text))).collect();
        begun.into_iter().map(|section| section.join().expect("a section is answered")).collect()
    });
    let commands: usize = answers.iter().map(|(_, count)| count).sum();
    let mut wrong = Vec::new();
    for ((kept, path), (told, _)) in kept.into_iter().zip(answers) {
        if write {
            fs::write(&path, told).expect("it can be written");
        } else if told != kept {
            wrong.push(first_difference(&path, &kept, &told));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands >= 200, "there are only {commands}");
}

fn sections() -> Vec<PathBuf> {
    let files =
        fs::read_dir(SECTIONS).expect("the sections are beside this file").flatten().map(|file| file.path());
    let mut sections: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "txt")).collect();
    sections.sort();
    sections
}

/// The section with the answers of now, and how many there are. Each section has a filterd of its own.
fn answered(section: &str) -> (String, usize) {
    let mut net = Net::new();
    // By name, lest the tables say what this machine calls filterd's own user.
    let config = "block: [198.51.100.0/24]\nlists: [{name: drop, path: $HOME/drop.txt}]";
    net.start_with(config, &["--user", "daemon"]);
    net.file("drop.txt", "203.0.113.0/24\n");
    net.filterd(["reload"]).succeeds();
    let place = net.home().path("place");
    fs::create_dir(&place).expect("a home can be written");
    let programs = net.home().path("programs");
    fs::create_dir(&programs).expect("a home can be written");
    symlink(home::binary(), programs.join("filterd")).expect("a home can be written");
    let (mut told, mut count) = (String::new(), 0);
    for line in section.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            count += 1;
            told += &format!("{line}\n{}", shown(&run(&net, &place, command), &net));
        } else if !["> ", "! ", "= ", ">", "!"].iter().any(|mark| line.starts_with(mark)) {
            told += &format!("{line}\n");
        }
    }
    (told, count)
}

fn run(net: &Net, place: &Path, line: &str) -> Output {
    let programs = net.home().path("programs").display().to_string();
    let mut command = net.host().command("sh");
    command.args(["-c", line]).current_dir(place).env("FILTERD_SOCKET", net.home().socket());
    command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()));
    command.env("NO_COLOR", "1").env("TZ", "UTC").env("COLUMNS", "100");
    command.limited_output().expect("there is a shell")
}

/// An answer in the form of a section.
fn shown(output: &Output, net: &Net) -> String {
    let mut told = String::new();
    for (mark, bytes) in [('>', &output.stdout), ('!', &output.stderr)] {
        for line in String::from_utf8_lossy(bytes).lines() {
            let line = plain(line, net);
            // A character that a terminal would obey is one too many; here it is seen.
            let line: String =
                line.chars().map(|letter| if letter.is_control() { '␛' } else { letter }).collect();
            writeln!(told, "{}", format!("{mark} {line}").trim_end()).expect("text can be written to");
        }
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => writeln!(told, "= {code}").expect("text can be written to"),
        None => told.push_str("= a signal\n"),
    }
    told
}

/// Without what is another one each time: places, process ids, times of day, ages.
fn plain(line: &str, net: &Net) -> String {
    let place = net.home().path("");
    let line = line.replace(place.to_string_lossy().trim_end_matches('/'), "$HOME");
    let id = net.daemon().id();
    let line = line.replace(&format!("pid {id}"), "pid PID").replace(&format!("\"pid\":{id}"), "\"pid\":PID");
    let line = between(&line, "expires ", "(in ", "… ");
    let line = between(&line, "(in ", ")", "…");
    let line = between(&line, "\"since\":", ",", "…");
    let line = between(&line, "reloaded in ", " ms", "…");
    // How many name servers this machine has.
    let line = between(&line, "guard   host ", " targets", "…");
    age(&line, " s ago")
}

/// With `other` in place of what stands between these two, wherever they do.
fn between(line: &str, begin: &str, end: &str, other: &str) -> String {
    let Some((before, rest)) = line.split_once(begin) else { return line.to_owned() };
    match rest.find(end) {
        Some(at) => format!("{before}{begin}{other}{}", between(&rest[at..], begin, end, other)),
        None => line.to_owned(),
    }
}

/// `3 s ago` is `just now` on a faster machine.
fn age(line: &str, unit: &str) -> String {
    let Some(end) = line.find(unit) else { return line.to_owned() };
    let begin = line[..end].rfind(' ').map_or(0, |at| at + 1);
    if line[begin..end].parse::<u32>().is_err() {
        return line.to_owned();
    }
    format!("{}just now{}", &line[..begin], age(&line[end + unit.len()..], unit))
}

fn first_difference(path: &Path, kept: &str, told: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (mut asked, mut kept_lines) = ("", kept.lines());
    for line in told.lines() {
        let before = kept_lines.next();
        asked = line.strip_prefix("$ ").unwrap_or(asked);
        if before != Some(line) {
            let before = before.unwrap_or("nothing");
            return format!("{name}: `{asked}` is answered\n  {line}\nand was answered\n  {before}");
        }
    }
    format!("{name}: `{asked}` is answered by less than before: {}", kept_lines.next().unwrap_or_default())
}
