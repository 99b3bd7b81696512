//! `docs/hsaco.schema.json`: the JSON Schema of every document that the command writes, made of the types that write it.
//!
//! Rows derive `Serialize`; this reads their declarations, follows their imports, and says in JSON Schema what serde makes of
//! them. What is streamed, and so has no type, is declared in `schema/documents.rs`; what serializes itself, in [`BY_HAND`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use quote::ToTokens as _;
use serde_json::{Map, Value, json};
use syn::visit::Visit;
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, GenericParam, Lit, PathArguments, Type,
};

use crate::args::Args;
use crate::house::{leaves_with_paths, list};

/// The documents, declared as types.
const DOCUMENTS: &str = include_str!("schema/documents.rs");

/// What types serialize to that do so themselves: in this file, this declaration.
const BY_HAND: &[(&str, &str)] = &[
    (
        "describe/flow",
        "struct Flow { functions: GraphRows } type GraphRows = Vec<GraphRow>; type GraphRow = FunctionRow;",
    ),
    (
        "describe/info",
        "type Info = Whole; type Kernels = Vec<KernelInfo>; type Symbols = Vec<SymbolInfo>;",
    ),
    ("patch/document", "type Sites = Vec<SiteJson>;"),
    (
        "kernarg/literal",
        "#[serde(untagged)] enum Datum { Bool(bool), Number(f64), Text(String), List(Vec<Datum>), \
         Record(BTreeMap<String, Datum>) }",
    ),
    (
        "kernarg/spelled",
        "struct SpelledArgument { name: Option<String>, offset: Option<u64>, size: Option<u64>, alignment: Option<u64>, \
         kind: Option<String>, hidden: bool, address_space: Option<String>, access: Option<String>, \
         actual_access: Option<String>, #[serde(rename = \"type\")] ty: Option<String>, \
         members: Option<Vec<SpelledMember>>, pointee: Option<Pointee>, source: String }",
    ),
    (
        "kernarg/rows",
        "use crate::packet::{AgentPacket, BarrierPacket, DispatchPacket}; struct Unknown {} \
         #[serde(untagged)] enum PacketFields { Dispatch(DispatchPacket), Barrier(BarrierPacket), Agent(AgentPacket), \
         Other(Unknown) }",
    ),
];

/// What is written instead of fields of these types, or by these functions.
const INSTEAD: &[(&str, &str)] =
    &[("fields_in_order", "Option<BTreeMap<String, u64>>"), ("serde_json::Value", "PacketFields")];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let check = args.flag("--check");
    args.finish()?;
    let (path, schema) = (path(), schema()?);
    if check {
        let is_current = fs::read_to_string(&path).is_ok_and(|it| it == schema);
        ensure!(is_current, "{} is stale: cargo xtask schema", path.display());
        return Ok(());
    }
    Ok(fs::write(path, schema)?)
}

fn path() -> PathBuf {
    hsaco_tests::workspace_root().join("docs/hsaco.schema.json")
}

/// The schema as text.
fn schema() -> Result<String> {
    let sources = Sources::read()?;
    let mut writer = Writer { sources: &sources, definitions: BTreeMap::new() };
    let documents = sources.files.get("documents").context("documents")?;
    let is_verb = |name: &&String| name.starts_with(char::is_lowercase);
    let mut verbs = Map::new();
    for verb in documents.items.keys().filter(is_verb) {
        let schema = writer.item("documents", verb, &Bound::default());
        verbs.insert(verb.clone(), schema.with_context(|| verb.clone())?);
    }
    let any: Vec<_> = verbs.keys().map(|verb| json!({"$ref": format!("#/$defs/{verb}")})).collect();
    verbs.extend(writer.definitions);
    let mut text = serde_json::to_string_pretty(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What hsaco writes as JSON; each verb is a definition of its name",
        "anyOf": any,
        "$defs": verbs,
    }))?;
    text.push('\n');
    Ok(text)
}

/// A type that serializes.
enum Declared {
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Alias(syn::ItemType),
}

/// A file: its declarations, and the paths that its names stand for.
#[derive(Default)]
struct Source {
    items: BTreeMap<String, Declared>,
    imports: BTreeMap<String, Vec<String>>,
    /// Types that serialize themselves.
    by_hand: BTreeSet<String>,
}

/// All files that have such types, as `crate/module/module`.
struct Sources {
    files: BTreeMap<String, Source>,
}

