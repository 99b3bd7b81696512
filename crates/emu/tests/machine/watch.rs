//! Traces, profiles, and where approximate values go.

use std::sync::Mutex;

use expect_test::expect;
use hsaco_emu::{Executed, Reached, RegisterValue, TraceFilter, Tracer};
use hsaco_isa::model::{Register, RegisterFile};

use crate::support::Kernel;

#[derive(Default)]
struct Lines {
    start: u64,
    text: Mutex<String>,
}

/// Registers with the value of the first lane.
fn values(list: &[RegisterValue]) -> String {
    let one = |it: &RegisterValue| format!(" {}={:x}", it.register, it.values[0][0]);
    list.iter().map(one).collect()
}

impl Tracer for Lines {
    fn instruction(&self, it: &Executed<'_>) {
        let memory: Vec<_> =
            it.memory.iter().take(2).map(|(lane, _)| format!("{lane:?}")).collect();
        let line = format!(
            "{:#x} {}: reads{} writes{} {}\n",
            it.address - self.start,
            it.text,
            values(it.reads),
            values(it.writes),
            memory.join(" ")
        );
        self.text.lock().unwrap().push_str(&line);
    }
}

/// Item n stores n + 5 into word n.
const CODE: &str = "s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_and_b32_e32 v0, 0x3ff, v0
    v_add_u32_e32 v1, 5, v0
    v_lshlrev_b32_e32 v0, 2, v0
    s_mov_b64 exec, 0xff
    global_store_dword v0, v1, s[4:5]
    s_endpgm";

fn trace(filter: &TraceFilter) -> String {
    let mut kernel = Kernel::new("gfx942", CODE);
    let buffer = kernel.buffer(256);
    let lines = Lines { start: kernel.code, ..Lines::default() };
    let filter = TraceFilter {
        addresses: filter.addresses.clone().map(|it| it.start + lines.start..it.end + lines.start),
        ..filter.clone()
    };
    kernel.dispatch(&[buffer], 64).with_tracer(&lines, &filter).run().unwrap();
    let text = lines.text.into_inner().unwrap();
    text.replace(&format!("{:x}", buffer as u32), "BUFFER")
}

#[test]
fn a_trace_has_what_each_instruction_read_and_wrote() {
    let all = trace(&TraceFilter::default());
    let lines: Vec<_> = all.lines().collect();
    assert_eq!(lines.len(), 7);
    expect!["0x10 v_add_u32_e32 v1, 5, v0: reads v0=0 exec=ffffffff writes v1=5 "]
        .assert_eq(lines[2]);
    expect!["0x18 s_mov_b64 exec, 0xff: reads writes exec=ff "].assert_eq(lines[4]);
    expect!["0x20 global_store_dword v0, v1, s[4:5]: reads v0=0 v1=5 s[4:5]=BUFFER exec=ff writes Some(0) Some(1)"].assert_eq(lines[5]);
}

#[test]
fn filters_take_a_part_of_a_trace() {
    let addresses = Some(0x10..0x18);
    assert_eq!(trace(&TraceFilter { addresses, ..TraceFilter::default() }).lines().count(), 2);
    let register = Register { file: RegisterFile::Vgpr, first: 1, count: 1, half: None };
    let filter = TraceFilter { register: Some(register), ..TraceFilter::default() };
    assert_eq!(trace(&filter).lines().count(), 2);
    let filter = TraceFilter { wave: Some(1), ..TraceFilter::default() };
    assert_eq!(trace(&filter), "");
    let filter = TraceFilter { workgroup: Some([1, 0, 0]), ..TraceFilter::default() };
    assert_eq!(trace(&filter), "");
}

#[test]
fn a_profile_counts_executions_lanes_and_cache_lines() {
    let mut kernel = Kernel::new("gfx942", CODE);
    let buffer = kernel.buffer(1024);
    let start = kernel.code;
    let outcome = kernel.dispatch(&[buffer], 256).with_profile().run().unwrap();
    let of = |offset: u64| {
        let it = &outcome.profile[&(start + offset)];
        (it.text.as_str(), it.executions, it.lanes, it.cache_lines)
    };
    assert_eq!(of(0), ("s_load_dwordx2 s[4:5], s[0:1], 0x0", 4, 256, 4));
    assert_eq!(of(0x10), ("v_add_u32_e32 v1, 5, v0", 4, 256, 0));
    // Four waves, eight lanes each, beside each other.
    assert_eq!(of(0x20), ("global_store_dword v0, v1, s[4:5]", 4, 32, 4));
    assert_eq!(outcome.profile.len(), 7);
}

/// What the approximate result of a reciprocal decides, followed by some lines.
fn reached(lines: &str) -> Reached {
    let code = format!(
        "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32_e32 v0, 0
        v_rcp_f32_e32 v1, 2.0
        {lines}
        s_endpgm"
    );
    let mut kernel = Kernel::new("gfx942", &code);
    let buffer = kernel.buffer(256);
    let outcome = kernel.dispatch(&[buffer], 64).with_reached().run().unwrap();
    outcome.reached.unwrap()
}

#[test]
fn approximate_values_are_followed() {
    let nothing = Reached::default();
    assert_eq!(reached("global_store_dword v0, v1, s[4:5]"), nothing);
    // Overwritten before it is used.
    assert_eq!(reached("v_mov_b32_e32 v1, 0\nglobal_load_dword v2, v1, s[4:5]"), nothing);
    let address = Reached { address: true, ..nothing };
    let used = "v_and_b32_e32 v3, 4, v1\nglobal_load_dword v2, v3, s[4:5]";
    assert_eq!(reached(used), address);
    // By way of memory, and of LDS.
    let through_memory = "global_store_dword v0, v1, s[4:5]
        global_load_dword v2, v0, s[4:5]
        v_and_b32_e32 v2, 4, v2
        global_store_dword v2, v0, s[4:5]";
    assert_eq!(reached(through_memory), address);
    let branch = Reached { branch: true, ..nothing };
    assert_eq!(reached("v_cmp_gt_f32_e32 vcc, 1.0, v1\ns_cbranch_vccz @on\non:"), branch);
    assert_eq!(reached("v_cmp_gt_f32_e32 vcc, 1.0, v1\ns_and_saveexec_b64 s[6:7], vcc"), branch);
    let scalar = "v_readfirstlane_b32 s6, v1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 @on\non:";
    assert_eq!(reached(scalar), branch);
}
