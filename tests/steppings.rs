//! Who changes what an object says of its stepping: the rule sets that declare it, and nothing else.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail them")]

use hsaco::object::CodeObject;
use hsaco::patch::{
    Answer, CodeEdit, Example, Options, Patched, Patcher, Plan, Points, Requirement, RewriteRule,
    RuleSet, Stage, Trigger, Verdict,
};
use hsaco_tests::gfx1250::{NewKernel, TEXT};
use hsaco_tests::rewritten::{
    changed, changed_by, kernel, llvm_accepts, object, patch, patcher, refusal,
};

/// A0 reads the offsets of this one in another way.
const STRIDE: &str = "ds_load_2addr_stride64_b32 v[0:1], v2 offset0:1 offset1:3";

/// A rule as a vendor's own crate may have one.
const NO_HALT: RewriteRule = RewriteRule {
    name: "no-halt",
    summary: "waves do not halt",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(&["s_sethalt"]),
    look: |site| match site.assemble("s_nop 0") {
        Ok(nop) => Answer::Rewrite(Plan::replace(site, vec![nop])),
        Err(refusal) => Answer::Refuse(refusal),
    },
    residual: |_| true,
    examples: &[Example::new("SH1", "s_sethalt 1", "s_nop 0")],
    page: "# no-halt",
};
static VENDOR: RuleSet = RuleSet::new("vendor", "gfx1250", &[NO_HALT]);
static TO_B0: RuleSet = RuleSet::new("vendor-to-b0", "gfx1250", &[NO_HALT]).steppings("A0", "B0");

fn by(set: &'static RuleSet) -> Patcher {
    Patcher::new(set, Options::default()).unwrap()
}

fn edited(file: &[u8], edit: CodeEdit) -> Patched {
    by(RuleSet::by_name("none").unwrap()).with_edits(vec![edit]).patch(file).unwrap()
}

fn with(name: &str, lines: &str, revision: &'static str) -> NewKernel {
    NewKernel { revision: Some(revision), ..kernel(name, lines) }
}

/// What each kernel says.
fn said(file: &[u8]) -> Vec<Option<String>> {
    let object = CodeObject::parse(file).unwrap();
    let index = object.index();
    let said = |kernel: &hsaco::object::Kernel<'_>| {
        let map = kernel.metadata()?.map().ok()?;
        Some(map.value(".gfx1250_revision").ok()??.as_str()?.to_string())
    };
    index.kernels().iter().map(said).collect()
}

