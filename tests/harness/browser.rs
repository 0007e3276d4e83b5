//! A real browser without a screen: Chromium, which is told what to do over two pipes (its DevTools protocol: a JSON message, and
//! a zero byte behind it).

use crate::limited::{LimitedChild, LimitedCommand};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::{Home, Namespace};

/// What `cargo xtask test` provides where it can.
const PROGRAM: &str = "chromium-headless-shell";

/// Its pipes are the descriptors 3 and 4.
const WITH_PIPES: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser, which ends with the story.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    /// It ends when nobody is left to tell it anything.
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    asked: u64,
    /// What the pages have complained of: scripts that failed, and what their policy forbids.
    complaints: Vec<String>,
}

/// How somebody looks at a page.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// In pixels.
    pub width: u32,
    /// He likes it dark.
    pub is_dark: bool,
}

/// A page that is open.
#[derive(Debug)]
pub struct Tab<'a> {
    browser: &'a mut Browser,
    session: String,
    look: Look,
}

impl Browser {
    /// Starts one in this namespace. A machine may have none.
    pub fn start(namespace: &Namespace, home: &Home) -> Option<Self> {
        match Command::new(PROGRAM).arg("--version").limited_output() {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            tried => _ = tried.expect("what is found can be started"),
        }
        // What hangs is killed, which a story notices; and so is what it leaves behind.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "timeout", "--signal=KILL", "300"]);
        command.args([
            "sh",
            "-c",
            WITH_PIPES,
            "sh",
            PROGRAM,
            "--remote-debugging-pipe",
            "--disable-dev-shm-usage",
        ]);
        command.arg(format!("--user-data-dir={}", home.path("browser").display()));
        command.env("HOME", home.path("browser")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = namespace.entered(|| command.spawn()).expect("setpriv can be started");
        let words = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Some(Self { process, words, answers, asked: 0, complaints: Vec::new() })
    }

    /// Opens a page.
    pub fn open(&mut self, address: &str, look: Look) -> Tab<'_> {
        let target = self.call(None, "Target.createTarget", json!({"url": "about:blank"}))["targetId"].take();
        let attach = json!({"targetId": target, "flatten": true});
        let session = self.call(None, "Target.attachToTarget", attach)["sessionId"].take();
        let session = session.as_str().expect("it has a name").to_owned();
        let mut tab = Tab { browser: self, session, look };
        for domain in ["Log.enable", "Runtime.enable"] {
            tab.call(domain, json!({}));
        }
        let scheme = if look.is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        tab.call("Emulation.setEmulatedMedia", json!({"features": features}));
        tab.resize(1000);
        tab.call("Page.navigate", json!({"url": address}));
        tab
    }

    /// What pages have complained of until now.
    pub fn complaints(&mut self) -> &[String] {
        // What came before the answer to this was said before it.
        self.call(None, "Browser.getVersion", json!({}));
        &self.complaints
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let message = [message.to_string().as_bytes(), &[0]].concat();
        let words = self.words.as_mut().expect("it is piped");
        words.write_all(&message).and_then(|()| words.flush()).expect("the browser reads");
        loop {
            let mut told = self.hear();
            if told["id"] == self.asked {
                assert!(told["error"].is_null(), "{method}: {told}");
                return told["result"].take();
            }
            self.note(&told);
        }
    }

    fn hear(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).expect("the browser answers");
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).expect("it speaks JSON")
    }

    fn note(&mut self, told: &Value) {
        match told["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(told["params"]["exceptionDetails"].to_string())
            }
            Some("Log.entryAdded") => self.complaints.push(told["params"]["entry"].to_string()),
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.words = None;
        let _ = self.process.limited_wait();
    }
}

impl Tab<'_> {
    /// What this expression of JavaScript is on the page.
    #[track_caller]
    pub fn tells(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let mut told = self.call("Runtime.evaluate", asked);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].take()
    }

    /// Writes a picture of the whole page, however long it is, to `target/pictures`.
    pub fn picture(&mut self, name: &str) {
        let height = self.tells("document.documentElement.scrollHeight");
        self.resize(height.as_u64().expect("it has one"));
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let shot = BASE64_STANDARD.decode(shot["data"].as_str().expect("a picture")).expect("it is base64");
        let pictures = pictures();
        std::fs::create_dir_all(&pictures).expect("target can be written");
        std::fs::write(pictures.join(name), shot).expect("target can be written");
    }

    /// What pages have complained of until now.
    pub fn complaints(&mut self) -> &[String] {
        self.browser.complaints()
    }

    fn resize(&mut self, height: u64) {
        let Look { width, .. } = self.look;
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }
}

/// Beside what is built.
fn pictures() -> PathBuf {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(here, PathBuf::from).join("pictures")
}
