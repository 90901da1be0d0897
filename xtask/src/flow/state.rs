//! What is known of every register at one place of a kernel.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Literal, Objects, Register};

/// All bits of a register.
pub const ALL_BITS: u32 = u32::MAX;

/// What is known of a register's content.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The bits that can depend on secrets. Of a register of 64 bits all are set, or none.
    pub secret: u32,
    /// The objects that it may point into.
    pub objects: Objects,
}

impl Value {
    /// Returns what holds of a register that has one of two contents.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { secret: self.secret | other.secret, objects: self.objects | other.objects }
    }
}

/// What is known in all executions that reach a place.
///
/// Machine code guards single instructions with predicates. So a register's value is also kept for
/// the executions in which a predicate has one truth value, where less is secret then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// By the registers' numbers.
    values: Vec<Value>,
    /// Values in the executions in which a condition holds, where they differ from `values`.
    under: BTreeMap<Literal, BTreeMap<Register, Value>>,
    /// Conditions that hold in all executions.
    known: BTreeSet<Literal>,
}

impl State {
    /// Returns the state at the start of a kernel, in which all registers have one value.
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

    /// Returns whether a register's value is better known where `condition` holds.
    #[must_use]
    pub fn is_better_known(&self, register: Register, condition: Literal) -> bool {
        self.under.get(&condition).is_some_and(|values| values.contains_key(&register))
    }

    /// Returns whether no execution comes here with this condition.
    #[must_use]
    pub fn excludes(&self, condition: Literal) -> bool {
        self.known.contains(&condition.negated())
    }

    /// Returns whether all executions come here with this condition.
    #[must_use]
    pub fn knows(&self, condition: Literal) -> bool {
        self.known.contains(&condition)
    }

    /// Returns the conditions under which some value is better known.
    #[must_use]
    pub fn conditions(&self) -> Vec<Literal> {
        self.under.keys().copied().collect()
    }

    /// Returns the values that are better known under a condition.
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

    /// Sets a register's value in the executions in which `condition` holds, after
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

    /// Forgets what was known by the value of a predicate, which is written now.
    pub fn forget(&mut self, predicate: Register) {
        for holds in [true, false] {
            let literal = Literal { predicate, holds };
            self.under.remove(&literal);
            self.known.remove(&literal);
        }
    }

    /// Returns the state of the executions in which `condition` holds, if there are any.
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

    /// Returns the values under conditions, of the executions of both.
    fn joined_conditions(
        &self,
        other: &Self,
        known: &BTreeSet<Literal>,
    ) -> BTreeMap<Literal, BTreeMap<Register, Value>> {
        let mut literals: BTreeSet<Literal> =
            self.under.keys().chain(other.under.keys()).copied().collect();
        // A condition that only one side knows splits the executions: under it, and against it.
        for &literal in self.known.symmetric_difference(&other.known) {
            literals.extend([literal, literal.negated()]);
        }
        let mut under = BTreeMap::new();
        for literal in literals {
            if known.contains(&literal) || known.contains(&literal.negated()) {
                continue;
            }
            let (mine, theirs) = (self.case(literal), other.case(literal));
            let differs = |register: Register| {
                let index = register.0 as usize;
                let all = self.values[index].or(other.values[index]);
                let here = mine.value(register).or(theirs.value(register));
                (here != all).then_some((register, here))
            };
            let better: BTreeMap<Register, Value> = match (mine.under(), theirs.under()) {
                // Where both sides have executions, only what is better known can differ.
                (Some(one), Some(other)) => {
                    one.chain(other).filter_map(|(&register, _)| differs(register)).collect()
                }
                _ => (0..self.values.len() as u32).map(Register).filter_map(differs).collect(),
            };
            if !better.is_empty() {
                under.insert(literal, better);
            }
        }
        under
    }

    /// Returns the executions in which `literal` holds.
    fn case(&self, literal: Literal) -> Case<'_> {
        if self.excludes(literal) {
            return Case::Excluded;
        }
        Case::Possible { values: &self.values, better: self.under.get(&literal) }
    }

    /// Drops values under conditions that say nothing more.
    fn tidy(&mut self) {
        let values = &self.values;
        self.under.retain(|_, better| {
            better.retain(|register, value| *value != values[register.0 as usize]);
            !better.is_empty()
        });
    }
}

/// The executions of a state in which a condition holds.
#[derive(Copy, Clone, Debug)]
enum Case<'a> {
    /// There are none.
    Excluded,
    Possible {
        values: &'a [Value],
        /// What is better known of some registers.
        better: Option<&'a BTreeMap<Register, Value>>,
    },
}

impl<'a> Case<'a> {
    fn value(self, register: Register) -> Value {
        match self {
            Self::Excluded => Value::default(),
            Self::Possible { values, better } => {
                let better = better.and_then(|better| better.get(&register));
                better.copied().unwrap_or(values[register.0 as usize])
            }
        }
    }

    /// Returns what is better known; nothing if there are no executions.
    fn under(self) -> Option<impl Iterator<Item = (&'a Register, &'a Value)>> {
        match self {
            Self::Excluded => None,
            Self::Possible { better, .. } => Some(better.into_iter().flatten()),
        }
    }
}
