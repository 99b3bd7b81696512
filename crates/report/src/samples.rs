//! Samples of rocprofv3, as it writes them: JSON with addresses, CSV with the text of instructions.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use hsaco_bytes::TextError;
use serde::{Deserialize, Serialize};

/// What a file holds.
pub(crate) enum Samples {
    /// Object, address in it, text of the instruction, samples.
    Addressed(Vec<(ObjectId, u64, String, Tally)>),
    /// Rows of a CSV file.
    Unaddressed(Vec<UnaddressedRow>),
    /// The names of kernels, by dispatch.
    Kernels(HashMap<u64, String>),
}

/// A code object of a process: the number of the process in the file, and that of the object in the process.
pub(crate) type ObjectId = (usize, u64);

/// What was sampled of an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) samples: u64,
    /// Why the instruction was not issued, and how often; nothing of samples that do not know.
    pub(crate) reasons: BTreeMap<String, u64>,
}

impl Tally {
    fn one(stall: Option<&str>) -> Self {
        let reasons = stall.map(|it| (short(it), 1)).into_iter().collect();
        Self { samples: 1, reasons }
    }

    pub(crate) fn stalled(&self) -> u64 {
        self.reasons.values().sum()
    }
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, other: &Tally) {
        self.samples += other.samples;
        for (reason, count) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
    }
}

/// `WAITCNT` of `ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT`, as people say it: `waitcnt`.
fn short(reason: &str) -> String {
    const LONG: &str = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_";
    reason.strip_prefix(LONG).unwrap_or(reason).to_lowercase().replace('_', " ")
}

/// A sample without an address.
#[derive(Debug)]
pub(crate) struct UnaddressedRow {
    dispatch: Option<u64>,
    text: String,
    comment: String,
    tally: Tally,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "rocprofiler-sdk-tool")]
    tool: OneOrMany,
}

/// Processes: older versions write one, newer a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<Process>),
    One(Box<Process>),
}

#[derive(Deserialize)]
struct Process {
    buffer_records: Records,
    #[serde(default)]
    strings: Strings,
}

#[derive(Deserialize)]
struct Records {
    #[serde(default)]
    pc_sample_host_trap: Vec<Sample>,
    #[serde(default)]
    pc_sample_stochastic: Vec<Sample>,
}

#[derive(Default, Deserialize)]
struct Strings {
    #[serde(default)]
    pc_sample_instructions: Vec<String>,
}

#[derive(Deserialize)]
struct Sample {
    inst_index: i64,
    record: Record,
}

#[derive(Deserialize)]
struct Record {
    pc: Pc,
    /// Of stochastic sampling only: as a truth value or a number.
    wave_issued: Option<serde_json::Value>,
    snapshot: Option<Snapshot>,
}

#[derive(Deserialize)]
struct Pc {
    code_object_id: u64,
    code_object_offset: u64,
}

#[derive(Deserialize)]
struct Snapshot {
    stall_reason: Option<String>,
}

impl Record {
    fn tally(&self) -> Tally {
        let is_issued = match &self.wave_issued {
            None => true,
            Some(serde_json::Value::Bool(it)) => *it,
            Some(other) => other.as_u64() != Some(0),
        };
        let reason = self.snapshot.as_ref().and_then(|it| it.stall_reason.as_deref());
        Tally::one(if is_issued { None } else { Some(reason.unwrap_or("unknown")) })
    }
}

impl Samples {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, TextError> {
        let first = text.iter().find(|it| !it.is_ascii_whitespace());
        match first {
            Some(b'{') => Self::of_json(text),
            _ => Self::of_csv(&String::from_utf8_lossy(text)),
        }
    }

    fn of_json(text: &[u8]) -> Result<Self, TextError> {
        let document: Document = serde_json::from_slice(text)
            .map_err(|error| TextError::new(format!("no results of rocprofv3: {error}")))?;
        let processes = match document.tool {
            OneOrMany::Many(all) => all,
            OneOrMany::One(one) => vec![*one],
        };
        let mut rows = Vec::new();
        for (number, process) in processes.iter().enumerate() {
            let Records { pc_sample_host_trap, pc_sample_stochastic } = &process.buffer_records;
            for Sample { inst_index, record } in
                pc_sample_host_trap.iter().chain(pc_sample_stochastic)
            {
                let text = usize::try_from(*inst_index).ok();
                let text = text.and_then(|it| process.strings.pc_sample_instructions.get(it));
                // What could not be decoded there is in no code object.
                let Some(text) = text else { continue };
                let object = (number, record.pc.code_object_id);
                rows.push((object, record.pc.code_object_offset, text.clone(), record.tally()));
            }
        }
        match rows.is_empty() {
            true => Err(TextError::new("results of rocprofv3 without samples of instructions")),
            false => Ok(Self::Addressed(rows)),
        }
    }

