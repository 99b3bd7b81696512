//! Every number of a report is what the other verbs say.

use std::collections::HashMap;

use hsaco_tests::browser::Browser;
use hsaco_tests::{corpus_file, fixture, scratch_dir};
use serde_json::{Value, json};

use crate::{answer, open, report};

/// The objects of the only file of an answer.
fn objects(answer: &Value) -> &[Value] {
    answer["files"][0]["objects"].as_array().unwrap()
}

/// Rows of an answer by the object's number and the kernel's name.
fn by_name<'a>(answer: &'a Value, list: &str) -> HashMap<(u64, &'a str), &'a Value> {
    let mut rows = HashMap::new();
    for object in objects(answer) {
        for row in object[list].as_array().unwrap() {
            let key = (object["index"].as_u64().unwrap(), row["name"].as_str().unwrap());
            assert!(rows.insert(key, row).is_none(), "{key:?} twice");
        }
    }
    rows
}

/// All of a report's data, as its own page reads it: the index, and each kernel's page.
fn data(browser: &Browser, first: usize, end: usize) -> Vec<Value> {
    let found = browser.js(&format!(
        "return (async () => {{
           const found = [];
           for (let at = {first}; at < Math.min({end}, report.kernels.length); at++) {{
             const {{ row, texts, info, resources, arguments: layout, findings, blocks, loops, mix, peaks, addresses,
               live_vgprs, live_agprs, live_sgprs }} = await loadPage(at);
             found.push({{ row, object: report.objects[row.object].index, info, resources, layout, findings, loops, mix, peaks,
               blocks, texts, addresses, live_vgprs, live_agprs, live_sgprs }});
           }}
           return found;
         }})()"
    ));
    found.as_array().unwrap().clone()
}

/// What other verbs say of a file.
struct Verbs {
    resources: Value,
    layouts: Value,
    info: Value,
    flow: Value,
    findings: Value,
    disasm: Value,
}

