//! What kernels need, in words.

use hsaco_bytes::number::count as counted;

use crate::body::{LivePeak, LivePeaks};
use crate::mix::Mix;
use crate::resources::{
    Amounts, Curve, KernelResources, LdsAmounts, NextRow, OccupancyRow, StairRow, WhatIfRow,
};

/// What a kernel needs, each as a cell of a table: needed, declared and allocated.
#[derive(Clone, Debug)]
pub struct Spelt {
    /// Vector registers.
    pub vgprs: String,
    /// Accumulation registers.
    pub agprs: String,
    /// Scalar registers.
    pub sgprs: String,
    /// LDS.
    pub lds: String,
    /// Scratch memory.
    pub scratch: String,
    /// Waves, of the most that there can be.
    pub waves: String,
    /// What more waves take.
    pub more_waves: String,
}

impl KernelResources {
    /// What it needs, as cells of a table.
    #[must_use]
    pub fn spelt(&self) -> Spelt {
        Spelt {
            vgprs: amounts(&self.vgprs),
            agprs: amounts(&self.agprs),
            sgprs: amounts(&self.sgprs),
            lds: lds(&self.lds),
            scratch: amounts(&self.scratch),
            waves: self.occupancy.as_ref().map_or_else(dash, waves),
            more_waves: self.next().map_or_else(dash, freed),
        }
    }

    /// What such a table has no room for.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for short in &self.shortages {
            let (what, by) = (short.resource, short.by.join(" > "));
            let (allocated, needed) = (short.allocated, short.needed);
            remarks.push(format!("{what}: {allocated} allocated, {needed} needed by {by}"));
        }
        if !self.externals.is_empty() {
            let externals = self.externals.join(", ");
            remarks.push(format!("not counted, as other objects have it: {externals}"));
        }
        if self.unknown_calls > 0 {
            let calls = counted(self.unknown_calls, "unknown call");
            remarks.push(format!("{calls}: every function counted whose address is taken"));
        }
        if self.dynamic_stack {
            remarks.push(format!("scratch also grows by {}", self.growth()));
        }
        if let Some(what_if) = &self.what_if {
            remarks.push(what_if.words(self.occupancy.as_ref()));
        }
        remarks.extend(self.curve.iter().flat_map(Curve::words));
        remarks.extend(self.peak.iter().map(LivePeaks::words));
        remarks.extend(self.mix.iter().flat_map(Mix::words));
        remarks
    }

    /// What makes the stack grow.
    fn growth(&self) -> &'static str {
        if self.recursive {
            "recursion"
        } else if self.unknown_calls > 0 || !self.externals.is_empty() {
            "what callees need that are not known"
        } else {
            "what only run time knows"
        }
    }
}

impl WhatIfRow {
    /// `what if: 64 VGPRs, 48 SGPRs, 0 bytes of LDS: 8/8 waves instead of 7`
    fn words(&self, before: Option<&OccupancyRow>) -> String {
        let mut amounts = vec![
            so_many(self.vgprs, "VGPR"),
            so_many(self.sgprs, "SGPR"),
            format!("{} of LDS", so_many(self.lds, "byte")),
        ];
        amounts.extend(self.workgroup.map(|it| format!("workgroups of {it}")));
        format!("what if: {}: {}", amounts.join(", "), self.answer(before))
    }

    /// How many waves run, or what the device has too little of.
    fn answer(&self, before: Option<&OccupancyRow>) -> String {
        let Some(occupancy) = &self.occupancy else {
            let beyond = self.beyond.iter().map(|it| format!("{} {}", it.resource, it.most));
            return format!(
                "impossible, the device has at most {}",
                beyond.collect::<Vec<_>>().join(", ")
            );
        };
        let limit = occupancy.limiter.map_or_else(String::new, |it| format!(", limited by {it}"));
        let before =
            before.map_or_else(String::new, |it| format!(" instead of {}", it.waves_per_simd));
        format!("{} waves{before}{limit}", waves(occupancy))
    }
}

