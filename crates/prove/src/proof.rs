//! Kernels of two objects, launched until nothing new runs.
#![allow(clippy::indexing_slicing, reason = "there are two sides, and numbers say which")]

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hsaco_analysis::{CallGraph, Code};
use hsaco_emu::{
    Effect, Fault, FaultKind, Fidelity, LoadedKernel, MetErratum, Outcome, Revision, Sanitizer,
    TraceFilter,
};
use hsaco_object::CodeObject;

use crate::compare::{self, Difference, DifferenceKind, Parting};
use crate::error::{Error, Result};
use crate::flow::Reached;
use crate::input::Input;
use crate::observe::{self, Capture, LastStore, Store, Visited, Visits, WaveId};
use crate::run::{Left, Side, Watch};
use crate::site::RewrittenSite;

/// How a proof is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The silicon of the original and of the result.
    pub revisions: [Revision; 2],
    /// Generated launches at most.
    pub seeds: u64,
    /// Launches that cover nothing new before it is enough.
    pub patience: u64,
    /// Wave instructions of a launch at most.
    pub instructions: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            revisions: [Revision::B0, Revision::A0],
            seeds: 64,
            patience: 8,
            instructions: 4_000_000,
        }
    }
}

/// What became of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofVerdict {
    /// All that ran was the same, and something ran.
    Holds,
    /// Something was not the same.
    Differs,
    /// No launch ran, or none came to what was rewritten.
    NothingRan,
}

impl ProofVerdict {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NothingRan => "nothing-ran",
        }
    }
}

/// How often waves came to a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRuns {
    /// The site.
    pub site: RewrittenSite,
    /// How often in the original.
    pub original: u64,
    /// How often in the result.
    pub result: u64,
    /// The errata that the original meets there on the silicon of the result.
    pub errata: BTreeSet<&'static str>,
}

impl SiteRuns {
    /// Whether it ran on both sides.
    #[must_use]
    pub fn ran(&self) -> bool {
        self.original != 0 && self.result != 0
    }
}

/// What was found out about a kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelProof {
    /// Its name.
    pub name: String,
    /// Launches that both ran.
    pub launches: u64,
    /// Launches on which the original itself stopped, and why.
    pub discarded: Vec<(String, String)>,
    /// What was rewritten of what it reaches.
    pub sites: Vec<SiteRuns>,
    /// Blocks of the original that ran, and all of them.
    pub blocks: (usize, usize),
    /// Mnemonics that ran and whose results are approximate.
    pub approximate: BTreeSet<&'static str>,
    /// Errata that the result meets on its silicon and of which no result is known to be wrong.
    pub harmless: BTreeSet<(&'static str, u64)>,
    /// What was not the same.
    pub differences: Vec<Difference>,
}

impl KernelProof {
    /// What became of it.
    #[must_use]
    pub fn verdict(&self) -> ProofVerdict {
        if !self.differences.is_empty() {
            return ProofVerdict::Differs;
        }
        let ran = self.sites.is_empty() || self.sites.iter().any(SiteRuns::ran);
        if self.launches != 0 && ran { ProofVerdict::Holds } else { ProofVerdict::NothingRan }
    }
}

/// An original and what was made of it.
///
/// ```no_run
/// use hsaco_prove::{Prover, Settings, ProofVerdict};
/// let (original, result) = (std::fs::read("b0.co")?, std::fs::read("a0.co")?);
/// let prover = Prover::new(&original, &result, None, Settings::default())?;
/// for kernel in prover.kernels() {
///     assert_eq!(prover.prove(&kernel, None)?.verdict(), ProofVerdict::Holds);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Prover<'o> {
    original: Side<'o>,
    result: Side<'o>,
    /// The original on the silicon of the result.
    misplaced: Side<'o>,
    code: Code<'o>,
    graph: CallGraph<'o>,
    sites: Vec<RewrittenSite>,
    settings: Settings,
}

/// What ran of one launch.
struct Ran {
    outcomes: [Outcome; 2],
    difference: Option<Difference>,
}

