//! Edits as people write them, and what they come to in an object.

use std::fmt::Display;

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_object::CodeObject;

use crate::call::InsertedCall;
use crate::edit::{CodeEdit, Points};
use crate::location::{EditLocation, Where};

/// An edit as `hsaco patch` takes it, before it is known which addresses it is about.
///
/// ```
/// use hsaco_patch::EditRequest;
/// assert!(EditRequest::parse("replace", "0x1900=s_nop 0; s_nop 1").is_ok());
/// assert!(EditRequest::parse("count", "entries").is_ok());
/// assert_eq!(EditRequest::parse("insert", "0x1900=").unwrap_err(), "'0x1900=': no instructions behind `=`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditRequest {
    /// Lines of assembly in place of an instruction.
    Replace(EditLocation, Vec<String>),
    /// Lines before it.
    Insert(EditLocation, Vec<String>),
    /// A counter.
    Count(Where),
    /// A call.
    Call(Where, InsertedCall),
}

impl EditRequest {
    /// Reads an edit of a kind: "replace" and "insert" (`PLACE=LINE; LINE`), "count" (`PLACE`) and "call" (`PLACE=FUNCTION`).
    ///
    /// # Errors
    /// In words.
    pub fn parse(kind: &str, edit: &str) -> std::result::Result<Self, String> {
        let wrong = |reason: &dyn Display| format!("'{edit}': {reason}");
        let split = || edit.split_once('=').ok_or_else(|| wrong(&"expected PLACE=WHAT"));
        let lines = || {
            let (place, code) = split()?;
            let place: EditLocation = place.parse().map_err(|it: String| wrong(&it))?;
            let code = code.split(';').map(str::trim).filter(|it| !it.is_empty());
            let code: Vec<String> = code.map(str::to_owned).collect();
            match code.is_empty() {
                true => Err(wrong(&"no instructions behind `=`")),
                false => Ok((place, code)),
            }
        };
        match kind {
            "replace" => lines().map(|(place, code)| Self::Replace(place, code)),
            "insert" => lines().map(|(place, code)| Self::Insert(place, code)),
            "count" => edit.parse().map(Self::Count).map_err(|it: String| wrong(&it)),
            "call" => {
                let (place, call) = split()?;
                let place = place.parse().map_err(|it: String| wrong(&it))?;
                Ok(Self::Call(place, call.parse().map_err(|it: String| wrong(&it))?))
            }
            _ => Err(format!(
                "no edit is of kind '{kind}'; there are replace, insert, count and call"
            )),
        }
    }

    /// What edits come to in a code object.
    ///
    /// # Errors
    /// When the object or its debug information cannot be read, or no code is of a place.
    pub fn edits(requests: &[Self], object: &CodeObject<'_>) -> Result<Vec<CodeEdit>> {
        let mut all = Vec::new();
        for request in requests {
            all.extend(request.of(object)?);
        }
        Ok(all)
    }

    fn of(&self, object: &CodeObject<'_>) -> Result<Vec<CodeEdit>> {
        Ok(match self {
            Self::Replace(place, code) => {
                let replace = |at| CodeEdit::Replace(at, code.clone());
                addresses(place, object)?.into_iter().map(replace).collect()
            }
            Self::Insert(place, code) => {
                let insert = |at| CodeEdit::Insert(at, code.clone());
                addresses(place, object)?.into_iter().map(insert).collect()
            }
            Self::Count(place) => points(place, object)?.into_iter().map(CodeEdit::Count).collect(),
            Self::Call(place, call) => {
                let call = |it| CodeEdit::Call(it, call.clone());
                points(place, object)?.into_iter().map(call).collect()
            }
        })
    }
}

fn addresses(place: &EditLocation, object: &CodeObject<'_>) -> Result<Vec<u64>> {
    let found = place.addresses(object)?;
    match found.is_empty() {
        true => Err(Error::new(ErrorKind::NotFound, "edit", "no code is of that place")),
        false => Ok(found),
    }
}

fn points(place: &Where, object: &CodeObject<'_>) -> Result<Vec<Points>> {
    Ok(match place {
        Where::Points(points) => vec![*points],
        Where::Location(place) => {
            addresses(place, object)?.into_iter().map(Points::Address).collect()
        }
    })
}