impl Sources {
    fn read() -> Result<Self> {
        let crates = hsaco_tests::workspace_root().join("crates");
        let (mut paths, mut files) = (Vec::new(), BTreeMap::new());
        list(&crates, &mut paths)?;
        for path in paths {
            let text = fs::read_to_string(&path)?;
            let Some(name) = module(path.strip_prefix(&crates)?) else { continue };
            let file = syn::parse_file(&text).with_context(|| path.display().to_string())?;
            files.insert(name, Source::new(&file, false));
        }
        files.insert("documents".to_owned(), Source::new(&syn::parse_file(DOCUMENTS)?, true));
        for (name, declared) in BY_HAND {
            let more = Source::new(&syn::parse_str(declared)?, true);
            let file = files.get_mut(*name).with_context(|| (*name).to_owned())?;
            file.by_hand.retain(|it| !more.items.contains_key(it));
            file.imports.extend(more.imports);
            file.items.extend(more.items);
        }
        let undeclared = |(name, it): (&String, &Source)| {
            it.by_hand.iter().map(|ty| format!("{name}: {ty}")).collect::<Vec<_>>()
        };
        let undeclared: Vec<_> = files.iter().flat_map(undeclared).collect();
        ensure!(undeclared.is_empty(), "not in BY_HAND: {}", undeclared.join(", "));
        Ok(Self { files })
    }

    /// The file that declares what a name stands for in a file, and its name there.
    fn find(&self, file: &str, path: &[String]) -> Result<(String, String)> {
        let [first, rest @ ..] = path else { bail!("an empty path in {file}") };
        let source = self.files.get(file).context("an unknown file")?;
        if rest.is_empty() && source.items.contains_key(first) {
            return Ok((file.to_owned(), first.clone()));
        }
        let full: Vec<String> = match source.imports.get(first) {
            Some(import) => import.iter().chain(rest).cloned().collect(),
            None => path.to_vec(),
        };
        let (name, modules) = full.split_last().context("an empty path")?;
        let own = file.split('/').next().unwrap_or_default();
        // The facade has the other crates as modules.
        let mut modules = modules.iter().map(String::as_str).skip_while(|it| *it == "hsaco");
        let krate = match modules.next() {
            Some("crate" | "super" | "self") => own,
            Some(other) => other.strip_prefix("hsaco_").unwrap_or(other),
            None => bail!("{name} of {file} is not declared there and not imported"),
        };
        let module = modules.filter(|it| *it != "super").collect::<Vec<_>>().join("/");
        let mut found: Vec<&String> = self
            .files
            .iter()
            .filter(|(it, source)| {
                it.split('/').next() == Some(krate) && source.items.contains_key(name)
            })
            .map(|(it, _)| it)
            .collect();
        if found.len() > 1 {
            found.retain(|it| *it == &format!("{krate}/{module}"));
        }
        match found[..] {
            [one] => Ok((one.clone(), name.clone())),
            _ => bail!("{name} of {file}: {} declarations in {krate}", found.len()),
        }
    }
}

/// `describe/calls` of `describe/src/calls.rs`.
fn module(path: &Path) -> Option<String> {
    let mut parts: Vec<_> =
        path.with_extension("").iter().map(|it| it.to_string_lossy().into_owned()).collect();
    (parts.get(1)? == "src").then(|| parts.remove(1))?;
    if parts.last()? == "mod" {
        parts.pop();
    }
    Some(parts.join("/"))
}

impl Source {
    /// All that serializes in a file; with true, all that is declared.
    fn new(file: &syn::File, takes_all: bool) -> Self {
        struct Visitor(Source, bool);
        impl Visitor {
            fn takes(&self, attributes: &[Attribute]) -> bool {
                let derives =
                    |it: &Attribute| it.to_token_stream().to_string().contains("Serialize");
                self.1 || attributes.iter().any(derives)
            }
        }
        impl<'ast> Visit<'ast> for Visitor {
            fn visit_item_struct(&mut self, it: &'ast syn::ItemStruct) {
                if self.takes(&it.attrs) {
                    self.0.items.insert(it.ident.to_string(), Declared::Struct(it.clone()));
                }
            }
            fn visit_item_enum(&mut self, it: &'ast syn::ItemEnum) {
                if self.takes(&it.attrs) {
                    self.0.items.insert(it.ident.to_string(), Declared::Enum(it.clone()));
                }
            }
            fn visit_item_type(&mut self, it: &'ast syn::ItemType) {
                self.0.items.insert(it.ident.to_string(), Declared::Alias(it.clone()));
            }
            fn visit_item_use(&mut self, it: &'ast syn::ItemUse) {
                leaves_with_paths(&it.tree, &mut Vec::new(), &mut self.0.imports);
            }
            fn visit_item_impl(&mut self, it: &'ast syn::ItemImpl) {
                let of = it.trait_.as_ref().and_then(|it| it.1.segments.last());
                if let (Some(of), Type::Path(ty)) = (of, &*it.self_ty)
                    && of.ident == "Serialize"
                {
                    self.0.by_hand.extend(ty.path.segments.last().map(|it| it.ident.to_string()));
                }
                syn::visit::visit_item_impl(self, it);
            }
        }
        let mut visitor = Visitor(Self::default(), takes_all);
        visitor.visit_file(file);
        visitor.0
    }
}

