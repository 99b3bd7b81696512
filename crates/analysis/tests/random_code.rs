//! Analyses of random small functions against petgraph and against searches that try every path.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;

use hsaco_analysis::{Cfg, Dominators, Focus, Liveness, LivenessMemo, Loops, RegisterSet, Stream};
use hsaco_bytes::Id;
use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::effects::{Flow, Lanes};
use hsaco_isa::model::{Register, RegisterFile, VgprMsb};
use hsaco_isa::target::WaveSize;
use hsaco_isa::{Decoder, Processor};
use petgraph::algo::dominators::simple_fast;
use petgraph::algo::has_path_connecting;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::NodeFiltered;

#[path = "../../../tests/src/random.rs"]
mod random;

/// Small numbers, as fields of instructions have them.
struct Fields(random::Random);

impl Fields {
    fn new(seed: u64) -> Self {
        Self(random::Random::new(seed))
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0.below(bound as usize) as u32
    }
}

/// One instruction of gfx942 with small register numbers.
fn instruction(random: &mut Fields, count: u32) -> Vec<u32> {
    let (a, b, c) = (random.below(6), random.below(6), random.below(6));
    // Branches forwards and backwards, mostly inside.
    let to = random.below(count + 2).wrapping_sub(count / 2) & 0xffff;
    match random.below(17) {
        0 | 1 => vec![0x8000_0000 | a << 16 | b << 8 | c],
        2 => vec![0xbe80_0100 | (a & !1) << 16 | (b & !1)],
        3 | 4 => vec![0x6800_0100 | a << 17 | b << 9 | c],
        5 => vec![0x0000_0100 | a << 17 | b << 9 | c],
        6 => vec![0x7d94_0100 | a << 9 | b],
        7 => vec![0xbe80_2000 | (a & !1) << 16 | (b & !1)],
        8 => vec![0xdc50_8000, a << 24 | (b & !1) << 16 | c],
        9 => vec![0xdc90_8000, a << 24 | (b & !1) << 16 | c],
        10 => vec![0xd3d9_4000 | a, 0x1800_0100 | b],
        11 => vec![0xbf82_0000 | to],
        12 | 13 => vec![0xbf84_0000 | to],
        14 => vec![0xbf86_0000 | to],
        15 => vec![0xbf81_0000],
        _ if random.below(4) == 0 => vec![0xbe80_1d00 | (a & !1)],
        _ if random.below(4) == 0 => vec![0xbe9e_1e00 | (a & !1)],
        _ => vec![0xbefe_01c1],
    }
}

