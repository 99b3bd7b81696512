//! Handlers of signals, on a thread of the runtime.

use std::ffi::c_void;
use std::sync::{Mutex, OnceLock};
use std::thread::JoinHandle;

use crate::abi::{AmdSignal, Answer, Status};
use crate::runtime::{self, Runtime};
use crate::signal::{self, Condition, Watching, changed};
use crate::sync::Patience;

/// A handler: it stays as long as it answers true.
pub(crate) type Callback = extern "C" fn(i64, *mut c_void) -> bool;

struct Handler {
    signal: &'static AmdSignal,
    until: Condition,
    callback: Callback,
    argument: usize,
    _watching: Watching,
}

/// Functions that the program wants called on the same thread.
type Function = (extern "C" fn(*mut c_void), usize);

/// What the thread has to do.
#[derive(Default)]
pub(crate) struct Events {
    handlers: Mutex<Vec<Handler>>,
    functions: Mutex<Vec<Function>>,
    thread: OnceLock<Mutex<Option<JoinHandle<()>>>>,
}

impl Events {
    pub(crate) fn add(
        &self,
        runtime: &'static Runtime,
        handle: u64,
        until: Condition,
        callback: Callback,
        argument: *mut c_void,
    ) -> Answer {
        let signal = signal::find(handle)?;
        let _watching = Watching::new([signal]);
        let argument = argument as usize;
        runtime::lock(&self.handlers).push(Handler {
            signal,
            until,
            callback,
            argument,
            _watching,
        });
        self.start(runtime)
    }

    pub(crate) fn call(
        &self,
        runtime: &'static Runtime,
        function: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    ) -> Answer {
        runtime::lock(&self.functions).push((function, argument as usize));
        self.start(runtime)
    }

    fn start(&self, runtime: &'static Runtime) -> Answer {
        let start =
            || Mutex::new(runtime::spawn("hsaco-events", move || runtime.events.run(runtime)));
        let thread = self.thread.get_or_init(start);
        changed().ring();
        runtime::lock(thread).as_ref().map(drop).ok_or(Status::OUT_OF_RESOURCES)
    }

    fn run(&self, runtime: &Runtime) {
        let mut patience = Patience::new();
        while !runtime.is_over.load(std::sync::atomic::Ordering::SeqCst) {
            let known = changed().rings();
            if self.turn() {
                patience = Patience::new();
                continue;
            }
            changed().wait(known, patience.next());
        }
    }

    /// Calls what is due; says whether anything was. Handlers may add others, so no lock is held.
    fn turn(&self) -> bool {
        let functions = std::mem::take(&mut *runtime::lock(&self.functions));
        let mut due = Vec::new();
        let mut handlers = runtime::lock(&self.handlers);
        let mut at = 0;
        while let Some(handler) = handlers.get(at) {
            let value = handler.signal.value.load(std::sync::atomic::Ordering::Acquire);
            match handler.until.holds(value) {
                true => due.push((handlers.remove(at), value)),
                false => at += 1,
            }
        }
        drop(handlers);
        let has_run = !functions.is_empty() || !due.is_empty();
        for (function, argument) in functions {
            function(argument as *mut c_void);
        }
        for (handler, value) in due {
            if (handler.callback)(value, handler.argument as *mut c_void) {
                runtime::lock(&self.handlers).push(handler);
            }
        }
        has_run
    }

    /// Waits for the thread, unless a handler is what ends the runtime.
    pub(crate) fn end(&self) {
        let thread = self.thread.get().and_then(|it| runtime::lock(it).take());
        runtime::join(thread);
        runtime::lock(&self.handlers).clear();
    }
}