    fn of_csv(text: &str) -> Result<Self, TextError> {
        let mut lines = records(text).into_iter();
        let head = lines.next().unwrap_or_default();
        let column = |name: &str| head.iter().position(|it| it == name);
        if let (Some(dispatch), Some(name)) = (column("Dispatch_Id"), column("Kernel_Name")) {
            let named = lines.filter_map(|line| {
                Some((line.get(dispatch)?.parse().ok()?, line.get(name)?.clone()))
            });
            return Ok(Self::Kernels(named.collect()));
        }
        let (Some(text), Some(comment)) = (column("Instruction"), column("Instruction_Comment"))
        else {
            let wanted = "its first line has no columns Instruction and Instruction_Comment";
            return Err(TextError::new(format!("no samples of rocprofv3: {wanted}")));
        };
        let (dispatch, issued) = (column("Dispatch_Id"), column("Wave_Issued_Instruction"));
        let reason = column("Stall_Reason");
        let row = |line: Vec<String>| {
            let cell = |at: Option<usize>| line.get(at?).map(String::as_str);
            let is_stalled = matches!(cell(issued), Some("0" | "False" | "false"));
            UnaddressedRow {
                dispatch: cell(dispatch).and_then(|it| it.parse().ok()),
                text: cell(Some(text)).unwrap_or_default().trim().to_owned(),
                comment: cell(Some(comment)).unwrap_or_default().to_owned(),
                tally: Tally::one(is_stalled.then(|| cell(reason).unwrap_or("unknown"))),
            }
        };
        Ok(Self::Unaddressed(lines.map(row).collect()))
    }
}

/// The cells of each line of a CSV file; those in quotes may hold commas, line breaks, and quotes twice.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => line.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            _ => cell.push(letter),
        }
    }
    if !cell.is_empty() || !line.is_empty() {
        line.push(cell);
        lines.push(line);
    }
    lines
}

/// Samples without addresses, which are placed by what their instructions say and where they come from.
#[derive(Debug, Default)]
pub(crate) struct Unaddressed {
    rows: Vec<UnaddressedRow>,
    kernels: HashMap<u64, String>,
    placed: AtomicU64,
}

impl Unaddressed {
    pub(crate) fn add(&mut self, rows: Vec<UnaddressedRow>) {
        self.rows.extend(rows);
    }

