//! Profiles and samples at the instructions that they are of.

use std::fs;

use hsaco_tests::browser::Browser;
use hsaco_tests::program::hsaco_command;
use hsaco_tests::{fixture, scratch_dir};
use serde_json::{Value, json};

use crate::{answer, assert_quiet, open, open_kernel, picture, report};

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn a_profile_is_shown_at_every_instruction() {
    let folder = scratch_dir();
    let object = "run.gfx942.co";
    let profile = folder.path().join("profile.json");
    let ran = hsaco_command()
        .args(["run", "-k", "reverse", "--grid", "2", "--workgroup", "64", "--dynamic-lds", "256"])
        .args(["--arg", "buf:512", "--profile"])
        .arg(&profile)
        .arg(fixture(object))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let rows: Value = serde_json::from_slice(&fs::read(&profile).unwrap()).unwrap();
    let profile = profile.display().to_string();
    let path = report(
        folder.path(),
        "profile.html",
        &[object, "--map", "/src=src", "--profile", &profile],
    );
    let browser = Browser::new(1280, 900);
    open(&browser, &path);
    open_kernel(&browser, "reverse", "code");
    let found =
        browser.js("return [...document.querySelectorAll('.listing .line[data-step]')].map(it =>
           [parseInt(it.querySelector('.address').textContent, 16),
            Number(it.querySelector('.runs').textContent.replaceAll(',', ''))])");
    let found: Vec<(u64, u64)> = serde_json::from_value(found).unwrap();
    let ran: Vec<(u64, u64)> = rows["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["symbol"] == "reverse")
        .map(|it| (it["object_address"].as_u64().unwrap(), it["executions"].as_u64().unwrap()))
        .collect();
    assert!(ran.len() > 5);
    let shown: Vec<(u64, u64)> = found.into_iter().filter(|it| it.1 > 0).collect();
    assert!(!shown.is_empty() && shown.iter().all(|it| ran.contains(it)), "{shown:?} {ran:?}");
    let total: u64 = ran.iter().map(|it| it.1).sum();
    assert_eq!(
        browser.js("return report.kernels.reduce((sum, it) => sum + (it.executions ?? 0), 0)"),
        json!(total)
    );
    picture::check(&browser, "profile");
    assert_quiet(&browser);
    // A profile of another object is no profile of this one.
    let other = fixture("s1.gfx942.co").display().to_string();
    let mut command = hsaco_command();
    command.args(["report", &other, "--profile", &profile, "-o"]);
    let ran = command.arg(folder.path().join("other.html")).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("no object of the report has its"));
}

/// As rocprofv3 of ROCm 7 writes them.
#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn samples_are_shown_with_their_stalls() {
    let folder = scratch_dir();
    let object = "lines.dwarf5.co";
    let source = answer(&["source", object, "-k", "_ZN5space10kernel_oneEPfPKN3vec4PairIfEEi"]);
    let stretches = source["files"][0]["objects"][0]["kernels"][0]["stretches"].as_array().unwrap();
    let wait = stretches
        .iter()
        .flat_map(|it| it["instructions"].as_array().unwrap().iter().map(move |inst| (it, inst)))
        .find(|(_, it)| it["text"].as_str().unwrap().starts_with("s_waitcnt"))
        .unwrap();
    let (address, text) = (wait.1["address"].as_u64().unwrap(), wait.1["text"].as_str().unwrap());
    let record = |issued: bool| {
        json!({"inst_index": 0, "record": {
            "hw_id": {"chiplet": 0}, "exec_mask": u64::MAX, "dispatch_id": 1, "corr_id": {"internal": 1, "external": 0},
            "pc": {"code_object_id": 2, "code_object_offset": address}, "wave_issued": issued, "wave_cnt": 3,
            "snapshot": {"stall_reason": "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"},
        }})
    };
    let results = json!({"rocprofiler-sdk-tool": [{
        "buffer_records": {"pc_sample_stochastic": [record(false), record(false), record(false), record(true)]},
        "strings": {"pc_sample_instructions": [text], "pc_sample_comments": [""]},
    }]});
    let path = folder.path().join("results.json");
    fs::write(&path, results.to_string()).unwrap();
    let browser = Browser::new(1280, 900);
    let page =
        report(folder.path(), "samples.html", &[object, "--samples", &path.display().to_string()]);
    open(&browser, &page);
    open_kernel(&browser, "kernel_one", "code");
    let cells = |browser: &Browser| {
        browser.js(
            "const line = [...document.querySelectorAll('.listing .line[data-step]')].find(it =>
               it.querySelector('.runs').textContent);
             return [parseInt(line.querySelector('.address').textContent, 16), line.querySelector('.runs').textContent,
               line.querySelector('.lanes').textContent, line.querySelector('.lanes').title]",
        )
    };
    assert_eq!(cells(&browser), json!([address, "4", "75 %", "waitcnt: 3"]));
    // The same as CSV: no address, but the text, the line, and the kernel's name from the trace.
    let comment = format!("{}:{}", wait.0["file"].as_str().unwrap(), wait.0["line"]);
    let head = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\
                \"Correlation_Id\",\"Wave_Issued_Instruction\",\"Instruction_Type\",\"Stall_Reason\",\"Wave_Count\"";
    let row = |issued: u8| {
        format!(
            "390705261841337,18446744073709551615,24,\"{text}\",\"{comment}\",24,{issued},\
             \"ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_NO_INST\",\
             \"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT\",3"
        )
    };
    let csv = folder.path().join("pc_sampling_stochastic.csv");
    fs::write(&csv, [head.to_owned(), row(0), row(0), row(0), row(1), String::new()].join("\n"))
        .unwrap();
    let trace = folder.path().join("kernel_trace.csv");
    let name = "space::kernel_one(float*, vec::Pair<float> const*, int)";
    fs::write(
        &trace,
        format!("\"Kind\",\"Dispatch_Id\",\"Kernel_Name\"\n\"KERNEL_DISPATCH\",24,\"{name}\"\n"),
    )
    .unwrap();
    let (csv, trace) = (csv.display().to_string(), trace.display().to_string());
    let page = report(folder.path(), "csv.html", &[object, "--samples", &csv, "--samples", &trace]);
    open(&browser, &page);
    open_kernel(&browser, "kernel_one", "code");
    let found = cells(&browser);
    assert_eq!(found[1].as_str().unwrap().trim_end_matches('≈'), "4", "{found}");
    assert_eq!((&found[2], &found[3]), (&json!("75 %"), &json!("waitcnt: 3")));
    assert_quiet(&browser);
}