impl Curve {
    /// A line for each resource that decides anything: `waves by VGPRs: 8 up to 64, 7 up to 72`.
    fn words(&self) -> Vec<String> {
        let lines = [
            ("VGPRs", &self.vgprs),
            ("SGPRs", &self.sgprs),
            ("bytes of LDS", &self.lds),
            ("workgroup size", &self.workgroup),
        ];
        lines
            .iter()
            .map(|(what, stairs)| format!("waves by {what}: {}", stairs_words(stairs)))
            .collect()
    }
}

/// Stairs that differ only in what limits them are one.
fn stairs_words(stairs: &[StairRow]) -> String {
    let same = stairs.chunk_by(|a, b| a.waves_per_simd == b.waves_per_simd);
    let words = same.filter_map(|it| {
        let last = it.last()?;
        Some(format!("{} up to {}", last.waves_per_simd, last.last))
    });
    words.collect::<Vec<_>>().join(", ")
}

impl LivePeaks {
    /// `most live: 41 VGPRs at 0x1234 (gemm.hip:17), 12 SGPRs at 0x1200`
    #[must_use]
    pub fn words(&self) -> String {
        let peak = |peak: &Option<LivePeak>, what: &str| {
            let LivePeak { count, address, file, line } =
                peak.as_ref().filter(|it| it.count > 0)?;
            let place = match (file, line) {
                (Some(file), Some(line)) => format!(" ({file}:{line})"),
                _ => String::new(),
            };
            let what = counted(usize::try_from(*count).unwrap_or(usize::MAX), what);
            Some(format!("{what} at {address:#x}{place}"))
        };
        let peaks =
            [peak(&self.vgprs, "VGPR"), peak(&self.agprs, "AGPR"), peak(&self.sgprs, "SGPR")];
        let peaks: Vec<String> = peaks.into_iter().flatten().collect();
        let unknown = if self.complete { "" } else { "; not known everywhere" };
        match peaks.is_empty() {
            true => format!("most live: none{unknown}"),
            false => format!("most live: {}{unknown}", peaks.join(", ")),
        }
    }
}

impl Mix {
    /// A line each for classes, memory and matrix operations, without lines that say nothing.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let classes = self.classes.iter().map(|it| format!("{} {}", it.count, it.class));
        let memory = self.memory.iter().map(|it| {
            let width = it.width.map_or_else(|| "?".to_owned(), |it| it.to_string());
            format!("{} {} {} of {width} bytes", it.count, it.space, it.access)
        });
        let matrix = self.matrix.iter().map(|it| {
            let scaled = if it.scaled { " scaled" } else { "" };
            format!(
                "{} {}{scaled} {} {} x {} to {}",
                it.count, it.kind, it.shape, it.a, it.b, it.sum
            )
        });
        let line = |what: &str, parts: Vec<String>| {
            (!parts.is_empty()).then(|| format!("{what}: {}", parts.join(", ")))
        };
        let instructions = format!("{} instructions", self.instructions);
        let lines = [
            line(&instructions, classes.collect()),
            line("memory", memory.collect()),
            line("matrix", matrix.collect()),
        ];
        lines.into_iter().flatten().collect()
    }
}

fn waves(it: &OccupancyRow) -> String {
    format!("{}/{}", it.waves_per_simd, it.max_waves_per_simd)
}

fn amounts(it: &Amounts) -> String {
    [it.needed, it.declared, it.allocated].map(number).join("/")
}

fn lds(it: &LdsAmounts) -> String {
    let accessed = match it.accessed {
        Some(true) => "used".to_owned(),
        Some(false) => "0".to_owned(),
        None => dash(),
    };
    [accessed, number(it.declared), number(it.allocated)].join("/")
}

fn freed(it: &NextRow) -> String {
    let parts = [(it.vgprs, "vgprs"), (it.sgprs, "sgprs"), (it.lds, "bytes of LDS")];
    let freed = parts.iter().filter(|(count, _)| *count > 0);
    let freed: Vec<String> = freed.map(|(count, what)| format!("{count} {what}")).collect();
    format!("{} without {}", it.waves_per_simd, freed.join(", "))
}

/// `1 VGPR`, `1024 VGPRs`: amounts of tables and options are not grouped either.
fn so_many(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn number(number: Option<u64>) -> String {
    number.map_or_else(dash, |number| number.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
