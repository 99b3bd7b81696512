//! What ran, told at the end on request: `HSACO_SUMMARY`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hsaco_emu::{Fidelity, KernelCode, MnemonicCounts, Outcome};

use crate::config::Config;
use crate::log;
use crate::runtime::{self, Runtime};

/// MnemonicCounts of everything.
pub(crate) struct Summary {
    /// Where it goes: a file, or standard error.
    to: Option<String>,
    launches: AtomicU64,
    waves: AtomicU64,
    instructions: AtomicU64,
    pub(crate) findings: AtomicU64,
    counts: Mutex<MnemonicCounts>,
    kernels: Mutex<BTreeMap<String, u64>>,
}

impl Summary {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            to: config.summary.clone(),
            launches: AtomicU64::new(0),
            waves: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
            findings: AtomicU64::new(0),
            counts: Mutex::default(),
            kernels: Mutex::default(),
        }
    }

    pub(crate) fn count(&self, outcome: &Outcome) {
        self.launches.fetch_add(1, Relaxed);
        self.waves.fetch_add(outcome.waves, Relaxed);
        self.instructions.fetch_add(outcome.instructions, Relaxed);
        if self.to.is_some() {
            self.add(&outcome.mnemonics);
        }
    }

    /// MnemonicCounts a launch of a kernel by its name.
    pub(crate) fn count_launch(&self, code: &KernelCode) {
        if self.to.is_some() {
            *runtime::lock(&self.kernels).entry(code.name().to_owned()).or_default() += 1;
        }
    }

    /// Adds what a kernel has counted, which is forgotten with it.
    pub(crate) fn count_code(&self, code: &KernelCode) {
        if self.to.is_some() {
            self.add(&code.take_counts());
        }
    }

    fn add(&self, counts: &MnemonicCounts) {
        let mut all = runtime::lock(&self.counts);
        for (mnemonic, (fidelity, count)) in counts {
            all.entry(mnemonic).or_insert((*fidelity, 0)).1 += count;
        }
    }

    /// Writes it, once.
    pub(crate) fn write(&self, runtime: &Runtime) {
        let Some(to) = &self.to else { return };
        for gpu in runtime.agents.iter().filter_map(|it| it.gpu.as_ref()) {
            let kernels = gpu.kernels.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            kernels.values().for_each(|it| self.count_code(it));
        }
        let text = self.text();
        if to == "1" {
            text.lines().for_each(log::line);
        } else if let Err(error) = std::fs::write(to, &text) {
            log::line(&format!("{to}: {error}"));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let number = |it: &AtomicU64| it.load(Relaxed);
        // Writing to a string does not fail.
        let _ = writeln!(text, "kernels launched  {}", number(&self.launches));
        let _ = writeln!(text, "waves             {}", number(&self.waves));
        let _ = writeln!(text, "instructions      {}", number(&self.instructions));
        let _ = writeln!(text, "findings          {}", number(&self.findings));
        let mut levels: BTreeMap<&str, u64> = BTreeMap::new();
        for (fidelity, count) in runtime::lock(&self.counts).values() {
            *levels.entry(name(*fidelity)).or_default() += count;
        }
        for (level, count) in levels {
            let _ = writeln!(text, "{level:<17} {count}");
        }
        for (kernel, count) in &*runtime::lock(&self.kernels) {
            let _ = writeln!(text, "launches of {kernel}: {count}");
        }
        text
    }
}

fn name(fidelity: Fidelity) -> &'static str {
    fidelity.name()
}