fn function(random: &mut Fields) -> Vec<u8> {
    let count = 3 + random.below(18);
    let words: Vec<u32> = (0..count).flat_map(|_| instruction(random, count)).collect();
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn gfx942() -> Decoder {
    Decoder::new(Processor::from_name("gfx942").unwrap()).unwrap()
}

/// Where an instruction goes, and whether it may leave the function.
fn ways(stream: &Stream<'_>, index: usize) -> (Vec<usize>, bool) {
    let inst = stream.inst(index).unwrap();
    let mut addresses = Vec::new();
    if inst.flow().falls_through() {
        addresses.push(stream.address_of(index + 1));
    }
    if matches!(inst.flow(), Flow::Branch | Flow::ConditionalBranch) {
        addresses.extend(inst.branch_target(stream.address_of(index)));
    }
    let inside: Vec<usize> =
        addresses.iter().filter_map(|address| stream.index_of(*address)).collect();
    let leaves = inside.len() < addresses.len() || inst.flow() == Flow::IndirectJump;
    (inside, leaves)
}

/// Every register of the random functions, one by one.
fn registers() -> Vec<Register> {
    let all = RegisterSet::all();
    let small = all.iter().flat_map(|range| {
        (range.first..range.first + u16::from(range.count)).take(8).map(move |first| Register {
            first,
            count: 1,
            ..range
        })
    });
    small.collect()
}

/// Whether some path from an instruction reads the register before all of it is replaced.
fn is_needed(decoder: &Decoder, stream: &Stream<'_>, start: usize, register: &Register) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![start];
    while let Some(index) = work.pop() {
        if !seen.insert(index) {
            continue;
        }
        let inst = stream.inst(index).unwrap();
        let effects = decoder.effects(&inst, VgprMsb::default());
        let calls = inst.flow() == Flow::IndirectCall;
        if calls || set_of(effects.reads()).contains(register) {
            return true;
        }
        if set_of(effects.overwrites(Lanes::All)).contains(register) {
            continue;
        }
        let (next, leaves) = ways(stream, index);
        if leaves {
            return true;
        }
        work.extend(next);
    }
    false
}

fn set_of(registers: impl IntoIterator<Item = Register>) -> RegisterSet {
    let mut set = RegisterSet::default();
    registers.into_iter().for_each(|register| set.insert(&register));
    set
}

fn with_vectors(mut set: RegisterSet) -> RegisterSet {
    set.union_with(&RegisterSet::vectors());
    set
}

#[test]
fn liveness_is_what_a_search_of_all_paths_finds() {
    let decoder = gfx942();
    let mut random = Fields::new(1);
    let registers = registers();
    for round in 0..10_000 {
        let code = function(&mut random);
        let stream = Stream::decode(&decoder, 0x1000, &code);
        let cfg = Cfg::new(&decoder, &stream);
        let liveness = Liveness::new(&decoder, &stream, &cfg, Lanes::All);
        let memo = LivenessMemo::new(Focus::Scalars);
        let scalars = Liveness::inside(&decoder, &stream, &cfg, Lanes::All, &memo);
        // All registers at one instruction, and some at all of them.
        let chosen = random.below(stream.len() as u32) as usize;
        for index in 0..stream.len() {
            let live = liveness.live_before(index);
            assert_eq!(scalars.live_before(index), with_vectors(live));
            let some =
                registers.iter().skip(if index == chosen { 0 } else { random.below(10) as usize });
            for register in some.step_by(if index == chosen { 1 } else { 10 }) {
                let expected = is_needed(&decoder, &stream, index, register);
                assert_eq!(
                    live.contains(register),
                    expected,
                    "round {round}, {register} before {index}: {stream:#?}"
                );
            }
        }
    }
}

#[test]
fn lanes_that_may_be_disabled_keep_their_values() {
    let decoder = gfx942();
    let v0 = Register { file: RegisterFile::Vgpr, first: 0, count: 1, half: None };
    // v_mov_b32 v0, 0; global_store_dword v[2:3], v0, off; s_endpgm
    let words = [0x7e00_0280_u32, 0xdc70_8000, 0x007f_0002, 0xbf81_0000];
    let live = |words: &[u32], lanes: Lanes| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let stream = Stream::decode(&decoder, 0, &bytes);
        let cfg = Cfg::new(&decoder, &stream);
        Liveness::new(&decoder, &stream, &cfg, lanes).live_in(cfg.entry().unwrap()).contains(&v0)
    };
    assert!(!live(&words, Lanes::All));
    assert!(live(&words, Lanes::Some));
    // After s_mov_b64 exec, -1 all lanes are enabled.
    let enabled: Vec<u32> = [0xbefe_01c1].into_iter().chain(words).collect();
    assert!(!live(&enabled, Lanes::Some));
}

/// The registers needed at the start of a function.
fn live_at_start(decoder: &Decoder, words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stream = Stream::decode(decoder, 0, &bytes);
    let cfg = Cfg::new(decoder, &stream);
    Liveness::new(decoder, &stream, &cfg, Lanes::All).live_in(cfg.entry().unwrap()).to_string()
}

#[test]
fn registers_relative_to_m0_may_be_any() {
    const MOV_V2_V3: u32 = 0x7e04_0303;
    const OFF: u32 = 0xbf9c_0000;
    // v_add_u32 v0, v2, v4; s_endpgm
    const USE: [u32; 2] = [0x6800_0902, 0xbf81_0000];
    let on = |operands: u32| 0xbf11_0000 | operands << 8;
    let decoder = gfx942();
    let live = |words: &[u32]| live_at_start(&decoder, &[words, &USE].concat());
    assert_eq!(live(&[MOV_V2_V3]), "v[3:4] exec_lo exec_hi");
    // Only outside of the region is v2 replaced for certain, and only v3 read.
    let from_v2 = "v0 v[2:256] v[257:511] v[512:766] v[767:1021] v[1022:1023]";
    let from_v3 = "v0 v[3:257] v[258:512] v[513:767] v[768:1022] v1023";
    let rest = "s0 exec_lo exec_hi m0 mode";
    assert_eq!(live(&[on(1), MOV_V2_V3, OFF]), format!("{from_v3} {rest}"));
    assert_eq!(live(&[on(8), MOV_V2_V3, OFF]), format!("{from_v2} {rest}"));
    assert_eq!(live(&[on(8), OFF, MOV_V2_V3]), format!("v[3:4] {rest}"));
    // s_set_gpr_idx_mode, s_mov_b32 m0, s_setreg_imm32_b32 MODE
    assert_eq!(live(&[on(1), 0xbf9d_0008, MOV_V2_V3, OFF]), format!("{from_v2} {rest}"));
    assert_eq!(live(&[on(1), 0xbefc_0000, MOV_V2_V3, OFF]), format!("{from_v2} {rest}"));
    let by_mode = live(&[0xba00_06c1, 1, MOV_V2_V3, OFF]);
    assert_eq!(by_mode, format!("{from_v2} exec_lo exec_hi m0 mode"));
    // One way round turns it on, the other does not: s_cbranch_scc0 over it.
    assert!(live(&[0xbf84_0001, on(8), MOV_V2_V3, OFF]).starts_with(from_v2));
}

