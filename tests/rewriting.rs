//! Rewritten objects: the rules, the engine, the proofs.

mod edits;
mod engine;
mod mutation;
mod pairs;
mod patch;
mod proofs;
mod prove;
mod rules;
mod steppings;
mod stress;