/// What the parameters of a generic type stand for.
type Bound = BTreeMap<String, Value>;

/// The members of an object, one set for each shape that it may have.
type Shapes = Vec<(Map<String, Value>, Vec<Value>)>;

struct Writer<'s> {
    sources: &'s Sources,
    definitions: BTreeMap<String, Value>,
}

impl<'s> Writer<'s> {
    fn ty(&mut self, file: &str, ty: &Type, bound: &Bound) -> Result<Value> {
        Ok(match ty {
            Type::Reference(it) => self.ty(file, &it.elem, bound)?,
            Type::Slice(it) => json!({"type": "array", "items": self.ty(file, &it.elem, bound)?}),
            Type::Array(it) => {
                let size = number(&it.len)?;
                let items = self.ty(file, &it.elem, bound)?;
                json!({"type": "array", "items": items, "minItems": size, "maxItems": size})
            }
            Type::Path(it) => {
                let path: Vec<_> = it.path.segments.iter().map(|it| it.ident.to_string()).collect();
                let last = it.path.segments.last().context("an empty path")?;
                self.named(file, &path, &arguments(&last.arguments), bound)?
            }
            other => bail!("{file}: no schema for {}", other.to_token_stream()),
        })
    }

    fn named(&mut self, file: &str, path: &[String], of: &[&Type], bound: &Bound) -> Result<Value> {
        let name = path.last().context("an empty path")?.as_str();
        if let Some(value) = bound.get(name) {
            return Ok(value.clone());
        }
        let mut inner = |at: usize| {
            let ty = of.get(at).with_context(|| format!("{file}: {name} of nothing"))?;
            self.ty(file, ty, bound)
        };
        Ok(match name {
            "bool" => json!({"type": "boolean"}),
            "u8" | "u16" | "u32" | "u64" | "usize" => json!({"type": "integer", "minimum": 0}),
            "i8" | "i16" | "i32" | "i64" | "isize" => json!({"type": "integer"}),
            "f32" | "f64" => json!({"type": "number"}),
            "String" | "str" => json!({"type": "string"}),
            "Cow" | "Box" => inner(0)?,
            "Option" => nullable(inner(0)?),
            "Vec" | "BTreeSet" => json!({"type": "array", "items": inner(0)?}),
            "BTreeMap" => json!({"type": "object", "additionalProperties": inner(1)?}),
            _ => {
                let (file_of, name) = self.sources.find(file, path)?;
                self.reference(&file_of, &name, (file, of), bound)?
            }
        })
    }

    /// A definition of its own for what has no parameters; the schema itself for what has.
    fn reference(
        &mut self,
        file: &str,
        name: &str,
        (from, of): (&str, &[&Type]),
        bound: &Bound,
    ) -> Result<Value> {
        let generics = match self.declared(file, name)? {
            Declared::Struct(it) => &it.generics,
            Declared::Enum(it) => &it.generics,
            Declared::Alias(it) => &it.generics,
        };
        let mut inner = Bound::new();
        let mut given = of.iter();
        for parameter in &generics.params {
            if let GenericParam::Type(it) = parameter {
                let schema = match (given.next(), &it.default) {
                    (Some(ty), _) => self.ty(from, ty, bound)?,
                    (None, Some(ty)) => self.ty(file, ty, &Bound::new())?,
                    (None, None) => bail!("{name} of {file} has parameters"),
                };
                inner.insert(it.ident.to_string(), schema);
            }
        }
        if !inner.is_empty() {
            return self.item(file, name, &inner);
        }
        let key = format!("{}.{name}", file.replace('/', "."));
        if !self.definitions.contains_key(&key) {
            self.definitions.insert(key.clone(), Value::Null);
            let schema = self.item(file, name, &inner)?;
            self.definitions.insert(key.clone(), schema);
        }
        Ok(json!({"$ref": format!("#/$defs/{key}")}))
    }