fn says(text: &str) -> Vec<Option<String>> {
    vec![Some(text.to_owned())]
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_edit_leaves_the_stepping_and_the_rules_still_do_their_work() {
    let file = object(&[with("k", &format!("s_nop 1\n{STRIDE}"), "B0")]);
    let edits = [
        CodeEdit::Count(Points::Entries),
        CodeEdit::Count(Points::Blocks),
        CodeEdit::Insert(0x2000, vec!["s_nop 7".to_owned()]),
        CodeEdit::Replace(0x2000, vec!["s_nop 7".to_owned()]),
    ];
    for edit in edits {
        let first = edited(&file, edit.clone()).bytes.unwrap();
        assert_eq!(said(&first), says("B0"), "{edit:?}");
        let (second, manifest) = changed(&first);
        assert!(manifest.records.iter().any(|it| it.rules[0].0 == "ds-two-address"), "{edit:?}");
        assert_eq!(said(&second), says("A0"), "{edit:?}");
        llvm_accepts(&second);
    }
}

#[test]
fn an_edit_of_an_a0_object_leaves_it_one() {
    let file = object(&[with("k", "s_nop 1", "A0")]);
    let bytes = edited(&file, CodeEdit::Count(Points::Entries)).bytes.unwrap();
    assert_eq!(said(&bytes), says("A0"));
}

#[test]
fn a_set_without_steppings_runs_on_every_one_and_leaves_it() {
    for revision in ["A0", "B0", "C7"] {
        let file = object(&[with("k", "s_sethalt 1", revision)]);
        let (bytes, manifest) = changed_by(&by(&VENDOR), &file);
        assert_eq!((said(&bytes), manifest.records.len()), (says(revision), 1));
    }
    let mixed = object(&[with("a", "s_sethalt 1", "A0"), with("b", "s_sethalt 1", "B0")]);
    let (bytes, _) = changed_by(&by(&VENDOR), &mixed);
    assert_eq!(said(&bytes), [says("A0"), says("B0")].concat());
}

#[test]
fn a_set_writes_the_stepping_that_it_declares() {
    assert_eq!(TO_B0.stepping().map(|it| (it.takes, it.gives)), Some(("A0", "B0")));
    let (bytes, _) = changed_by(&by(&TO_B0), &object(&[with("k", "s_sethalt 1", "A0")]));
    assert_eq!(said(&bytes), says("B0"));
    let done = by(&TO_B0).patch(&object(&[with("k", "s_nop 0", "B0")])).unwrap();
    let verdict = Verdict::Unchanged("all kernels say that they are for B0".to_owned());
    assert_eq!((done.bytes, done.manifest.verdict), (None, verdict));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_has_nothing_to_rewrite_is_for_the_new_stepping_too() {
    let file = object(&[with("k", "s_nop 1", "B0")]);
    let (bytes, manifest) = changed(&file);
    assert_eq!((said(&bytes), manifest.records.len()), (says("A0"), 0));
    assert_eq!(bytes.len(), file.len());
    llvm_accepts(&bytes);
}

#[test]
fn a_false_label_is_found() {
    let liar = with("liar", &format!("s_nop 1\n{STRIDE}\ns_clause 0x1"), "A0");
    let refused = patch(&object(&[with("honest", "s_nop 0", "A0"), liar.clone()]));
    let expected = "metadata: all kernels say that they are for A0, and \
        ds_load_2addr_stride64_b32 v[0:1], v2 offset0:1 offset1:3 is not for it";
    assert_eq!(refusal(&refused), expected);
    let places: Vec<_> = refused.manifest.refusals().map(|(it, _)| it).collect();
    let places: Vec<_> =
        places.iter().map(|it| (it.rule.as_str(), it.function.as_str(), it.address)).collect();
    assert_eq!(places, [("ds-two-address", "liar", 0x2104), ("clause", "liar", 0x210c)]);
    // An edit does not make it true.
    let options = Options::default();
    let set = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
    let patcher = Patcher::new(set, options).unwrap();
    let patcher = patcher.with_edits(vec![CodeEdit::Count(Points::Entries)]);
    assert_eq!(refusal(&patcher.patch(&object(&[liar])).unwrap()), expected);
}

#[test]
fn an_entry_stub_is_put_before_kernels_for_a0_too() {
    let options = Options { entry_stub: true, ..Options::default() };
    let file = object(&[with("k", "s_mov_b32 s4, 0", "A0")]);
    let (bytes, manifest) = changed_by(&patcher(&options), &file);
    assert_eq!((said(&bytes), manifest.stubs.len()), (says("A0"), 1));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn strict_b0_changes_tensor_loads_alone_and_stays_b0() {
    let strict = by(RuleSet::by_name("gfx1250-b0-strict").unwrap());
    let lines = format!("s_clause 0x1\n{STRIDE}\ntensor_load_to_lds s[0:3], s[4:11]");
    let (bytes, manifest) = changed_by(&strict, &object(&[with("k", &lines, "B0")]));
    // The load, and the clause that it is taken out of.
    let sites: Vec<_> =
        manifest.records.iter().map(|it| (it.rules[0].0, it.site.address)).collect();
    assert_eq!(sites, [("tensor-mask-b0", TEXT), ("tensor-mask-b0", TEXT + 12)]);
    assert_eq!(said(&bytes), says("B0"));
    llvm_accepts(&bytes);
    // Code that becomes code for A0 loses the mask inside of clusters too.
    let (bytes, _) = changed(&bytes);
    assert_eq!(said(&bytes), says("A0"));
    let refused = strict.patch(&object(&[with("k", &lines, "A0")])).unwrap();
    let expected = "metadata: 1 of 1 kernels say that they are for A0, and the rules take B0";
    assert_eq!(refusal(&refused), expected);
    // Who says nothing is taken at the caller's word, and says nothing afterwards.
    let (bytes, _) = changed_by(&strict, &object(&[kernel("k", &lines)]));
    assert_eq!(said(&bytes), [None]);
}

#[test]
fn an_object_of_another_processor_is_refused() {
    let file = std::fs::read(hsaco_tests::fixture("s1.gfx942.co")).unwrap();
    let refused = by(&VENDOR).patch(&file).unwrap();
    assert_eq!(refusal(&refused), "processor: vendor is for gfx1250, the object for gfx942");
}

#[test]
fn an_edit_without_a_place_is_refused() {
    let none = edited(&object(&[]), CodeEdit::Count(Points::Entries));
    assert_eq!(refusal(&none), "no-place: it holds no code");
    let device = NewKernel { is_device: true, ..kernel("f", "s_nop 0") };
    for points in [Points::Entries, Points::Blocks] {
        let none = edited(&object(std::slice::from_ref(&device)), CodeEdit::Count(points));
        assert_eq!(refusal(&none), "control-flow: the object has no kernels");
    }
}
