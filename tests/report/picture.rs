//! Pictures of pages, held against those that were looked at.

use std::fs;
use std::path::PathBuf;

use hsaco_tests::browser::Browser;
use serde_json::json;

/// Fonts differ a little from machine to machine: of all pixels so many may be of quite another colour, in percent.
const TOLERANCE: f64 = 6.0;

/// Where expected pictures are.
fn path(name: &str) -> PathBuf {
    hsaco_tests::workspace_root().join("tests/report/expected").join(format!("{name}.png"))
}

/// The window is as it was when it was last looked at; with `BLESS=1` the picture is written anew.
pub(crate) fn check(browser: &Browser, name: &str) {
    let shot = browser.screenshot();
    let second = Browser::new(800, 600);
    second.go("about:blank");
    // Half the size is enough to see what is wrong, and keeps files small.
    let small = second.js_with(
        "const [shot] = arguments;
         return (async () => {
           const load = async text => createImageBitmap(await (await fetch('data:image/png;base64,' + text)).blob());
           const image = await load(shot);
           const canvas = new OffscreenCanvas(image.width / 2, image.height / 2);
           const context = canvas.getContext('2d');
           context.imageSmoothingQuality = 'high';
           context.drawImage(image, 0, 0, canvas.width, canvas.height);
           const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
           let text = '';
           for (const byte of bytes) text += String.fromCharCode(byte);
           return btoa(text);
         })()",
        json!([shot]),
    );
    let small = small.as_str().unwrap();
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        fs::write(path(name), decoded(small)).unwrap();
    }
    let expected = fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let share = second.js_with(DIFFERENCE, json!([small, encoded(&expected)]));
    let share = share.as_f64().unwrap_or(100.0);
    if share > TOLERANCE {
        let found = std::env::temp_dir().join(format!("hsaco-report-{name}.png"));
        fs::write(&found, decoded(small)).unwrap();
        panic!("{name}: {share:.1} % of the picture differ; it is in {}", found.display());
    }
}

/// How many percent of all pixels are of quite another colour.
const DIFFERENCE: &str = "
const [found, expected] = arguments;
return (async () => {
  const load = async text => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + text)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await load(found), await load(expected)];
  if (a.width !== b.width || a.height !== b.height) return 100;
  let count = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    const by = Math.abs(a.data[at] - b.data[at]) + Math.abs(a.data[at + 1] - b.data[at + 1])
      + Math.abs(a.data[at + 2] - b.data[at + 2]);
    if (by > 96) count++;
  }
  return 400 * count / a.data.length;
})()";

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|it| *it != b'=') {
        let digit = DIGITS.iter().position(|it| *it == letter).unwrap();
        bits = bits << 6 | u32::try_from(digit).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}

fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS[usize::try_from(bits >> shift & 63).unwrap()];
            text.push(char::from(if at > group.len() { b'=' } else { digit }));
        }
    }
    text
}

#[test]
fn base64_goes_both_ways() {
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(decoded(&encoded(&bytes)), bytes);
}
