//! A real browser: headless Chromium, controlled through its driver (W3C WebDriver).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tempfile::TempDir;

use e2e::{process, tools};

use crate::incident::PATIENCE;

/// A browser with one window.
pub(crate) struct Browser {
    client: Client<HttpConnector, Full<Bytes>>,
    driver: Child,
    session: String,
    _profile: TempDir,
}

/// Finds a program on `PATH`.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|program| program.is_file())
}

impl Browser {
    /// Opens a window. Returns `None`, with a clear message, without Chromium.
    pub(crate) async fn open(width: u32, height: u32) -> Option<Self> {
        let (Some(chromium), Some(driver)) = (installed("chromium"), installed("chromedriver")) else {
            eprintln!("SKIPPED: no chromium and chromedriver on PATH: NOTHING about the page was tested");
            return None;
        };
        let port = tools::free_port();
        let profile = TempDir::new().unwrap();
        let driver = Command::new(driver)
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Browser {
            client: Client::builder(TokioExecutor::new()).build_http(),
            driver,
            session: format!("http://127.0.0.1:{port}"),
            _profile: profile,
        };
        browser
            .until("the driver is ready", async |browser| {
                browser.try_send(Method::GET, "/status", None).await.filter(|status| status["ready"] == true)
            })
            .await;
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
        arguments.push(format!("--user-data-dir={}", browser._profile.path().display()));
        arguments.push(format!("--window-size={width},{height}"));
        let options = json!({ "binary": chromium, "args": arguments });
        let request = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let session = browser.send(Method::POST, "/session", Some(request)).await;
        browser.session = format!("{}/session/{}", browser.session, session["sessionId"].as_str().unwrap());
        Some(browser)
    }

    /// Opens a page.
    pub(crate) async fn go(&self, url: &str) {
        self.send(Method::POST, "/url", Some(json!({ "url": url }))).await;
    }

    /// Runs a script and returns its result.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.send(Method::POST, "/execute/sync", Some(json!({ "script": script, "args": [] }))).await
    }

    /// Runs a script that returns a promise, and returns the result of the promise.
    pub(crate) async fn run_async(&self, script: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; ({script}).then(done, (e) => done(String(e)))"
        );
        self.send(Method::POST, "/execute/async", Some(json!({ "script": script, "args": [] }))).await
    }

    /// Checks the page with axe-core by the rules of WCAG 2.2, levels A and AA. Returns the violated rules with the elements;
    /// `None`, with a clear message, without axe-core.
    pub(crate) async fn accessibility_violations(&self) -> Option<Value> {
        let Ok(axe) = std::fs::read_to_string(tools::target().join("tools/axe.min.js")) else {
            eprintln!("SKIPPED: no axe-core (tools/fetch-tools.sh axe): the accessibility was NOT tested");
            return None;
        };
        // The script of the driver is not subject to the policy of the page.
        self.run(&format!("{axe}; window.axe = axe")).await;
        let rules = json!({ "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
        let check = format!(
            "axe.run(document, {rules}).then(({{ violations }}) => violations.map(({{ id, nodes }}) => \
             [id, ...nodes.slice(0, 5).map(({{ html, failureSummary }}) => html + ' ' + failureSummary)]))"
        );
        Some(self.run_async(&check).await)
    }

    /// Returns the visible text of the page.
    pub(crate) async fn text(&self) -> String {
        self.run("return document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page contains a text. Returns the time this took.
    pub(crate) async fn reads(&self, text: &str) -> Duration {
        let start = Instant::now();
        self.until(text, async |browser| browser.text().await.contains(text).then_some(())).await;
        start.elapsed()
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub(crate) async fn command(&self, command: &str, parameters: Value) {
        let body = json!({ "cmd": command, "params": parameters });
        self.send(Method::POST, "/goog/cdp/execute", Some(body)).await;
    }

    /// Saves a screenshot if `CONSOLE_PICTURES` is set to a directory.
    pub(crate) async fn picture(&self, name: &str) {
        let Some(dir) = std::env::var_os("CONSOLE_PICTURES") else { return };
        let picture = self.send(Method::GET, "/screenshot", None).await;
        let picture = STANDARD.decode(picture.as_str().unwrap()).unwrap();
        std::fs::write(PathBuf::from(dir).join(format!("{name}.png")), picture).unwrap();
    }

    /// Ends the session. Blocking, so that it can be called when a test fails.
    fn end_session(&self) {
        let Some((address, path)) =
            self.session.trim_start_matches("http://").split_once('/').filter(|(_, path)| !path.is_empty())
        else {
            return;
        };
        let request = format!("DELETE /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        let sent = stream.write_all(request.as_bytes());
        // The driver responds when the browser has ended.
        let _ = sent.and_then(|()| stream.read(&mut [0; 64]));
    }

    async fn until<T>(&self, condition: &str, check: impl AsyncFn(&Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(value) = check(self).await {
                return value;
            }
            assert!(start.elapsed() < PATIENCE, "never: {condition}\n{}", self.page_or_nothing().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn page_or_nothing(&self) -> String {
        let body = json!({ "script": "return document.body.innerText", "args": [] });
        self.try_send(Method::POST, "/execute/sync", Some(body)).await.unwrap_or_default().to_string()
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let response =
            self.try_send(method, path, body).await.unwrap_or_else(|| panic!("{path}: the driver is gone"));
        assert!(response["error"].is_null(), "{path}: {response:#}");
        response
    }

    async fn try_send(&self, method: Method, path: &str, body: Option<Value>) -> Option<Value> {
        let body = body.map_or_else(String::new, |body| body.to_string());
        let request = Request::builder().method(method).uri(format!("{}{path}", self.session));
        let request = request.header("content-type", "application/json").body(Full::from(body)).ok()?;
        let response = self.client.request(request).await.ok()?;
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some(serde_json::from_slice::<Value>(&body).ok()?["value"].take())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of the session stops the browser. Without it, the browser would outlive its driver.
        self.end_session();
        process::signal(self.driver.id(), "TERM");
        let _ = self.driver.wait();
    }
}