    fn declared(&self, file: &str, name: &str) -> Result<&'s Declared> {
        let item = self.sources.files.get(file).and_then(|it| it.items.get(name));
        item.with_context(|| format!("{file} declares no {name}"))
    }

    fn item(&mut self, file: &str, name: &str, bound: &Bound) -> Result<Value> {
        match self.declared(file, name)? {
            Declared::Alias(it) => self.ty(file, &it.ty, bound),
            Declared::Struct(it) => {
                let schema = self.fields(file, &it.fields, bound)?;
                Ok(described(schema, &it.attrs))
            }
            Declared::Enum(it) => self.variants(file, it, bound),
        }
    }

    fn variants(&mut self, file: &str, it: &syn::ItemEnum, bound: &Bound) -> Result<Value> {
        let serde = Serde::of(&it.attrs);
        let mut any = Vec::new();
        for variant in &it.variants {
            let name = serde.spell(&variant.ident.to_string());
            any.push(match (&variant.fields, serde.untagged) {
                (Fields::Unit, true) => json!({"type": "null"}),
                (Fields::Unit, false) => json!({"const": name}),
                (Fields::Unnamed(fields), true) => {
                    let field = fields.unnamed.first().context("a variant of nothing")?;
                    described(self.ty(file, &field.ty, bound)?, &variant.attrs)
                }
                _ => bail!("{file}: no schema for {} of {}", variant.ident, it.ident),
            });
        }
        let names: Vec<_> = any.iter().filter_map(|it| it.get("const")).cloned().collect();
        let all_named = names.len() == any.len();
        Ok(if all_named { json!({"enum": names}) } else { json!({"anyOf": any}) })
    }

    /// An object with these members and no others.
    fn fields(&mut self, file: &str, fields: &Fields, bound: &Bound) -> Result<Value> {
        let mut shapes: Shapes = vec![Default::default()];
        for field in fields {
            let serde = Serde::of(&field.attrs);
            if serde.skip {
                continue;
            }
            let schema = self.field(file, field, &serde, bound)?;
            if serde.flatten {
                let inner = self.shapes(&schema)?;
                let both = |(members, required): &(Map<_, _>, Vec<_>)| {
                    let with = |more: &(Map<_, _>, Vec<_>)| {
                        let (mut members, mut required) = (members.clone(), required.clone());
                        members.extend(more.0.clone());
                        required.extend(more.1.clone());
                        (members, required)
                    };
                    inner.iter().map(with).collect::<Vec<_>>()
                };
                shapes = shapes.iter().flat_map(both).collect();
                continue;
            }
            let ident = field.ident.as_ref().context("a field without a name")?.to_string();
            let name = serde.rename.unwrap_or(ident);
            for (members, required) in &mut shapes {
                members.insert(name.clone(), schema.clone());
                if !serde.may_be_left_out {
                    required.push(name.clone().into());
                }
            }
        }
        let object = |(members, required): (Map<_, _>, Vec<_>)| json!({"type": "object", "properties": members, "required": required, "additionalProperties": false});
        let mut any: Vec<_> = shapes.into_iter().map(object).collect();
        Ok(if any.len() == 1 { any.remove(0) } else { json!({"anyOf": any}) })
    }

    fn field(&mut self, file: &str, field: &Field, serde: &Serde, bound: &Bound) -> Result<Value> {
        if field.ident.as_ref().is_some_and(|it| it == "schema_version") {
            return Ok(json!({"const": hsaco::bytes::SCHEMA_VERSION}));
        }
        let written = field.ty.to_token_stream().to_string().replace(' ', "");
        let key = serde.serialize_with.as_ref().unwrap_or(&written);
        let instead = INSTEAD.iter().find(|(it, _)| it == key);
        let schema = match instead {
            Some((_, ty)) => self.ty(file, &syn::parse_str(ty)?, bound)?,
            None => self.ty(file, &field.ty, bound)?,
        };
        // What is left out where it is none is never null; an option of an option may be.
        let is_double = written.starts_with("Option<Option<");
        let schema = if serde.may_be_left_out && !is_double { not_null(schema) } else { schema };
        Ok(if serde.flatten { schema } else { described(schema, &field.attrs) })
    }

    /// The members that an object brings where it is flattened.
    fn shapes(&self, schema: &Value) -> Result<Shapes> {
        if let Some(key) = schema.get("$ref").and_then(Value::as_str) {
            let key = key.trim_start_matches("#/$defs/");
            return self.shapes(self.definitions.get(key).with_context(|| key.to_owned())?);
        }
        if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
            let all: Result<Vec<_>> = any.iter().map(|it| self.shapes(it)).collect();
            return Ok(all?.concat());
        }
        if is_null(Some(schema)) {
            return Ok(vec![Default::default()]);
        }
        let members = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let both = members.cloned().zip(required.cloned());
        Ok(vec![both.with_context(|| format!("not an object: {schema}"))?])
    }
}

