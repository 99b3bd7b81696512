//! What profiles and samples say of instructions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_analysis::{Code, first_instruction};
use hsaco_bytes::{SCHEMA_VERSION, TextError};
use serde::{Deserialize, Serialize};

use crate::samples::{SampleColumns, Samples, Tally, Unaddressed};

/// How often instructions ran, and where waves were met.
///
/// ```
/// let mut runs = hsaco_report::Runs::default();
/// assert!(runs.add_profile(b"{}").is_err());
/// let rows = "\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\"\n1,\"s_endpgm\",\"/a.hip:1\"\n";
/// assert!(runs.add_samples(rows.as_bytes()).is_ok());
/// ```
#[derive(Debug, Default)]
pub struct Runs {
    profiles: Vec<Group<Executions>>,
    samples: Vec<Group<Tally>>,
    unaddressed: Unaddressed,
}

/// What was seen of the instructions of one object, by their addresses in it.
#[derive(Debug)]
pub(crate) struct Group<T> {
    /// What it is called where it was seen.
    name: String,
    rows: BTreeMap<u64, (String, T)>,
    is_placed: AtomicBool,
}

/// How often an instruction ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executions {
    waves: u64,
    lanes: u64,
    cache_lines: u64,
}

#[derive(Deserialize)]
struct ProfileJson {
    schema_version: u32,
    instructions: Vec<ProfileRow>,
}

#[derive(Deserialize)]
struct ProfileRow {
    object: Option<String>,
    object_address: Option<u64>,
    text: String,
    executions: u64,
    lanes: u64,
    cache_lines: u64,
}

impl Runs {
    /// Adds a profile of `hsaco run --profile`.
    ///
    /// # Errors
    /// When the text is none.
    pub fn add_profile(&mut self, json: &[u8]) -> Result<(), TextError> {
        let profile: ProfileJson = serde_json::from_slice(json)
            .map_err(|error| TextError::new(format!("no profile of hsaco run: {error}")))?;
        if profile.schema_version != SCHEMA_VERSION {
            let version = profile.schema_version;
            let detail = format!("a profile of schema version {version}, not {SCHEMA_VERSION}");
            return Err(TextError::new(detail));
        }
        let mut groups = Vec::new();
        for row in profile.instructions {
            let Some(address) = row.object_address else { continue };
            let executions = Executions {
                waves: row.executions,
                lanes: row.lanes,
                cache_lines: row.cache_lines,
            };
            let name = row.object.unwrap_or_default();
            Group::of(&mut groups, &name).rows.insert(address, (row.text, executions));
        }
        if groups.is_empty() {
            return Err(TextError::new("a profile without instructions of code objects"));
        }
        self.profiles.extend(groups);
        Ok(())
    }

    /// Adds samples of `rocprofv3 --pc-sampling-…`, JSON or CSV, or the kernel trace that names the kernels of a CSV file.
    ///
    /// # Errors
    /// When the text is none of these.
    pub fn add_samples(&mut self, text: &[u8]) -> Result<(), TextError> {
        match Samples::parse(text)? {
            Samples::Addressed(rows) => {
                // Numbers of objects mean something in their own file only.
                let mut groups = Vec::new();
                for ((process, object), address, text, tally) in rows {
                    let name = match process {
                        0 => format!("code object {object}"),
                        _ => format!("code object {object} of process {process}"),
                    };
                    let group = Group::of(&mut groups, &name);
                    let (_, known) = group.rows.entry(address).or_insert((text, Tally::default()));
                    *known += &tally;
                }
                self.samples.extend(groups);
            }
            Samples::Unaddressed(rows) => self.unaddressed.add(rows),
            Samples::Kernels(names) => self.unaddressed.name(names),
        }
        Ok(())
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty() && self.samples.is_empty() && self.unaddressed.is_empty()
    }

    /// What belongs to no object of the report, one sentence for each.
    pub fn unplaced(&self) -> Vec<String> {
        let profiles = self.profiles.iter().filter_map(|it| it.unplaced("profile"));
        let samples = self.samples.iter().filter_map(|it| it.unplaced("samples"));
        profiles.chain(samples).chain(self.unaddressed.unplaced()).collect()
    }

