//! Checking beside listing: a check before registration must cost next to nothing.

use anyhow::Result;

use super::measure::{in_turns, wall_time};
use super::{Bar, Bench, input};

pub(super) fn check(bench: &mut Bench) -> Result<()> {
    for (name, language) in [("", input::Language::C), ("C++ ", input::Language::Cpp)] {
        let row = format!("check 5,000 {name}kernels / ls");
        if !bench.wants(&row) {
            continue;
        }
        let Some(object) = input::many_kernels(language)? else {
            println!("{row}: skipped: no LLVM 22");
            continue;
        };
        bench.check_answer(&["check"], &object, ": 1 object")?;
        let (check, list) = in_turns(
            bench.runs,
            || wall_time(&mut bench.hsaco(&["check"], &object)),
            || wall_time(&mut bench.hsaco(&["ls"], &object)),
        )?;
        bench.row(&row, check, list, Bar::Within(3.0));
    }
    Ok(())
}
