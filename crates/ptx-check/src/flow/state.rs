//! The knowledge about every register at one place of a kernel.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Literal, Objects, Register};

/// All bits of a register.
pub const ALL_BITS: u32 = u32::MAX;

/// The knowledge about a register's content.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The bits that can depend on secrets. For a register of 64 bits, all bits are set or none.
    pub secret: u32,
    /// The objects that the register may point into.
    pub objects: Objects,
}

impl Value {
    /// Returns the knowledge about a register that has one of two contents.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { secret: self.secret | other.secret, objects: self.objects.or(other.objects) }
    }
}

/// The knowledge about all executions that reach a place.
///
/// Machine code guards single instructions with predicates. Therefore, the state can keep a
/// *separate value* of a register for the executions in which a predicate is true, and one for
/// those in which the predicate is false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The values in all executions, by the numbers of the registers.
    values: Vec<Value>,
    /// The values in the executions in which a condition holds, if they differ from `values`.
    under: BTreeMap<Literal, BTreeMap<Register, Value>>,
    /// The conditions that hold in all executions.
    known: BTreeSet<Literal>,
}

impl State {
    /// Returns the state at the start of a kernel, in which all registers have the same value.
    #[must_use]
    pub fn start(registers: usize, value: Value) -> Self {
        Self { values: vec![value; registers], ..Self::default() }
    }

    /// Returns a register's value in the executions in which `condition` holds.
    #[must_use]
    pub fn value(&self, register: Register, condition: Option<Literal>) -> Value {
        let known = |literal| self.under.get(&literal)?.get(&register).copied();
        condition.and_then(known).unwrap_or(self.values[register.0 as usize])
    }

    /// Returns whether the state has a separate value of a register under `condition`.
    #[must_use]
    pub fn is_better_known(&self, register: Register, condition: Literal) -> bool {
        self.under.get(&condition).is_some_and(|values| values.contains_key(&register))
    }

    /// Returns whether the condition holds in no execution that reaches this place.
    #[must_use]
    pub fn excludes(&self, condition: Literal) -> bool {
        self.known.contains(&condition.negated())
    }

    /// Returns whether the condition holds in all executions that reach this place.
    #[must_use]
    pub fn knows(&self, condition: Literal) -> bool {
        self.known.contains(&condition)
    }

    /// Returns the conditions under which some register has a separate value.
    #[must_use]
    pub fn conditions(&self) -> Vec<Literal> {
        self.under.keys().copied().collect()
    }

    /// Returns its size, in values.
    #[must_use]
    pub fn size(&self) -> usize {
        // Values in maps take more memory.
        self.values.len() + 8 * self.under.values().map(BTreeMap::len).sum::<usize>()
    }

    /// Returns the registers that have a separate value under `condition`, with this value.
    #[must_use]
    pub fn better_under(&self, condition: Literal) -> BTreeMap<Register, Value> {
        self.under.get(&condition).cloned().unwrap_or_default()
    }

    /// Sets a register's value in all executions.
    pub fn set(&mut self, register: Register, value: Value) {
        for values in self.under.values_mut() {
            values.remove(&register);
        }
        self.values[register.0 as usize] = value;
    }

    /// Sets a register's value in the executions in which `condition` holds. Call this after
    /// [`set`](Self::set).
    pub fn set_under(&mut self, condition: Literal, register: Register, value: Value) {
        if value == self.values[register.0 as usize] {
            if let Some(values) = self.under.get_mut(&condition) {
                values.remove(&register);
            }
        } else {
            self.under.entry(condition).or_default().insert(register, value);
        }
    }

    /// Forgets a predicate's value and the separate values under it. Call this when an instruction
    /// overwrites the predicate.
    pub fn forget(&mut self, predicate: Register) {
        for holds in [true, false] {
            let literal = Literal { predicate, holds };
            self.under.remove(&literal);
            self.known.remove(&literal);
        }
    }

    /// Returns the state of the executions in which `condition` holds, or `None` if there are none.
    #[must_use]
    pub fn refined(&self, condition: Option<Literal>) -> Option<Self> {
        let Some(condition) = condition else { return Some(self.clone()) };
        if self.excludes(condition) {
            return None;
        }
        let mut state = self.clone();
        for (register, value) in state.under.remove(&condition).unwrap_or_default() {
            state.values[register.0 as usize] = value;
        }
        state.under.remove(&condition.negated());
        state.known.insert(condition);
        state.tidy();
        Some(state)
    }

    /// Adds the executions of `other`. Returns whether the state has changed.
    pub fn join(&mut self, other: &Self) -> bool {
        let known: BTreeSet<Literal> = self.known.intersection(&other.known).copied().collect();
        let under = self.joined_conditions(other, &known);
        let mut changed = false;
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            let value = mine.or(*theirs);
            changed |= value != *mine;
            *mine = value;
        }
        changed |= known != self.known || under != self.under;
        (self.known, self.under) = (known, under);
        self.tidy();
        changed
    }

    /// Returns the separate values in the executions of both states together. `known` holds the
    /// conditions that both states know.
    fn joined_conditions(
        &self,
        other: &Self,
        known: &BTreeSet<Literal>,
    ) -> BTreeMap<Literal, BTreeMap<Register, Value>> {
        let mut literals: BTreeSet<Literal> =
            self.under.keys().chain(other.under.keys()).copied().collect();
        // A condition that only one state knows separates the executions of the two states.
        for &literal in self.known.symmetric_difference(&other.known) {
            literals.extend([literal, literal.negated()]);
        }
        let mut under = BTreeMap::new();
        for literal in literals {
            if known.contains(&literal) || known.contains(&literal.negated()) {
                continue;
            }
            let are_possible = [self, other].map(|state| !state.excludes(literal));
            let differs = |register: Register| {
                let index = register.0 as usize;
                let all = self.values[index].or(other.values[index]);
                let [mine, theirs] =
                    [self, other].map(|state| state.value(register, Some(literal)));
                let here = match are_possible {
                    [true, true] => mine.or(theirs),
                    [true, false] => mine,
                    [false, true] => theirs,
                    [false, false] => Value::default(),
                };
                (here != all).then_some((register, here))
            };
            let better: BTreeMap<Register, Value> = match are_possible {
                // If both states have such executions, the value can differ from that in all
                // executions only for registers with a separate value in one of the states.
                [true, true] => {
                    let under = [self, other].map(|state| state.under.get(&literal));
                    let registers = under.into_iter().flatten().flat_map(BTreeMap::keys);
                    registers.filter_map(|&register| differs(register)).collect()
                }
                _ => (0..self.values.len() as u32).map(Register).filter_map(differs).collect(),
            };
            if !better.is_empty() {
                under.insert(literal, better);
            }
        }
        under
    }

    /// Drops separate values that equal those in all executions.
    fn tidy(&mut self) {
        let values = &self.values;
        self.under.retain(|_, better| {
            better.retain(|register, value| *value != values[register.0 as usize]);
            !better.is_empty()
        });
    }
}