    pub(crate) fn name(&mut self, names: HashMap<u64, String>) {
        self.kernels.extend(names);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn unplaced(&self) -> Option<String> {
        let all = self.rows.len() as u64;
        let placed = self.placed.load(Ordering::Relaxed);
        (placed < all).then(|| {
            let left = all - placed;
            format!(
                "samples: {left} of {all} have no address and fit no kernel by their text; JSON has \
                 addresses, and the kernel trace names kernels"
            )
        })
    }

    /// Whether a sample can be of a function: by the name of its kernel, else by its place in a source file.
    fn can_be_of(&self, row: &UnaddressedRow, names: [&str; 2]) -> bool {
        match row.dispatch.and_then(|it| self.kernels.get(&it)) {
            Some(kernel) => names.contains(&kernel.trim_end_matches(".kd")),
            None => !row.comment.is_empty(),
        }
    }

    /// Puts samples at the instructions of a function. Of several that are alike the first takes them all.
    pub(crate) fn put_into(
        &self,
        columns: &mut SampleColumns,
        names: [&str; 2],
        texts: &[String],
        comments: impl Fn(usize) -> Option<String>,
    ) {
        let mut alike: HashMap<(&str, String), Vec<usize>> = HashMap::new();
        for (at, text) in texts.iter().enumerate() {
            let comment = comments(at).unwrap_or_default();
            alike.entry((text.trim(), comment)).or_default().push(at);
        }
        for row in self.rows.iter().filter(|it| self.can_be_of(it, names)) {
            let Some(found) = alike.get(&(row.text.as_str(), row.comment.clone())) else {
                continue;
            };
            let Some(&at) = found.first() else { continue };
            columns.add(at, &row.tally);
            if found.len() > 1 {
                columns.set_alike(at, found.len());
            }
            self.placed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Where waves were met in a function, by instruction.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SampleColumns {
    samples: Vec<u64>,
    /// Of these, how many did not issue their instruction.
    stalled: Vec<u64>,
    /// Why not.
    reasons: Vec<BTreeMap<String, u64>>,
    /// How many instructions a sample could belong to, where it has no address.
    #[serde(skip_serializing_if = "Option::is_none")]
    alike: Option<Vec<usize>>,
}

impl SampleColumns {
    pub(crate) fn total(&self) -> u64 {
        self.samples.iter().sum()
    }

    pub(crate) fn of_length(count: usize) -> Self {
        let reasons = vec![BTreeMap::new(); count];
        Self { samples: vec![0; count], stalled: vec![0; count], reasons, alike: None }
    }

    pub(crate) fn add(&mut self, at: usize, tally: &Tally) {
        if let Some(samples) = self.samples.get_mut(at) {
            *samples += tally.samples;
        }
        if let Some(stalled) = self.stalled.get_mut(at) {
            *stalled += tally.stalled();
        }
        if let Some(reasons) = self.reasons.get_mut(at) {
            for (reason, count) in &tally.reasons {
                *reasons.entry(reason.clone()).or_default() += count;
            }
        }
    }

    pub(crate) fn set_alike(&mut self, at: usize, count: usize) {
        let alike = self.alike.get_or_insert_with(|| vec![0; self.samples.len()]);
        if let Some(place) = alike.get_mut(at) {
            *place = count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_quotes_may_hold_anything() {
        let lines = records("a,\"b, \"\"c\"\"\"\r\n1,\"2\n3\"\n");
        assert_eq!(lines, [["a", "b, \"c\""], ["1", "2\n3"]]);
    }

    #[test]
    fn json_has_addresses_and_stalls() {
        let json = r#"{"rocprofiler-sdk-tool": [{"buffer_records": {"pc_sample_stochastic": [
            {"inst_index": 0, "record": {"pc": {"code_object_id": 2, "code_object_offset": 6400},
             "wave_issued": false, "snapshot": {"stall_reason":
             "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ALU_DEPENDENCY"}}},
            {"inst_index": -1, "record": {"pc": {"code_object_id": 0, "code_object_offset": 1}}}]},
            "strings": {"pc_sample_instructions": ["v_add_f32 v0, v0, v1"]}}]}"#;
        let Ok(Samples::Addressed(rows)) = Samples::parse(json.as_bytes()) else { panic!() };
        let [(object, address, text, tally)] = &rows[..] else { panic!("{}", rows.len()) };
        assert_eq!((*object, *address, text.as_str()), ((0, 2), 6400, "v_add_f32 v0, v0, v1"));
        assert_eq!((tally.samples, tally.stalled(), &tally.reasons["alu dependency"]), (1, 1, &1));
    }

    #[test]
    fn numbers_of_objects_may_be_as_large_as_can_be() {
        let process = format!(
            r#"{{"buffer_records": {{"pc_sample_host_trap": [{{"inst_index": 0, "record": {{"pc":
            {{"code_object_id": {}, "code_object_offset": 0}}}}}}]}},
            "strings": {{"pc_sample_instructions": ["s_nop 0"]}}}}"#,
            u64::MAX
        );
        let json = format!(r#"{{"rocprofiler-sdk-tool": [{process}, {process}]}}"#);
        let Ok(Samples::Addressed(rows)) = Samples::parse(json.as_bytes()) else { panic!() };
        let objects: Vec<ObjectId> = rows.iter().map(|it| it.0).collect();
        assert_eq!(objects, [(0, u64::MAX), (1, u64::MAX)]);
    }

    #[test]
    fn what_is_no_samples_is_refused() {
        let said = |text: &str| Samples::parse(text.as_bytes()).err().unwrap().to_string();
        assert!(said("{}").starts_with("no results of rocprofv3: missing field"));
        assert!(said("a,b\n1,2\n").starts_with("no samples of rocprofv3: "));
    }
}
