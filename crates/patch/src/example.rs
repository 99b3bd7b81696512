//! Runs the examples of all rules, and shows them in their pages.

use hsaco_analysis::{FunctionKind, Stream};
use hsaco_bytes::number;
use hsaco_isa::{Inst, Processor};

use crate::budget::RegisterBudget;
use crate::option::Options;
use crate::rewrite::{Edit, Plan};
use crate::rule::{Answer, Example, ExampleOutcome, RewriteRule, RuleSet, Stage, Trigger};
use crate::scan::{Filter, claims};
use crate::tools::Tools;
use crate::view::{Surroundings, View};

/// The bytes of lines of assembly.
fn assemble(tools: &Tools, text: &str) -> Vec<u8> {
    let mut code = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(words) = line.strip_prefix(".long") {
            for word in words.split(',') {
                let word = word.trim().trim_start_matches("0x");
                code.extend(u32::try_from(number::hex(word).unwrap()).unwrap().to_le_bytes());
            }
            continue;
        }
        let inst = tools.assemble(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        inst.encode(&mut code);
    }
    code
}

/// The instructions of a kernel that a rule of a set is asked about.
fn asked(set: &'static RuleSet, rule: &RewriteRule, view: &View<'_>, code: &[u8]) -> Vec<usize> {
    if rule.stage == Stage::Entry {
        return vec![0];
    }
    let hits = Filter::new(set, view.decoder()).hits(code);
    let claims = claims(set, view.stream(), &hits);
    claims.iter().filter(|it| it.rule.name == rule.name).map(|it| it.step).collect()
}

/// What the rule wants done at these instructions, or why not.
fn plans(rule: &RewriteRule, view: &View<'_>, steps: &[usize]) -> Result<Vec<Plan>, String> {
    let mut plans = Vec::new();
    for step in steps {
        match (rule.look)(&view.site(*step).unwrap()) {
            Answer::NotMine | Answer::Keep(_) => {}
            Answer::Rewrite(plan) => plans.push(plan),
            Answer::Refuse(refusal) => return Err(refusal.to_string()),
        }
    }
    Ok(plans)
}

/// The code with all replacements in it, as text.
fn spliced(tools: &Tools, stream: &Stream<'_>, plans: &[Plan]) -> Vec<Inst> {
    let nop = tools.assemble("v_nop").unwrap();
    let mut code: Vec<Inst> = plans.iter().flat_map(|plan| plan.prologue.clone()).collect();
    let mut step = 0;
    let edits: Vec<&Edit> = plans.iter().flat_map(|plan| &plan.edits).collect();
    while step < stream.len() {
        let pads = plans.iter().flat_map(|plan| &plan.pads).filter(|(at, _)| *at == step);
        code.extend(vec![nop; pads.map(|(_, count)| *count).max().unwrap_or(0).into()]);
        match edits.iter().find(|edit| edit.first == step) {
            Some(edit) => {
                code.extend(&edit.code);
                step += edit.count;
            }
            None => {
                code.extend(stream.inst(step));
                step += 1;
            }
        }
    }
    code
}

fn text(tools: &Tools, code: &[u8]) -> Vec<String> {
    let stream = Stream::decode(tools.decoder(), 0, code);
    let lines = stream.steps().map(|step| match step.inst {
        Some(inst) => {
            let bytes: Vec<String> =
                inst.bytes()[..inst.len()].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} // {}", tools.decoder().text(&inst), bytes.concat())
        }
        None => "?".to_owned(),
    });
    lines.collect()
}

