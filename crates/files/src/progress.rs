//! Signs of life on a terminal, when work is long. Nothing is shown unless a program begins it.

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends before this shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);

static BAR: OnceLock<ProgressBar> = OnceLock::new();
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Begins to wait, if standard error is a terminal.
pub fn begin() {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{spinner} {msg} {human_pos} objects, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    if BAR.set(bar.clone()).is_ok() {
        // It ends with the process.
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !IS_OVER.load(Ordering::Relaxed) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(100));
            }
        });
    }
}

/// A file begins.
pub fn file(name: &str) {
    if let Some(bar) = BAR.get() {
        // A name may hold what commands terminals.
        let shown = |it: char| if it.is_control() { char::REPLACEMENT_CHARACTER } else { it };
        bar.set_message(name.chars().map(shown).collect::<String>());
    }
}

/// Objects were read.
pub fn objects(count: usize) {
    if let Some(bar) = BAR.get() {
        bar.inc(count as u64);
    }
}

/// Writes a line to standard error, which what is shown gives way to.
pub fn aside(write: impl FnOnce()) {
    match BAR.get() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Shows nothing more: the answer follows, or there is none.
pub fn end() {
    if let Some(bar) = BAR.get() {
        IS_OVER.store(true, Ordering::Relaxed);
        bar.finish_and_clear();
    }
}
