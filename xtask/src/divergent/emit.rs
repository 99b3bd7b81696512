//! Programs as C.

use std::fmt::Write as _;

use super::make::{Dpp, Exchange, Expr, Meeting, Operator, Program, Statement, VARIABLES};

const PRELUDE: &str = "typedef unsigned u32;
typedef unsigned long u64;
#define LDS __attribute__((address_space(3), loader_uninitialized))
static LDS u32 cells[ITEMS];
static LDS u32 bins[16];
static LDS u32 total;
static void meet(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
}
static u32 lane(void) {
  u32 low = __builtin_amdgcn_mbcnt_lo(~0u, 0);
  return __builtin_amdgcn_wavefrontsize() == 64 ? __builtin_amdgcn_mbcnt_hi(~0u, low) : low;
}
static u64 ballot(int value) {
#if WAVE == 64
  return __builtin_amdgcn_ballot_w64(value);
#else
  return __builtin_amdgcn_ballot_w32(value);
#endif
}
static u32 below(u64 mask) {
  u32 low = __builtin_amdgcn_mbcnt_lo((u32)mask, 0);
  return __builtin_amdgcn_wavefrontsize() == 64 ? __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), low) : low;
}
__attribute__((noinline)) static u32 called(u32 a, u32 b) {
  while (b > 2) {
    a = b & 1 ? a * 5 + b : a ^ b;
    b >>= 2 + (a & 3);
  }
  return a;
}
";

/// The source of a program.
pub(super) fn source(program: &Program, items: usize, wave_size: u32) -> String {
    let mut out = format!("#define ITEMS {items}\n#define WAVE {wave_size}\n{PRELUDE}");
    out += "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(ITEMS, ITEMS))) void run(u32 *out) {\n";
    out += "u32 item = __builtin_amdgcn_workitem_id_x();\n";
    for variable in 0..VARIABLES {
        let _ = writeln!(out, "u32 v{variable} = item * {}u + {variable}u;", 2 * variable + 1);
    }
    out += "u32 which = lane();\n";
    block(&mut out, &program.statements);
    // All results are stored by those that end early as well.
    let store = |out: &mut String| {
        for variable in 0..VARIABLES {
            let _ = writeln!(out, "out[item + {variable} * ITEMS] = v{variable};");
        }
    };
    let _ = writeln!(out, "if ({} & 1) {{", expr(&program.early));
    store(&mut out);
    out += "return; }\n";
    block(&mut out, &program.last);
    store(&mut out);
    out += "}\n";
    out
}

fn block(out: &mut String, statements: &[Statement]) {
    for it in statements {
        statement(out, it);
    }
}

fn statement(out: &mut String, it: &Statement) {
    match it {
        Statement::Assign(to, value) => {
            let _ = writeln!(out, "v{to} = {};", expr(value));
        }
        Statement::If(when, then, otherwise) => {
            let _ = writeln!(out, "if ({}) {{", expr(when));
            block(out, then);
            if !otherwise.is_empty() {
                *out += "} else {\n";
                block(out, otherwise);
            }
            *out += "}\n";
        }
        Statement::Loop { times, body } => {
            let _ = writeln!(out, "for (u32 i = 0, n = {}; i < n; i++) {{", expr(times));
            block(out, body);
            *out += "}\n";
        }
        Statement::Break(when) => {
            let _ = writeln!(out, "if ({} == 1) break;", expr(when));
        }
        Statement::Continue(when) => {
            let _ = writeln!(out, "if ({} == 2) continue;", expr(when));
        }
        Statement::Switch(by, cases) => {
            let _ = writeln!(out, "switch ({}) {{", expr(by));
            for (number, statements) in cases.iter().enumerate() {
                let _ = writeln!(out, "case {number}: {{");
                block(out, statements);
                *out += "} break;\n";
            }
            *out += "}\n";
        }
        Statement::Meeting(to, from, kind) => meeting(out, *to, *from, *kind),
        Statement::Repeat(times, body) => {
            let _ = writeln!(out, "for (u32 i = 0; i < {times}; i++) {{");
            block(out, body);
            *out += "}\n";
        }
        Statement::Exchange(to, from, kind) => exchange(out, *to, *from, kind),
    }
}