    /// What belongs to an object.
    pub(crate) fn of(&self, code: &Code<'_>) -> ObjectRuns<'_> {
        ObjectRuns {
            profiles: self.profiles.iter().filter(|it| it.place(code)).collect(),
            samples: self.samples.iter().filter(|it| it.place(code)).collect(),
            unaddressed: &self.unaddressed,
        }
    }
}

impl<T> Group<T> {
    fn of<'g>(groups: &'g mut Vec<Self>, name: &str) -> &'g mut Self {
        let known = groups.iter().position(|it| it.name == name);
        let at = known.unwrap_or_else(|| {
            let (rows, is_placed) = (BTreeMap::new(), AtomicBool::new(false));
            groups.push(Self { name: name.to_owned(), rows, is_placed });
            groups.len() - 1
        });
        #[allow(clippy::indexing_slicing, reason = "it was found there or put there")]
        &mut groups[at]
    }

    /// Whether an object has all of these instructions at these addresses.
    fn place(&self, code: &Code<'_>) -> bool {
        let is_there = |(&address, (text, _)): (&u64, &(String, T))| {
            let function = code.functions().at(address)?;
            let offset = usize::try_from(address - function.address).ok()?;
            let (inst, _) =
                first_instruction(&code.decoder(function), function.code.get(offset..)?);
            let mnemonic = text.split(' ').next()?;
            let inst = inst?;
            let fits = [inst.full_mnemonic(), inst.mnemonic(), ""].contains(&mnemonic);
            fits.then_some(())
        };
        let fits = !self.rows.is_empty() && self.rows.iter().all(|row| is_there(row).is_some());
        self.is_placed.fetch_or(fits, Ordering::Relaxed);
        fits
    }

    fn unplaced(&self, what: &str) -> Option<String> {
        let Self { name, rows, is_placed } = self;
        let is_placed = is_placed.load(Ordering::Relaxed);
        (!is_placed).then(|| {
            let count = rows.len();
            format!("{what} of {name}: no object of the report has its {count} instructions")
        })
    }
}

/// A profile may say anything.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// What belongs to one object.
pub(crate) struct ObjectRuns<'r> {
    profiles: Vec<&'r Group<Executions>>,
    samples: Vec<&'r Group<Tally>>,
    unaddressed: &'r Unaddressed,
}

/// How often each instruction of a function ran, by number.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ProfileColumns {
    executions: Vec<u64>,
    lanes: Vec<u64>,
    cache_lines: Vec<u64>,
}

impl ProfileColumns {
    pub(crate) fn total(&self) -> u64 {
        sum(self.executions.iter().copied())
    }
}

impl ObjectRuns<'_> {
    /// How often instructions at these addresses ran; none without a profile of them.
    pub(crate) fn profile(&self, addresses: &[u64]) -> Option<ProfileColumns> {
        let find = |address: u64| self.profiles.iter().filter_map(move |it| it.rows.get(&address));
        if !addresses.iter().any(|it| find(*it).next().is_some()) {
            return None;
        }
        let column = |of: fn(&Executions) -> u64| {
            addresses.iter().map(|it| sum(find(*it).map(|row| of(&row.1)))).collect()
        };
        Some(ProfileColumns {
            executions: column(|it| it.waves),
            lanes: column(|it| it.lanes),
            cache_lines: column(|it| it.cache_lines),
        })
    }

    /// Where waves were met; `texts` are the instructions, `comments` their places in files, and `names` what the
    /// function is called. None without samples of them.
    pub(crate) fn samples(
        &self,
        addresses: &[u64],
        names: [&str; 2],
        texts: impl FnOnce() -> Vec<String>,
        comments: impl Fn(usize) -> Option<String>,
    ) -> Option<SampleColumns> {
        let mut columns = SampleColumns::of_length(addresses.len());
        for (at, address) in addresses.iter().enumerate() {
            let rows = self.samples.iter().filter_map(|it| it.rows.get(address));
            rows.for_each(|(_, tally)| columns.add(at, tally));
        }
        if !self.unaddressed.is_empty() {
            self.unaddressed.put_into(&mut columns, names, &texts(), comments);
        }
        (columns.total() > 0).then_some(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_object_are_added_up() {
        let group = |waves| Group {
            name: "a.co".to_owned(),
            rows: [(16, ("s_endpgm".to_owned(), Executions { waves, lanes: 0, cache_lines: 0 }))]
                .into(),
            is_placed: AtomicBool::new(true),
        };
        let (first, second) = (group(3), group(u64::MAX));
        let unaddressed = Unaddressed::default();
        let runs =
            |profiles| ObjectRuns { profiles, samples: Vec::new(), unaddressed: &unaddressed };
        let profile = runs(vec![&first, &first]).profile(&[16, 20]).unwrap();
        assert_eq!((profile.executions.as_slice(), profile.total()), (&[6, 0][..], 6));
        let most = runs(vec![&first, &second]).profile(&[16, 16]).unwrap();
        assert_eq!(most.total(), u64::MAX);
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        let mut runs = Runs::default();
        let said = |runs: &mut Runs, text: &str| {
            runs.add_profile(text.as_bytes()).unwrap_err().to_string()
        };
        assert!(said(&mut runs, "[]").starts_with("no profile of hsaco run: "));
        let other = r#"{"schema_version": 99, "instructions": []}"#;
        assert_eq!(said(&mut runs, other), "a profile of schema version 99, not 1");
        let empty = r#"{"schema_version": 1, "instructions": []}"#;
        assert_eq!(said(&mut runs, empty), "a profile without instructions of code objects");
        assert!(runs.is_empty());
    }
}