impl<'o> Prover<'o> {
    /// Two objects; the sites are those of a manifest, else where their code differs.
    ///
    /// # Errors
    /// One of them cannot be loaded.
    pub fn new(
        original: &'o [u8],
        result: &'o [u8],
        sites: Option<Vec<RewrittenSite>>,
        settings: Settings,
    ) -> Result<Self> {
        let code = |bytes: &'o [u8]| {
            let object = CodeObject::parse(bytes).map_err(Error::of)?;
            Code::of(&object).map_err(Error::of)
        };
        let [one, other] = [code(original)?, code(result)?];
        let sites = sites.unwrap_or_else(|| RewrittenSite::between(&one, &other));
        let graph = CallGraph::new(&one);
        let [from, to] = settings.revisions;
        Ok(Self {
            original: Side::new("original", original, from)?,
            result: Side::new("result", result, to)?,
            misplaced: Side::new("original", original, to)?,
            code: one,
            graph,
            sites,
            settings,
        })
    }

    /// All that was rewritten.
    #[must_use]
    pub fn sites(&self) -> &[RewrittenSite] {
        &self.sites
    }

    /// The kernels that reach something that was rewritten; all of them where nothing was.
    #[must_use]
    pub fn kernels(&self) -> Vec<String> {
        let all = self.code.index().kernels().iter().map(|it| it.name().to_string());
        let reaches = |name: &String| !self.reached(name).sites.is_empty();
        all.filter(|name| self.sites.is_empty() || reaches(name)).collect()
    }

    /// A kernel of the original, with what is known of its arguments.
    ///
    /// # Errors
    /// There is none of that name, or its arguments are not known.
    pub fn kernel(&self, name: &str) -> Result<LoadedKernel> {
        self.original.kernel(name)
    }

    fn reached(&self, kernel: &str) -> Reached {
        Reached::new(&self.code, &self.graph, kernel, &self.sites, self.original.delta())
    }

    /// A proof before anything ran.
    fn nothing(&self, name: &str, reached: &Reached) -> KernelProof {
        let sites = reached.sites.iter().filter_map(|it| self.sites.get(*it));
        let sites = sites.map(|it| SiteRuns {
            site: it.clone(),
            original: 0,
            result: 0,
            errata: BTreeSet::new(),
        });
        KernelProof {
            name: name.to_owned(),
            launches: 0,
            discarded: Vec::new(),
            sites: sites.collect(),
            blocks: (0, reached.blocks.len()),
            approximate: BTreeSet::new(),
            harmless: BTreeSet::new(),
            differences: Vec::new(),
        }
    }

    /// Launches a kernel with these inputs, else with generated ones until they cover nothing new.
    ///
    /// # Errors
    /// There is no such kernel, or inputs do not fit it.
    pub fn prove(&self, kernel: &str, inputs: Option<&[Input]>) -> Result<KernelProof> {
        let reached = self.reached(kernel);
        let kernels = match (self.original.kernel(kernel), self.result.kernel(kernel)) {
            (Ok(original), Ok(result)) => [original, result],
            // Without launches nothing is proven, and that is told.
            (Err(why), _) | (_, Err(why)) if inputs.is_none() => {
                let discarded = vec![("every launch".to_owned(), why.to_string())];
                return Ok(KernelProof { discarded, ..self.nothing(kernel, &reached) });
            }
            (Err(why), _) | (_, Err(why)) => return Err(why),
        };
        let mut attempt = Attempt::new(self, &kernels, &reached);
        match inputs {
            Some(inputs) => {
                for input in inputs {
                    attempt.launch(input)?;
                }
            }
            None => attempt.explore()?,
        }
        Ok(attempt.finish())
    }
}

/// A proof in the making.
struct Attempt<'p, 'o> {
    prover: &'p Prover<'o>,
    kernels: &'p [LoadedKernel; 2],
    reached: &'p Reached,
    addresses: HashSet<u64>,
    /// Addresses of instructions of the original that ran.
    covered: BTreeSet<u64>,
    proof: KernelProof,
}

impl<'p, 'o> Attempt<'p, 'o> {
    fn new(prover: &'p Prover<'o>, kernels: &'p [LoadedKernel; 2], reached: &'p Reached) -> Self {
        let proof = prover.nothing(&kernels[0].name, reached);
        let addresses = observe::addresses(&reached.edges);
        Self { prover, kernels, reached, addresses, covered: BTreeSet::new(), proof }
    }