#[test]
fn subvector_loops_are_loops() {
    let wave64 = DecodeOptions { wave_size: Some(WaveSize::Wave64), ..DecodeOptions::default() };
    let gfx1030 = Processor::from_name("gfx1030").unwrap();
    let decoder = Decoder::with_options(gfx1030, wave64).unwrap();
    // s_subvector_loop_begin s0, 2; v_mov_b32 v0, v1; s_subvector_loop_end s0, -2; s_endpgm
    let words = [0xbd80_0002_u32, 0x7e00_0301, 0xbe00_fffe, 0xbf81_0000];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stream = Stream::decode(&decoder, 0, &bytes);
    let cfg = Cfg::new(&decoder, &stream);
    let blocks: Vec<_> = cfg.blocks().iter().map(|block| (block.first, block.end)).collect();
    assert_eq!(blocks, [(0, 1), (1, 3), (3, 4)]);
    let successors = |block| cfg.successors(block).map(Id::index).collect();
    let next: Vec<Vec<usize>> = cfg.blocks().ids().map(successors).collect();
    assert_eq!(next, [vec![1, 2], vec![1, 2], vec![]]);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    assert_eq!(loops.loops().iter().map(|it| it.header.index()).collect::<Vec<_>>(), [1]);
    // What s0 and EXEC were is kept where the loop is passed over.
    assert_eq!(live_at_start(&decoder, &words), "v1 s0 exec_lo exec_hi");
}

#[test]
fn dominators_and_loops_are_petgraphs() {
    let decoder = gfx942();
    let mut random = Fields::new(2);
    let mut loops_seen = 0;
    for _ in 0..10_000 {
        let code = function(&mut random);
        let stream = Stream::decode(&decoder, 0x1000, &code);
        let cfg = Cfg::new(&decoder, &stream);
        let mut graph: DiGraph<(), ()> = DiGraph::new();
        let nodes: Vec<NodeIndex> = cfg.blocks().iter().map(|_| graph.add_node(())).collect();
        for block in cfg.blocks().ids() {
            cfg.successors(block).for_each(|next| {
                graph.add_edge(nodes[block.index()], nodes[next.index()], ());
            });
        }
        let theirs = simple_fast(&graph, nodes[0]);
        let ours = Dominators::new(&cfg);
        for block in cfg.blocks().ids() {
            let node = nodes[block.index()];
            let expected = theirs.immediate_dominator(node).map(NodeIndex::index);
            assert_eq!(ours.immediate(block).map(Id::index), expected);
            let above: BTreeSet<usize> =
                theirs.dominators(node).into_iter().flatten().map(NodeIndex::index).collect();
            for other in cfg.blocks().ids() {
                assert_eq!(ours.dominates(other, block), above.contains(&other.index()));
            }
        }
        let loops = Loops::new(&cfg, &ours);
        let dominates = |above: usize, block: usize| {
            theirs
                .dominators(nodes[block])
                .is_some_and(|mut all| all.any(|node| node.index() == above))
        };
        for id in cfg.blocks().ids() {
            let header = id.index();
            let before = cfg.predecessors(id).map(Id::index);
            let back: Vec<usize> = before.filter(|from| dominates(header, *from)).collect();
            let found = loops.loops().enumerated().find(|(_, it)| it.header == id);
            assert_eq!(found.is_some(), !back.is_empty());
            let Some((number, _)) = found else { continue };
            loops_seen += 1;
            let without = NodeFiltered::from_fn(&graph, |node| node.index() != header);
            let is_inside = |block: &usize| {
                let reaches = |from: &usize| {
                    *from != header
                        && has_path_connecting(&without, nodes[*block], nodes[*from], None)
                };
                *block == header || dominates(0, *block) && back.iter().any(reaches)
            };
            let expected: Vec<usize> = (0..nodes.len()).filter(is_inside).collect();
            assert_eq!(loops.blocks(number).map(Id::index).collect::<Vec<_>>(), expected);
        }
    }
    assert!(loops_seen > 3_000, "{loops_seen}");
}
