//! A real browser, Debian's Chromium, driven by WebDriver: for tests of pages.
#![allow(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers: failing the test is the point, and a key that JSON lacks is null"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{TempDir, scratch_dir};

/// As root, without a screen, and without the connections that it makes by itself.
const ARGUMENTS: [&str; 13] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--font-render-hinting=none",
    "--force-prefers-reduced-motion",
];
/// A page that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Browser at port {}", self.port)
    }
}

impl Browser {
    /// Starts one with a window of this size.
    ///
    /// # Panics
    /// Panics when there is none to be started.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        Self::start(width, height).unwrap_or_else(|error| panic!("no browser: {error:#}"))
    }

    fn start(width: u32, height: u32) -> Result<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("chromedriver")?;
        let out = driver.stdout.take().context("chromedriver says nothing")?;
        let port = BufReader::new(out).lines().map_while(Result::ok).find_map(|line| {
            line.strip_suffix('.')?.rsplit_once("successfully on port ")?.1.parse().ok()
        });
        let profile = scratch_dir();
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.push(format!("--window-size={width},{height}"));
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let options = json!({"binary": "/usr/bin/chromium", "args": arguments});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": options,
        }}});
        let port = port.context("chromedriver has no port")?;
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let answer = browser.ask("POST", "/session", Some(&wanted))?;
        browser.session = answer["sessionId"].as_str().context("no session")?.to_owned();
        // The page that a new browser shows is none of ours.
        browser.go("about:blank");
        browser.console();
        browser.requests();
        Ok(browser)
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        // The driver keeps connections open.
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while reader.read_line(&mut head)? > 2 {
            let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            if let Some(count) = line.strip_prefix("content-length:") {
                length = count.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let answer: Value = serde_json::from_slice(&body)?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        Ok(answer["value"].clone())
    }

    fn command(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let path = format!("/session/{}{path}", self.session);
        self.ask(method, &path, body).unwrap_or_else(|error| panic!("{path}: {error:#}"))
    }

    /// Opens a file.
    pub fn open(&self, path: &Path) {
        self.go(&format!("file://{}", path.display()));
    }

    /// Opens an address.
    pub fn go(&self, url: &str) {
        self.command("POST", "/url", Some(&json!({"url": url})));
    }

    /// What a function body of JavaScript returns.
    pub fn js(&self, script: &str) -> Value {
        self.js_with(script, json!([]))
    }

    /// The same with arguments.
    #[allow(clippy::needless_pass_by_value, reason = "arguments are written in place")]
    pub fn js_with(&self, script: &str, arguments: Value) -> Value {
        let body = json!({"script": script, "args": arguments});
        self.command("POST", "/execute/sync", Some(&body))
    }

    /// What an expression of JavaScript is when it is no longer false or null.
    ///
    /// # Panics
    /// Panics when it stays so.
    pub fn wait(&self, expression: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.js(&format!("return {expression}"));
            if !matches!(found, Value::Null | Value::Bool(false)) {
                return found;
            }
            let text = || self.js("return document.body.innerText.slice(0, 2000)");
            assert!(Instant::now() < until, "not {expression}: {}", text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn element(&self, selector: &str) -> String {
        let body = json!({"using": "css selector", "value": selector});
        let found = self.command("POST", "/element", Some(&body));
        let id = found.as_object().and_then(|it| it.values().next()?.as_str());
        id.unwrap_or_else(|| panic!("no {selector}")).to_owned()
    }

    /// Clicks what a selector finds, as a user does: what is hidden cannot be clicked.
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.command("POST", &format!("/element/{element}/click"), Some(&json!({})));
    }

    /// Types into what a selector finds; what was there is gone.
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.command("POST", &format!("/element/{element}/clear"), Some(&json!({})));
        let body = json!({"text": text});
        self.command("POST", &format!("/element/{element}/value"), Some(&body));
    }

    /// Presses keys where the focus is.
    pub fn press(&self, selector: &str, keys: &str) {
        let element = self.element(selector);
        let body = json!({"text": keys});
        self.command("POST", &format!("/element/{element}/value"), Some(&body));
    }

    /// Turns the wheel over what a selector finds.
    pub fn wheel(&self, selector: &str, by: i64) {
        let element = self.element(selector);
        let origin = json!({"element-6066-11e4-a52e-4f735466cecf": element});
        let action = json!({"type": "scroll", "x": 0, "y": 0, "deltaX": 0, "deltaY": by,
            "origin": origin, "duration": 0});
        let body = json!({"actions": [{"type": "wheel", "id": "wheel", "actions": [action]}]});
        self.command("POST", "/actions", Some(&body));
    }

    /// The visible text of what a selector finds.
    pub fn text(&self, selector: &str) -> String {
        let found = self.js_with(
            "return document.querySelector(arguments[0])?.innerText ?? null",
            json!([selector]),
        );
        found.as_str().unwrap_or_else(|| panic!("no {selector}")).to_owned()
    }

    /// The window as a PNG file in base64.
    pub fn screenshot(&self) -> String {
        self.command("GET", "/screenshot", None).as_str().unwrap_or_default().to_owned()
    }

    /// Shows pages as on such a medium, `screen` or `print`, and in a dark or light scheme.
    pub fn emulate(&self, medium: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let parameters = json!({"media": medium, "features": features});
        let body = json!({"cmd": "Emulation.setEmulatedMedia", "params": parameters});
        self.command("POST", "/goog/cdp/execute", Some(&body));
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let found = self.command("POST", "/se/log", Some(&json!({"type": kind})));
        found.as_array().cloned().unwrap_or_default()
    }

    /// What the console has said since the last time: errors, warnings, everything.
    pub fn console(&self) -> Vec<String> {
        self.log("browser").iter().map(|it| it["message"].to_string()).collect()
    }

    /// The addresses that pages have asked for since the last time.
    pub fn requests(&self) -> Vec<String> {
        let url = |entry: &Value| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        };
        self.log("performance").iter().filter_map(url).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its driver if it does not by itself.
        drop(self.ask("DELETE", &format!("/session/{}", self.session), None));
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