    /// Tries one seed after the other.
    fn explore(&mut self) -> Result<()> {
        let Settings { seeds, patience, .. } = self.prover.settings;
        let name = self.kernels[0].name.as_str();
        let index = self.prover.code.index();
        let metadata = index.kernels().iter().find(|it| it.name() == *name);
        let metadata = metadata.and_then(|it| it.metadata()?.decode().ok());
        let mut idle = 0;
        for seed in 0..seeds {
            let Some(input) = Input::generate(&self.kernels[0], metadata.as_ref(), seed) else {
                continue;
            };
            let known = self.covered.len();
            self.launch(&input)?;
            idle = if self.covered.len() > known { 0 } else { idle + 1 };
            if idle >= patience || !self.proof.differences.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn launch(&mut self, input: &Input) -> Result<()> {
        let Some(ran) = self.run_both(input)? else { return Ok(()) };
        self.proof.launches += 1;
        self.count(&ran.outcomes);
        self.proof.differences.extend(ran.difference);
        let delta = self.prover.original.delta();
        for met in &ran.outcomes[1].errata {
            if met.effect == Effect::Harmless {
                self.proof.harmless.insert((met.name, met.address.wrapping_sub(delta)));
            } else {
                self.proof.differences.push(self.erratum(input, met));
            }
        }
        self.meet(input)?;
        if self.proof.differences.is_empty() {
            let difference = self.timing(input)?;
            self.proof.differences.extend(difference);
        }
        Ok(())
    }

    /// What the emulator, which loads at once, does right and the silicon would not: in the result, and not in the original
    /// at the same place.
    fn timing(&self, input: &Input) -> Result<Option<Difference>> {
        let prover = self.prover;
        let found = self.sanitize(&prover.result, 1, input)?;
        if found.is_empty() {
            return Ok(None);
        }
        let known = self.sanitize(&prover.original, 0, input)?;
        let place =
            |side: &Side<'_>, it: &Fault| (it.kind, it.at.address.wrapping_sub(side.delta()));
        let is_known = |fault: &Fault| {
            let result = place(&prover.result, fault);
            known.iter().any(|it| place(&prover.original, it) == result)
        };
        let new = found.into_iter().find(|it| it.is_certain && !is_known(it));
        Ok(new.map(|fault| Difference {
            kind: DifferenceKind::Timing,
            input: input.label.clone(),
            address: Some(fault.at.address.wrapping_sub(prover.result.delta())),
            source: prover.result.source(fault.at.address),
            instruction: fault.at.instruction,
            wave: Some((fault.at.workgroup, fault.at.wave)),
            lanes: fault.at.lanes,
            place: fault.kind.name().to_owned(),
            original: "none".to_owned(),
            result: fault.message,
        }))
    }

    fn sanitize(&self, side: &Side<'_>, which: usize, input: &Input) -> Result<Vec<Fault>> {
        let sanitizer = Sanitizer::new(&[FaultKind::Wait, FaultKind::Hazard]);
        let watch = Watch { sanitizer: Some(&sanitizer), ..Watch::default() };
        let most = self.prover.settings.instructions << which;
        // Whether it ends is known.
        let _ = side.run(&self.kernels[which], input, watch, most)?;
        Ok(sanitizer.faults())
    }

    /// Runs the original on the silicon of the result, to see which sites needed to be rewritten.
    fn meet(&mut self, input: &Input) -> Result<()> {
        let misplaced = &self.prover.misplaced;
        let most = self.prover.settings.instructions;
        let (ran, _) = misplaced.run(&self.kernels[0], input, Watch::default(), most)?;
        let delta = self.prover.original.delta();
        // Where it hangs, the erratum that it hangs by is the reason.
        let (errata, hangs) = match &ran {
            Ok(outcome) => (outcome.errata.as_slice(), None),
            Err(error) => (&[][..], error.location().map(|it| it.address)),
        };
        for site in &mut self.proof.sites {
            let covers = |address: u64| site.site.covers(address.wrapping_sub(delta));
            site.errata.extend(errata.iter().filter(|it| covers(it.address)).map(|it| it.name));
            site.errata.extend(hangs.filter(|it| covers(*it)).map(|_| "hang"));
        }
        Ok(())
    }

    fn erratum(&self, input: &Input, met: &MetErratum) -> Difference {
        Difference {
            kind: DifferenceKind::Erratum,
            input: input.label.clone(),
            address: Some(met.address.wrapping_sub(self.prover.result.delta())),
            instruction: met.instruction.clone(),
            source: self.prover.result.source(met.address),
            wave: None,
            lanes: 0,
            place: met.name.to_owned(),
            original: "none".to_owned(),
            result: met.detail.to_owned(),
        }
    }

    fn count(&mut self, outcomes: &[Outcome; 2]) {
        let delta = self.prover.original.delta();
        let runs = |outcome: &Outcome, address: u64| {
            outcome.profile.get(&address.wrapping_add(delta)).map_or(0, |it| it.executions)
        };
        for site in &mut self.proof.sites {
            site.original += runs(&outcomes[0], site.site.instruction);
            site.result += runs(&outcomes[1], site.site.address);
        }
        for (mnemonic, (fidelity, _)) in outcomes.iter().flat_map(|it| &it.mnemonics) {
            if *fidelity == Fidelity::Approximate {
                self.proof.approximate.insert(mnemonic);
            }
        }
        self.covered.extend(outcomes[0].profile.keys().map(|it| it.wrapping_sub(delta)));
    }

    /// Runs a launch on both sides; nothing where the original itself stops.
    fn run_both(&mut self, input: &Input) -> Result<Option<Ran>> {
        let (ran, left, visits) = self.run(&self.prover.original, 0, input)?;
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(error) => {
                self.proof.discarded.push((input.label.clone(), error.to_string()));
                return Ok(None);
            }
        };
        let (other, other_left, other_visits) = self.run(&self.prover.result, 1, input)?;
        let difference = match compare::parting(&visits, &other_visits) {
            Some(parting) => Some(self.parted(input, parting)?),
            None => match &other {
                Err(error) => Some(self.stopped(input, error)),
                Ok(_) => self.memory(input, &left, &other_left)?,
            },
        };
        let other = other.unwrap_or_default();
        Ok(Some(Ran { outcomes: [outcome, other], difference }))
    }

    #[allow(clippy::type_complexity, reason = "what a run is and what it left")]
    fn run(
        &self,
        side: &Side<'_>,
        which: usize,
        input: &Input,
    ) -> Result<(hsaco_emu::Result<Outcome>, Left, BTreeMap<WaveId, Vec<Visited>>)> {
        let visits = Visits::new(&self.reached.edges);
        let watch = Watch { observer: Some((&visits, &self.addresses)), ..Watch::default() };
        let most = self.prover.settings.instructions << which;
        let (ran, left) = side.run(&self.kernels[which], input, watch, most)?;
        Ok((ran, left, visits.finish()))
    }

    fn stopped(&self, input: &Input, error: &hsaco_emu::Error) -> Difference {
        let at = error.location();
        let address = at.map(|it| it.address);
        Difference {
            kind: DifferenceKind::Stopped,
            input: input.label.clone(),
            address: address.map(|it| it.wrapping_sub(self.prover.result.delta())),
            instruction: at.map(|it| it.instruction.clone()).unwrap_or_default(),
            source: address.map(|it| self.prover.result.source(it)).unwrap_or_default(),
            wave: at.map(|it| (it.workgroup, it.wave)),
            lanes: at.map_or(0, |it| it.lanes),
            place: String::new(),
            original: "ends".to_owned(),
            result: error.to_string(),
        }
    }

    /// A difference where waves come by: runs both again, to see what they hold there.
    fn parted(&self, input: &Input, parting: Parting) -> Result<Difference> {
        let delta = self.prover.original.delta();
        let at = parting.at[0].or(parting.at[1]).map(|it| it.wrapping_sub(delta));
        let site = at.and_then(|it| self.site_before(it));
        let instruction = site.map(|it| it.instruction).or(at);
        let mut difference = Difference {
            kind: DifferenceKind::Path,
            input: input.label.clone(),
            address: instruction,
            instruction: instruction.map(|it| self.text(it)).unwrap_or_default(),
            source: instruction
                .map(|it| self.prover.original.source(it.wrapping_add(delta)))
                .unwrap_or_default(),
            wave: Some(parting.wave),
            lanes: 0,
            place: "where the wave comes by next".to_owned(),
            original: address(parting.at[0], delta),
            result: address(parting.at[1], delta),
        };
        if parting.at[0] == parting.at[1] {
            let one = self.capture(&self.prover.original, 0, input, parting)?;
            let other = self.capture(&self.prover.result, 1, input, parting)?;
            if let Some((name, lanes, values)) =
                one.zip(other).and_then(|(a, b)| compare::register(&a, &b))
            {
                let when = at.map(|it| format!(" at {it:#x}")).unwrap_or_default();
                (difference.kind, difference.lanes) = (DifferenceKind::Register, lanes);
                difference.place = name + &when;
                [difference.original, difference.result] = values.map(|it| format!("{it:#010x}"));
            }
        }
        Ok(difference)
    }

    /// The site that ends at an address, else the one that begins there.
    fn site_before(&self, address: u64) -> Option<&RewrittenSite> {
        let sites = || self.proof.sites.iter().map(|it| &it.site);
        sites().find(|it| it.end == address).or_else(|| sites().find(|it| it.address == address))
    }

    fn capture(
        &self,
        side: &Side<'_>,
        which: usize,
        input: &Input,
        parting: Parting,
    ) -> Result<Option<observe::Captured>> {
        let capture = Capture::new(&self.reached.edges, parting.wave, parting.number);
        let watch = Watch { observer: Some((&capture, &self.addresses)), ..Watch::default() };
        let most = self.prover.settings.instructions << which;
        // Whether it ends is known.
        let _ = side.run(&self.kernels[which], input, watch, most)?;
        Ok(capture.finish())
    }

    fn memory(&self, input: &Input, left: &Left, other: &Left) -> Result<Option<Difference>> {
        let printed = (left.printed != other.printed).then(|| Difference {
            kind: DifferenceKind::Printed,
            input: input.label.clone(),
            address: None,
            instruction: String::new(),
            source: Vec::new(),
            wave: None,
            lanes: 0,
            place: "standard output".to_owned(),
            original: String::from_utf8_lossy(&left.printed).into_owned(),
            result: String::from_utf8_lossy(&other.printed).into_owned(),
        });
        let Some((at, place, values)) = compare::memory(left, other) else { return Ok(printed) };
        let prover = self.prover;
        let store = match self.last_store(&prover.result, 1, input, at)? {
            Some(store) => Some(store),
            None => self.last_store(&prover.original, 0, input, at)?,
        };
        let [original, result] = values.map(|bytes| hex(&bytes));
        let address = store.as_ref().map(|it| it.address);
        Ok(Some(Difference {
            kind: DifferenceKind::Memory,
            input: input.label.clone(),
            address: address.map(|it| it.wrapping_sub(prover.original.delta())),
            instruction: store.as_ref().map(|it| it.text.clone()).unwrap_or_default(),
            source: address.map(|it| prover.result.source(it)).unwrap_or_default(),
            wave: store.as_ref().map(|it| it.wave),
            lanes: store.map_or(0, |it| it.lanes),
            place,
            original,
            result,
        }))
    }

    fn last_store(
        &self,
        side: &Side<'_>,
        which: usize,
        input: &Input,
        address: u64,
    ) -> Result<Option<Store>> {
        let (store, filter) = (LastStore::new(address), TraceFilter::default());
        let watch = Watch { tracer: Some((&store, &filter)), ..Watch::default() };
        let most = self.prover.settings.instructions << which;
        // Whether it ends is known.
        let _ = side.run(&self.kernels[which], input, watch, most)?;
        Ok(store.finish())
    }

    /// The text of an instruction of the original.
    fn text(&self, address: u64) -> String {
        let code = &self.prover.code;
        let Some(function) = code.functions().at(address) else { return String::new() };
        let stream = code.stream(function);
        let inst = stream.index_of(address).and_then(|it| stream.inst(it));
        inst.map(|it| code.decoder(function).text(&it)).unwrap_or_default()
    }

    fn finish(mut self) -> KernelProof {
        self.proof.blocks.0 = self.reached.blocks.intersection(&self.covered).count();
        self.proof
    }
}

fn address(at: Option<u64>, delta: u64) -> String {
    at.map_or_else(|| "nowhere".to_owned(), |it| format!("{:#x}", it.wrapping_sub(delta)))
}

/// Bytes as one number.
fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
