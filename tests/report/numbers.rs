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

/// All of a report's data, as its own page reads it: the index, each kernel's page, and the tables that it shows.
fn data(browser: &Browser, first: usize, end: usize) -> Vec<Value> {
    let found = browser.js(&format!(
        "const tables = (draw, page) => {{
           const panel = document.createElement('div');
           draw(page, panel);
           return Object.fromEntries([...panel.querySelectorAll('table')].map(it => [it.getAttribute('aria-label'),
             [...it.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))]));
         }};
         const occupancy = page => {{
           const panel = document.createElement('div');
           const view = new Occupancy(page);
           view.draw(panel);
           return {{
             waves: Number(panel.querySelector('#waves').dataset.waves),
             limiter: panel.querySelector('#waves').dataset.limiter,
             charts: view.cards.map(it => view.tableOf(it.key)),
             amounts: view.cards.map(it => it.value.textContent),
             hint: page.resources.occupancy.next ? nextWaves(page) : null,
           }};
         }};
         return (async () => {{
           const found = [];
           for (let at = {first}; at < Math.min({end}, report.kernels.length); at++) {{
             const page = await loadPage(at);
             const {{ row, texts, info, resources, arguments: layout, findings, blocks, loops, mix, peaks, addresses,
               live_vgprs, live_agprs, live_sgprs }} = page;
             const {{ number, target, file, worst, all, ...own }} = row;
             const frames = page.places.map(it => it ? page.sources.places[it - 1].map(([name, file, line, column]) =>
               ({{ function: name, file: file === null ? null : page.sources.files[file].path, line, column }})) : []);
             const classes = {{}};
             for (let step = 0; step < page.count; step++) {{
               classes[page.classOf(step)] = (classes[page.classOf(step)] ?? 0) + 1;
             }}
             found.push({{ row: own, object: report.objects[row.object].index, info, resources, layout, findings, loops, mix,
               peaks, blocks, texts, addresses, live_vgprs, live_agprs, live_sgprs, frames, classes,
               shown: {{ ...tables(drawMix, page), ...tables(drawArguments, page), ...tables(drawMetadata, page) }},
               occupancy: page.demand ? occupancy(page) : null }});
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
    loops: Value,
}

impl Verbs {
    fn new(file: &str) -> Self {
        Self {
            resources: answer(&["resources", file, "--mix", "--peak", "--curve"]),
            layouts: answer(&["kernarg", file, "--registers"]),
            info: answer(&["info", file]),
            flow: answer(&["cfg", file, "--instructions"]),
            findings: answer(&["check", file, "--notes"]),
            disasm: answer(&["disasm", file, "--live"]),
            loops: answer(&["source", file, "--hot", "--inlines"]),
        }
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn pages_of_fixtures_say_what_the_verbs_say() {
    let browser = Browser::new(1280, 900);
    for name in [
        "flow.co",
        "halves.co",
        "lines.dwarf5.co",
        "mangled.co",
        "odd-types.co",
        "opencl.co",
        "plain.bundle",
        "printf.co",
        "run.gfx1100.co",
        "run.gfx942.co",
        "s1.gfx1100.co",
        "s1.gfx1250.co",
        "s1.gfx942.co",
        "s1.stripped.co",
        "sanitize.co",
        "short.co",
        "steppings.co",
        "types.co",
        "v2.co",
    ] {
        let count = compare(&browser, &fixture(name).display().to_string());
        assert!(count > 0, "{name}");
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn pages_of_a_library_say_what_the_verbs_say() {
    let file = corpus_file("bitsandbytes/libbitsandbytes_rocm72.so").display().to_string();
    assert_eq!(compare(&Browser::new(1280, 900), &file), 2625);
}

/// Compares all kernels and functions of a file, and says how many kernels these are.
fn compare(browser: &Browser, file: &str) -> usize {
    let folder = scratch_dir();
    let path = report(folder.path(), "page.html", &[file]);
    open(browser, &path);
    let verbs = Verbs::new(file);
    let (resources, layouts) =
        (by_name(&verbs.resources, "kernels"), by_name(&verbs.layouts, "kernels"));
    let (info, flow) = (by_name(&verbs.info, "kernels"), by_name(&verbs.flow, "functions"));
    let loops = by_name(&verbs.loops, "kernels");
    let live = live(&verbs.disasm);
    let (mut kernels, mut functions) = (0, 0);
    loop {
        let first = kernels + functions;
        let pages = data(browser, first, first + 100);
        if pages.is_empty() {
            break;
        }
        for page in &pages {
            let key = (page["object"].as_u64().unwrap(), page["row"]["name"].as_str().unwrap());
            compare_live(page, key.0, &live);
            if let Some(flow) = flow.get(&key) {
                compare_flow(page, flow);
            }
            if page["row"]["kind"] != "kernel" {
                functions += 1;
                continue;
            }
            kernels += 1;
            assert!(flow.contains_key(&key), "{key:?}");
            compare_resources(page, resources[&key]);
            assert_eq!(&page["layout"], layouts[&key], "{key:?}");
            assert_eq!(&page["info"], info[&key], "{key:?}");
            compare_row(page, resources[&key], info[&key]);
            compare_loops(page, loops[&key]);
            compare_findings(page, key, &verbs.findings);
            compare_shown(page);
        }
    }
    assert_eq!(kernels, resources.len());
    shown_rows(browser);
    kernels
}

/// What `resources` says with all of its options, of which a page has each part in its own place.
fn compare_resources(page: &Value, resources: &Value) {
    let name = &page["row"]["name"];
    let mut rest = resources.as_object().unwrap().clone();
    let [mix, peaks, curve] = ["mix", "peak", "curve"].map(|it| rest.remove(it));
    assert_eq!(page["resources"], Value::Object(rest), "{name}");
    assert_eq!(Some(&page["mix"]), mix.as_ref(), "{name}");
    assert_eq!(Some(&page["peaks"]), peaks.as_ref(), "{name}");
    let (shown, occupancy) = (&page["occupancy"], &resources["occupancy"]);
    assert_eq!(shown.is_null(), occupancy.is_null(), "{name}");
    let Some(curve) = curve else { return };
    assert_eq!(shown["waves"], occupancy["waves_per_simd"], "{name}");
    assert_eq!(shown["limiter"].as_str().unwrap(), occupancy["limiter"].as_str().unwrap_or(""));
    for (chart, resource) in ["vgprs", "sgprs", "lds", "workgroup"].iter().enumerate() {
        compare_curve(&shown["charts"][chart], &curve[resource], &format!("{name} {resource}"));
    }
    let next = &occupancy["next"];
    let hint = shown["hint"].as_str().unwrap_or("");
    assert_eq!(hint.is_empty(), next.is_null(), "{name}: {hint}");
    for freed in ["vgprs", "sgprs", "lds"].map(|it| next[it].as_u64().unwrap_or(0)) {
        assert!(
            freed == 0 || hint.contains(&format!("{} fewer", grouped(freed))),
            "{name}: {hint}"
        );
    }
    let waves = next["waves_per_simd"].as_u64();
    assert!(waves.is_none_or(|it| hint.ends_with(&format!("({it}).")),), "{name}: {hint}");
}

/// A chart has steps of a resource; with each amount it shows the waves that `--curve` says.
fn compare_curve(chart: &Value, curve: &Value, what: &str) {
    let steps: Vec<(u64, u64)> = serde_json::from_value(chart.clone()).unwrap();
    let stairs = curve.as_array().unwrap();
    assert!(!steps.is_empty() && !stairs.is_empty(), "{what}");
    for stair in stairs {
        let waves = stair["waves_per_simd"].as_u64();
        for amount in ["first", "last"].map(|it| stair[it].as_u64().unwrap()) {
            let step = steps.iter().find(|it| amount <= it.0).or(steps.last());
            assert_eq!(step.map(|it| it.1), waves, "{what} {amount}: {chart} {curve}");
        }
    }
}

/// Loops, and where instructions come from, as `source --hot --inlines` says it.
fn compare_loops(page: &Value, source: &Value) {
    let name = &page["row"]["name"];
    let rings = source["loops"].as_array().unwrap();
    let found = page["loops"].as_array().unwrap();
    assert_eq!(found.len(), rings.len(), "{name}");
    for ring in rings {
        let mut expected = ring.as_object().unwrap().clone();
        expected.remove("stretches");
        let at = usize::try_from(expected["index"].as_u64().unwrap()).unwrap();
        assert_eq!(found[at], Value::Object(expected), "{name}");
    }
    let frames: HashMap<u64, &Value> = page["addresses"]
        .as_array()
        .unwrap()
        .iter()
        .zip(page["frames"].as_array().unwrap())
        .map(|(address, frames)| (address.as_u64().unwrap(), frames))
        .collect();
    let stretches = rings.iter().chain([source]).flat_map(|it| it["stretches"].as_array().unwrap());
    for stretch in stretches {
        let calls = stretch["inlined_at"].as_array().unwrap();
        for (at, instruction) in stretch["instructions"].as_array().unwrap().iter().enumerate() {
            let address = instruction["address"].as_u64().unwrap();
            let found = frames.get(&address).map_or(&[][..], |it| it.as_array().unwrap());
            let Some((own, others)) = found.split_first() else {
                assert_eq!(
                    (&stretch["file"], calls.len()),
                    (&Value::Null, 0),
                    "{name} {address:#x}"
                );
                continue;
            };
            for key in ["function", "file", "line"] {
                assert_eq!(own[key], stretch[key], "{name} {address:#x} {key}");
            }
            assert!(at > 0 || own["column"] == stretch["column"], "{name} {address:#x}");
            assert_eq!(others, calls.as_slice(), "{name} {address:#x}");
        }
    }
}

fn compare_findings(page: &Value, key: (u64, &str), answer: &Value) {
    let findings = answer["files"][0]["devices"][0]["findings"].as_array().unwrap();
    let is_of = |it: &&Value| {
        it["kernel"] == json!(key.1) && it["object"].as_u64().is_none_or(|it| it == key.0)
    };
    let expected: Vec<&Value> = findings.iter().filter(is_of).collect();
    let found = page["findings"].as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{key:?}");
    for (found, expected) in found.iter().zip(&expected) {
        for column in ["rule", "severity", "message", "help", "field", "offset", "address"] {
            assert_eq!(found[column], expected[column], "{key:?} {column}");
        }
    }
    let count = |severity| expected.iter().filter(|it| it["severity"] == json!(severity)).count();
    let counts = ["error", "warning", "note"].map(count);
    assert_eq!(page["row"]["findings"], json!(counts), "{key:?}");
}

/// A number as a page writes it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let is_start = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    let letter = |(at, it): (usize, char)| [is_start(at).then_some(','), Some(it)];
    digits.chars().enumerate().flat_map(letter).flatten().collect()
}

/// What a cell shows of a value.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Number(it) => it.as_u64().map_or_else(|| it.to_string(), grouped),
        Value::String(it) => it.clone(),
        other => other.to_string(),
    }
}

/// The tables that a page draws have the values that were compared.
fn compare_shown(page: &Value) {
    let mixes = page["loops"].as_array().unwrap().iter();
    let mixes = mixes.map(|it| (format!("loop {}", it["index"]), &it["mix"]));
    for (title, mix) in mixes.chain([("all".to_owned(), &page["mix"])]) {
        compare_mix(page, &title, mix);
    }
    let summed: u64 = page["classes"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(json!(summed), page["mix"]["instructions"]);
    for row in page["mix"]["classes"].as_array().unwrap() {
        assert_eq!(page["classes"][row["class"].as_str().unwrap()], row["count"]);
    }
    let of = &page["resources"];
    let amounts = |title: &str, key: &str| {
        let columns = ["needed", "declared", "allocated"].map(|it| cell(&of[key][it]));
        [&[title.to_owned()][..], &columns].concat()
    };
    let lds = match of["lds"]["accessed"].as_bool() {
        None => "–",
        Some(true) => "used",
        Some(false) => "0",
    };
    let mut lds_row = amounts("LDS", "lds");
    lds_row[1] = lds.to_owned();
    let spills = |title: &str, key: &str| {
        vec![title.to_owned(), String::new(), cell(&of["spills"][key]), String::new()]
    };
    let expected = [
        amounts("VGPRs", "vgprs"),
        amounts("AGPRs", "agprs"),
        amounts("SGPRs", "sgprs"),
        lds_row,
        amounts("Scratch", "scratch"),
        spills("Spilled VGPRs", "vgprs"),
        spills("Spilled SGPRs", "sgprs"),
    ];
    assert_eq!(shown(page, "Resources", 4), expected);
    if let Some(fields) = page["info"]["descriptor_fields"].as_object() {
        let mut expected: Vec<Vec<String>> =
            fields.iter().map(|(key, value)| vec![key.clone(), cell(value)]).collect();
        let mut found = shown(page, "Descriptor", 2);
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
    if let Some(metadata) = page["info"]["metadata"].as_object() {
        let metadata = metadata.iter().filter(|it| it.0 != ".args");
        let found: HashMap<String, String> = shown(page, "Metadata", 2)
            .into_iter()
            .map(|it| (it[0].clone(), it[1].clone()))
            .collect();
        for (key, value) in metadata {
            let text = &found[key];
            let is_same = match value {
                Value::String(it) => it == text,
                Value::Null => text == "–",
                _ => serde_json::from_str(text).ok().as_ref() == Some(value),
            };
            assert!(is_same, "{key}: {text} {value}");
        }
    }
    let arguments = page["layout"]["arguments"].as_array().map_or(&[][..], Vec::as_slice);
    let expected: Vec<Vec<String>> = arguments
        .iter()
        .map(|it| ["offset", "size", "kind"].map(|key| cell(&it[key])).to_vec())
        .collect();
    let found: Vec<Vec<String>> =
        shown(page, "Arguments", 4).into_iter().map(|it| it[1..].to_vec()).collect();
    assert_eq!(found, expected);
}

/// The first columns of a table that a page shows; nothing if it shows none of this name.
fn shown(page: &Value, title: &str, columns: usize) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> =
        serde_json::from_value(page["shown"][title].clone()).unwrap_or_default();
    rows.into_iter().map(|it| it.into_iter().take(columns).collect()).collect()
}

fn compare_mix(page: &Value, title: &str, mix: &Value) {
    let classes = shown(page, &format!("Classes of {title}"), 3);
    let expected = mix["classes"].as_array().unwrap();
    assert_eq!(classes.len(), expected.len(), "{title}");
    let all = mix["instructions"].as_f64().unwrap();
    for (found, expected) in classes.iter().zip(expected) {
        assert_eq!(found[..2], [cell(&expected["class"]), cell(&expected["count"])]);
        let share: f64 = found[2].trim_end_matches(" %").parse().unwrap();
        let exact = 100.0 * expected["count"].as_f64().unwrap() / all;
        assert!(
            (share - exact).abs() <= if exact < 10.0 { 0.0501 } else { 0.501 },
            "{found:?} {exact}"
        );
    }
    let width = |it: &Value| match it["width"].as_u64() {
        Some(width) => format!("{width} B"),
        None => "by descriptor".to_owned(),
    };
    let memory: Vec<Vec<String>> = mix["memory"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| vec![cell(&it["space"]), cell(&it["access"]), width(it), cell(&it["count"])])
        .collect();
    assert_eq!(shown(page, &format!("Memory of {title}"), 4), memory);
    let matrix: Vec<Vec<String>> = mix["matrix"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let scaled = if it["scaled"] == true { ", scaled" } else { "" };
            let factors = if it["a"] == it["b"] {
                cell(&it["a"])
            } else {
                format!("{} × {}", cell(&it["a"]), cell(&it["b"]))
            };
            let kind = format!("{}{scaled}", cell(&it["kind"]));
            vec![kind, cell(&it["shape"]), factors, cell(&it["sum"]), cell(&it["count"])]
        })
        .collect();
    assert_eq!(shown(page, &format!("Matrix operations of {title}"), 5), matrix);
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
    assert_eq!(page["row"]["instructions"], json!(texts.len()));
    assert_eq!(page["row"]["loops"], json!(flow["loops"].as_array().unwrap().len()));
}

fn compare_row(page: &Value, resources: &Value, info: &Value) {
    let row = &page["row"];
    assert_eq!(row["demangled"], resources["demangled"]);
    let spills = ["vgprs", "sgprs"].map(|it| resources["spills"][it].as_u64());
    let total = spills.iter().flatten().copied().reduce(|a, b| a + b);
    assert_eq!(row["spills"], json!(total));
    for key in ["vgprs", "agprs", "sgprs", "lds", "scratch"] {
        assert_eq!(row[key], resources[key]["declared"], "{key}");
        // Of kernels without metadata, `info` says what the descriptor allocates.
        assert!(row[key].is_null() || row[key] == info[key], "{key}: {} {}", row[key], info[key]);
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