fn is_null(schema: Option<&Value>) -> bool {
    schema.is_some_and(|it| it == &json!({"type": "null"}))
}

fn nullable(mut schema: Value) -> Value {
    match schema.get_mut("type") {
        Some(Value::String(ty)) if ty != "object" => {
            let ty = std::mem::take(ty);
            with(schema, "type", json!([ty, "null"]))
        }
        // An option of an option.
        Some(Value::Array(_)) => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// The same without null, if that is one of what it may be.
fn not_null(schema: Value) -> Value {
    match schema.get("anyOf").and_then(Value::as_array) {
        Some(any) if is_null(any.last()) => return any.first().cloned().unwrap_or_default(),
        _ => {}
    }
    let ty = schema.get("type").and_then(Value::as_array).and_then(|it| it.first());
    match ty.cloned() {
        Some(ty) => with(schema, "type", ty),
        None => schema,
    }
}

/// The same with this member.
fn with(mut schema: Value, key: &str, value: impl Into<Value>) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert(key.to_owned(), value.into());
    }
    schema
}

/// The same with the first sentence of the documentation.
fn described(schema: Value, attributes: &[Attribute]) -> Value {
    let lines = attributes.iter().filter_map(|it| match &it.meta {
        syn::Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => {
                Some(text.value().trim().to_owned())
            }
            _ => None,
        },
        _ => None,
    });
    let text = lines.take_while(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
    if text.is_empty() { schema } else { with(schema, "description", text) }
}

fn number(length: &Expr) -> Result<u64> {
    match length {
        Expr::Lit(syn::ExprLit { lit: Lit::Int(it), .. }) => Ok(it.base10_parse()?),
        other => bail!("not a number: {}", other.to_token_stream()),
    }
}

/// The types between angle brackets.
fn arguments(of: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(of) = of else { return Vec::new() };
    let types = of.args.iter().filter_map(|it| match it {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// What `#[serde(…)]` says.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    serialize_with: Option<String>,
    skip: bool,
    flatten: bool,
    untagged: bool,
    may_be_left_out: bool,
}

impl Serde {
    fn of(attributes: &[Attribute]) -> Self {
        let mut it = Self::default();
        for attribute in attributes {
            let text = attribute.to_token_stream().to_string();
            if text.contains("serde") {
                it.read(&text);
            }
        }
        it
    }

    fn read(&mut self, text: &str) {
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("{key} = \""))?;
            rest.split('"').next().map(str::to_owned)
        };
        let words: Vec<_> = text.split(|it: char| !(it.is_alphanumeric() || it == '_')).collect();
        let has = |word: &str| words.contains(&word);
        self.rename_all = value("rename_all").or(self.rename_all.take());
        self.rename = value("rename").or(self.rename.take());
        self.serialize_with = value("serialize_with").or(self.serialize_with.take());
        self.skip |= has("skip");
        self.flatten |= has("flatten");
        self.untagged |= has("untagged");
        self.may_be_left_out |= has("skip_serializing_if");
    }

    /// A variant's name in JSON.
    fn spell(&self, name: &str) -> String {
        match self.rename_all.as_deref() {
            Some("lowercase") => name.to_lowercase(),
            Some("snake_case") => {
                let mut text = String::new();
                for letter in name.chars() {
                    if letter.is_uppercase() && !text.is_empty() {
                        text.push('_');
                    }
                    text.extend(letter.to_lowercase());
                }
                text
            }
            _ => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_that_of_the_types() {
        let current = fs::read_to_string(path()).unwrap();
        assert!(
            current == schema().unwrap(),
            "docs/hsaco.schema.json is stale: cargo xtask schema"
        );
    }
}