impl Verbs {
    fn new(file: &str) -> Self {
        Self {
            resources: answer(&["resources", file]),
            layouts: answer(&["kernarg", file, "--registers"]),
            info: answer(&["info", file]),
            flow: answer(&["cfg", file, "--instructions"]),
            findings: answer(&["check", file, "--notes"]),
            disasm: answer(&["disasm", file, "--live"]),
        }
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn pages_of_fixtures_say_what_the_verbs_say() {
    for name in [
        "s1.gfx942.co",
        "s1.gfx1100.co",
        "lines.dwarf5.co",
        "short.co",
        "types.co",
        "plain.bundle",
        "run.gfx942.co",
    ] {
        let count = compare(&fixture(name).display().to_string());
        assert!(count > 0, "{name}");
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn pages_of_a_library_say_what_the_verbs_say() {
    let file = corpus_file("bitsandbytes/libbitsandbytes_rocm72.so").display().to_string();
    assert_eq!(compare(&file), 2625);
}

/// Compares all kernels of a file, and says how many these are.
fn compare(file: &str) -> usize {
    let folder = scratch_dir();
    let path = report(folder.path(), "page.html", &[file]);
    let browser = Browser::new(1280, 900);
    open(&browser, &path);
    let verbs = Verbs::new(file);
    let (resources, layouts) =
        (by_name(&verbs.resources, "kernels"), by_name(&verbs.layouts, "kernels"));
    let (info, flow) = (by_name(&verbs.info, "kernels"), by_name(&verbs.flow, "functions"));
    let live = live(&verbs.disasm);
    let mut count = 0;
    let mut first = 0;
    loop {
        let pages = data(&browser, first, first + 100);
        if pages.is_empty() {
            break;
        }
        first += pages.len();
        for page in pages.iter().filter(|it| it["row"]["kind"] == "kernel") {
            count += 1;
            let name = page["row"]["name"].as_str().unwrap();
            let key = (page["object"].as_u64().unwrap(), name);
            assert_eq!(&page["resources"], resources[&key], "{key:?}");
            assert_eq!(&page["layout"], layouts[&key], "{key:?}");
            assert_eq!(&page["info"], info[&key], "{key:?}");
            compare_flow(page, flow[&key]);
            compare_live(page, key.0, &live);
            compare_row(page, resources[&key], info[&key]);
            let findings = verbs.findings["files"][0]["devices"][0]["findings"].as_array().unwrap();
            let is_of = |it: &&Value| {
                it["kernel"] == json!(name) && it["object"].as_u64().is_none_or(|it| it == key.0)
            };
            let messages: Vec<&Value> =
                findings.iter().filter(is_of).map(|it| &it["message"]).collect();
            let found: Vec<&Value> =
                page["findings"].as_array().unwrap().iter().map(|it| &it["message"]).collect();
            assert_eq!(found, messages, "{key:?}");
        }
    }
    assert_eq!(count, resources.len());
    shown_rows(&browser);
    count
}

/// Live registers by the object's number and the address.
fn live(disasm: &Value) -> HashMap<(u64, u64), &Value> {
    let mut found = HashMap::new();
    for object in objects(disasm) {
        for function in object["functions"].as_array().unwrap() {
            for it in function["instructions"].as_array().unwrap() {
                found.insert(
                    (object["index"].as_u64().unwrap(), it["address"].as_u64().unwrap()),
                    &it["live"],
                );
            }
        }
    }
    found
}

fn compare_live(page: &Value, object: u64, live: &HashMap<(u64, u64), &Value>) {
    for (step, address) in page["addresses"].as_array().unwrap().iter().enumerate() {
        if step == page["texts"].as_array().unwrap().len() {
            break;
        }
        let expected = live[&(object, address.as_u64().unwrap())];
        for kind in ["vgprs", "agprs", "sgprs"] {
            let column = page[format!("live_{kind}")].as_array().unwrap();
            let found = if column.is_empty() { &json!(0) } else { &column[step] };
            assert_eq!(found, &expected[kind], "{kind} at {address}");
        }
    }
}

fn compare_flow(page: &Value, flow: &Value) {
    let (blocks, expected) =
        (page["blocks"].as_array().unwrap(), flow["blocks"].as_array().unwrap());
    assert_eq!(blocks.len(), expected.len());
    let texts = page["texts"].as_array().unwrap();
    let mut step = 0;
    for (block, expected) in blocks.iter().zip(expected) {
        assert_eq!(block["count"], expected["instruction_count"]);
        assert_eq!(block["loop"], expected["loop"]);
        assert_eq!(page["addresses"][step], expected["address"]);
        assert_eq!(block["reached"], expected["is_reached"]);
        let next: Vec<Value> = expected["successors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| json!({"to": it["block"], "kind": it["kind"]}))
            .collect();
        assert_eq!(block["next"], json!(next));
        for line in expected["instructions"].as_array().unwrap() {
            assert_eq!((&texts[step], &page["addresses"][step]), (&line["text"], &line["address"]));
            step += 1;
        }
    }
    assert_eq!(step, texts.len());
    for (ring, expected) in
        page["loops"].as_array().unwrap().iter().zip(flow["loops"].as_array().unwrap())
    {
        for key in ["index", "header", "parent", "depth", "blocks"] {
            assert_eq!(ring[key], expected[key], "{key}");
        }
    }
    assert_eq!(page["mix"]["instructions"], json!(texts.len()));
}

fn compare_row(page: &Value, resources: &Value, info: &Value) {
    let row = &page["row"];
    for key in ["vgprs", "agprs", "sgprs", "lds", "scratch"] {
        assert_eq!(row[key], resources[key]["declared"], "{key}");
        assert_eq!(row[key], info[key], "{key}");
    }
    let occupancy = &resources["occupancy"];
    assert_eq!(row["waves"], occupancy["waves_per_simd"]);
    assert_eq!(row["max_waves"], occupancy["max_waves_per_simd"]);
    assert_eq!(row["limiter"], occupancy["limiter"]);
    assert_eq!(row["size"], info["code_size"]);
}

/// The table shows the numbers of its rows, all of them.
fn shown_rows(browser: &Browser) {
    let wrong = browser.js(
        "window.onbeforeprint();
         const heads = [...document.querySelectorAll('.kernels thead th')].map(it => it.dataset.key);
         const rows = [...document.querySelectorAll('.kernels tbody tr')];
         const wrong = [];
         rows.forEach((node, at) => heads.forEach((key, column) => {
           const text = node.children[column].textContent;
           const value = order[at][key];
           if (COLUMNS.find(it => it.key === key).is !== 'number' || key === 'all') return;
           const found = text === '–' ? null : Number(text.split('/')[0].replaceAll(',', ''));
           if (found !== (value ?? null)) wrong.push([at, key, text, value]);
         }));
         window.onafterprint();
         return [rows.length, wrong.slice(0, 5)]",
    );
    let count = browser.js("return Math.min(3000, report.kernels.length)");
    assert_eq!(wrong, json!([count, []]));
}

/// What a kernel's own page shows at its top are the numbers of `resources`.
#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn a_page_shows_its_numbers() {
    let folder = scratch_dir();
    let file = fixture("s1.gfx942.co").display().to_string();
    let browser = Browser::new(1280, 900);
    open(&browser, &report(folder.path(), "page.html", &[&file]));
    let resources = answer(&["resources", &file]);
    for (number, kernel) in objects(&resources)[0]["kernels"].as_array().unwrap().iter().enumerate()
    {
        let name = kernel["demangled"].as_str().unwrap();
        browser.js_with(
            "location.hash = 'kernel=' + report.kernels.find(it => it.name === arguments[0]).number",
            json!([kernel["name"]]),
        );
        browser.wait(&format!("document.querySelector('h1')?.textContent === {}", json!(name)));
        let tiles = browser.text(".tiles");
        let amounts = |key: &str| {
            ["needed", "declared", "allocated"]
                .map(|it| kernel[key][it].as_u64().map_or("–".to_owned(), |it| it.to_string()))
                .join(" / ")
        };
        for key in ["vgprs", "sgprs"] {
            assert!(tiles.contains(&amounts(key)), "{number} {name}: {tiles}");
        }
        let occupancy = &kernel["occupancy"];
        let waves =
            format!("{} / {}", occupancy["waves_per_simd"], occupancy["max_waves_per_simd"]);
        assert!(tiles.contains(&waves), "{tiles}");
    }
}
