//! Sizes as people write them.

/// Reads `4G`, `512M`, `64k`, `1000`: K, M, G and T are powers of 1024.
///
/// ```
/// use hsaco_bytes::parse_size;
/// assert_eq!(parse_size("64k"), Ok(65536));
/// assert_eq!(parse_size("1GiB"), Ok(1 << 30));
/// assert!(parse_size("4X").is_err());
/// ```
///
/// # Errors
/// When it is no such size, or one that does not fit into 64 bits.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase();
    let shift = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(format!("unknown unit '{unit}'; use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number such as 4G".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "larger than any file".to_owned())
}