fn check(tools: &Tools, set: &'static RuleSet, rule: &RewriteRule, example: &Example) {
    let mut options = Options::default();
    (example.options)(&mut options);
    let end = assemble(tools, "s_endpgm");
    let before = [assemble(tools, example.before), end.clone()].concat();
    let stream = Stream::decode(tools.decoder(), 0x1000, &before);
    assert!(stream.steps().all(|step| step.inst.is_some()), "{}: no code", example.name);
    let (sgprs, vgprs) = example.registers;
    let budget = RegisterBudget { sgprs, max_sgprs: 106, vgprs, max_vgprs: 1024, unused: None };
    let view =
        View::new(tools, &options, stream, Surroundings::alone(FunctionKind::Kernel, budget));
    let found = plans(rule, &view, &asked(set, rule, &view, &before));
    let expected = match (&example.after, &found) {
        (ExampleOutcome::Refused(reason), Err(refusal)) => {
            assert!(refusal.contains(reason), "{}: {refusal}", example.name);
            return;
        }
        (ExampleOutcome::Refused(_), Ok(plans)) => {
            panic!("{}: not refused: {plans:?}", example.name)
        }
        (_, Err(refusal)) => panic!("{}: refused: {refusal}", example.name),
        (ExampleOutcome::Same, Ok(_)) => before.clone(),
        (ExampleOutcome::Code(lines), Ok(_)) => [assemble(tools, lines), end].concat(),
    };
    let mut after = Vec::new();
    let plans = found.unwrap();
    spliced(tools, view.stream(), &plans).iter().for_each(|inst| inst.encode(&mut after));
    assert_eq!(text(tools, &after), text(tools, &expected), "{} of {}", example.name, rule.name);
    // Branches do not know that something came between.
    let has_branch =
        view.stream().steps().any(|it| it.inst.is_some_and(|it| it.branch_target(0).is_some()));
    if rule.stage != Stage::Entry && !has_branch {
        let surroundings = Surroundings::alone(FunctionKind::Kernel, budget);
        let stream = Stream::decode(tools.decoder(), 0x1000, &after);
        let view = View::new(tools, &options, stream, surroundings);
        // What the rule has made is nothing that it would want to rewrite.
        for step in asked(set, rule, &view, &after) {
            let site = view.site(step).unwrap();
            assert!(!(rule.residual)(&site), "{}: residual {}", example.name, site.text());
        }
    }
}

#[test]
fn examples_come_out_as_they_say() {
    let tools = Tools::new(Processor::from_name("gfx1250").unwrap()).unwrap();
    for set in RuleSet::all() {
        for rule in set.rules() {
            rule.examples.iter().for_each(|example| check(&tools, set, rule, example));
        }
    }
}

#[test]
fn every_claimed_instruction_exists_and_has_an_example() {
    let tools = Tools::new(Processor::from_name("gfx1250").unwrap()).unwrap();
    for rule in RuleSet::all().iter().flat_map(RuleSet::rules) {
        let Trigger::Opcodes(names) = rule.trigger else { continue };
        let examples: Vec<u8> =
            rule.examples.iter().flat_map(|example| assemble(&tools, example.before)).collect();
        let stream = Stream::decode(tools.decoder(), 0, &examples);
        for name in names {
            assert!(!tools.decoder().first_words(&[name]).is_empty(), "no {name}");
            let is_shown =
                stream.steps().any(|step| step.inst.is_some_and(|it| it.mnemonic() == *name));
            assert!(is_shown, "{}: no example of {name}", rule.name);
        }
    }
}

/// What a page says of the examples.
fn shown(rule: &RewriteRule) -> String {
    let mut text =
        "\n## Examples\n\nMade from the rule: `BLESS=1 cargo test -p hsaco-patch pages`.\n"
            .to_owned();
    let code = |lines: &str| {
        let lines: Vec<&str> = lines.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        format!("```\n{}\n```\n", lines.join("\n"))
    };
    for example in rule.examples {
        let mut options = Options::default();
        (example.options)(&mut options);
        let is_on = |name: &str| {
            let mut one = Options::default();
            one.set(name).unwrap();
            one == options
        };
        let switch = Options::switches().find(|(name, _)| is_on(name));
        let with = switch.map_or(String::new(), |(name, _)| format!(" with `--option {name}`"));
        text += &format!("\n{}{with}:\n{}", example.name, code(example.before));
        text += &match example.after {
            ExampleOutcome::Same => "stays as it is.\n".to_owned(),
            ExampleOutcome::Code(lines) => format!("becomes\n{}", code(lines)),
            ExampleOutcome::Refused(reason) => format!("is refused: `{}`.\n", reason.trim()),
        };
    }
    text
}

#[test]
fn pages_show_every_example() {
    for rule in RuleSet::all().iter().flat_map(RuleSet::rules) {
        assert!(rule.page.starts_with(&format!("# {}\n", rule.name)), "{}", rule.name);
        let shown = shown(rule);
        if rule.page.ends_with(&shown) {
            continue;
        }
        assert!(std::env::var_os("BLESS").is_some(), "{}: BLESS=1 writes the page", rule.name);
        let by_hand = rule.page.split("\n## Examples\n").next().unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules");
        std::fs::write(format!("{folder}/{}.md", rule.name), format!("{by_hand}{shown}")).unwrap();
    }
}
