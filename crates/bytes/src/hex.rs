//! Bytes as hexadecimal digits, and back.

/// Bytes as lowercase hexadecimal digits.
///
/// ```
/// assert_eq!(hsaco_bytes::hex::encode(&[0, 15, 255]), "000fff");
/// ```
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The bytes that pairs of hexadecimal digits stand for; nothing for any other text.
///
/// ```
/// use hsaco_bytes::hex::decode;
/// assert_eq!(decode("000fFF"), Some(vec![0, 15, 255]));
/// assert!(["0", "0g", "é", "+1"].iter().all(|text| decode(text).is_none()));
/// ```
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let (pairs, rest) = text.as_bytes().as_chunks();
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    pairs.iter().map(byte).collect::<Option<_>>().filter(|_| rest.is_empty())
}