fn meeting(out: &mut String, to: usize, from: usize, kind: Meeting) {
    let _ = match kind {
        Meeting::Count => writeln!(out, "v{to} += (u32)__builtin_popcountl(ballot(1));"),
        Meeting::CountOdd => {
            writeln!(out, "v{to} += (u32)__builtin_popcountl(ballot(v{from} & 1));")
        }
        Meeting::First => writeln!(out, "v{to} ^= __builtin_amdgcn_readfirstlane(v{from});"),
        Meeting::Dpp(how) => writeln!(out, "{}", dpp(to, from, how)),
    };
}

fn dpp(to: usize, from: usize, how: Dpp) -> String {
    let Dpp { control, row_mask, bank_mask, bound } = how;
    let bound = u8::from(bound);
    format!(
        "v{to} = __builtin_amdgcn_update_dpp(v{to}, v{from}, {control}, {row_mask}, {bank_mask}, {bound});"
    )
}

fn exchange(out: &mut String, to: usize, from: usize, kind: &Exchange) {
    let _ = match kind {
        Exchange::Rotate(by) => writeln!(
            out,
            "cells[item] = v{from}; meet(); v{to} = cells[(item + {by}) % ITEMS]; meet();"
        ),
        Exchange::Histogram => writeln!(
            out,
            "if (item < 16) bins[item] = 0; meet();\n\
             __atomic_fetch_add(&bins[v{from} & 15], item + 1, __ATOMIC_RELAXED);\n\
             meet(); v{to} = bins[item & 15]; meet();"
        ),
        Exchange::Sum => writeln!(
            out,
            "if (item == 0) total = 7; meet();\n\
             __atomic_fetch_add(&total, v{from}, __ATOMIC_RELAXED);\n\
             meet(); v{to} ^= total; meet();"
        ),
        Exchange::Ballot => writeln!(
            out,
            "{{ u64 b = ballot(v{from} & 1); v{to} = (u32)b ^ (u32)(b >> 32) * 3u; }}"
        ),
        Exchange::CountBelow => writeln!(out, "v{to} = below(ballot(v{from} & 1));"),
        Exchange::Dpp(how) => writeln!(out, "{}", dpp(to, from, *how)),
        Exchange::ReadLane(lane) => {
            writeln!(out, "v{to} += __builtin_amdgcn_readlane(v{from}, {lane});")
        }
        Exchange::ReadFirstLane => {
            writeln!(out, "v{to} ^= __builtin_amdgcn_readfirstlane(v{from});")
        }
        // gfx10 and gfx11 gather within 32 lanes.
        Exchange::Gather => writeln!(
            out,
            "v{to} = __builtin_amdgcn_ds_bpermute(((which & ~31u) | v{from} % 32) * 4, v{from} + which);"
        ),
        Exchange::Swizzle(pattern) => {
            writeln!(out, "v{to} = __builtin_amdgcn_ds_swizzle(v{from}, {pattern});")
        }
    };
}

fn expr(it: &Expr) -> String {
    match it {
        Expr::Variable(number) => format!("v{number}"),
        Expr::Item => "item".to_owned(),
        Expr::Constant(value) => format!("{value}u"),
        Expr::Select(when, then, otherwise) => {
            format!("(({} & 1) ? {} : {})", expr(when), expr(then), expr(otherwise))
        }
        Expr::Call(a, b) => format!("called({}, {})", expr(a), expr(b)),
        Expr::Binary(operator, a, b) => {
            let (a, b) = (expr(a), expr(b));
            match operator {
                Operator::Add => format!("({a} + {b})"),
                Operator::Sub => format!("({a} - {b})"),
                Operator::Mul => format!("({a} * {b})"),
                Operator::And => format!("({a} & {b})"),
                Operator::Or => format!("({a} | {b})"),
                Operator::Xor => format!("({a} ^ {b})"),
                Operator::Shl => format!("({a} << ({b} & 31))"),
                Operator::Shr => format!("({a} >> ({b} & 31))"),
                Operator::Sar => format!("(u32)((int){a} >> ({b} & 31))"),
                Operator::Div => format!("({a} / ({b} | 1))"),
                Operator::Rem => format!("({a} % ({b} | 1))"),
                Operator::Less => format!("(u32)({a} < {b})"),
                Operator::LessSigned => format!("(u32)((int){a} < (int){b})"),
                Operator::Equal => format!("(u32)({a} == {b})"),
                Operator::Min => format!("__builtin_elementwise_min({a}, {b})"),
                Operator::MulHigh => format!("(u32)((u64){a} * {b} >> 32)"),
                Operator::CountOnes => format!("(u32)__builtin_popcount({a} & {b})"),
            }
        }
    }
}
