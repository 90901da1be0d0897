//! What a kernel uses of its module.

use std::collections::{HashMap, HashSet};

use super::{Function, Module, Operand, Variable};

impl<'a> Module<'a> {
    /// Returns the function with this name and a body.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        let with_body = |function: &&Function<'a>| function.name == name && function.has_body;
        self.functions.iter().find(with_body)
    }

    /// Returns a kernel and the functions that it calls, itself or through others.
    #[must_use]
    pub fn reached<'m>(&'m self, kernel: &'m Function<'a>) -> Vec<&'m Function<'a>> {
        let with_body = self.functions.iter().filter(|function| function.has_body);
        let mut left: HashMap<&str, &Function<'a>> =
            with_body.map(|function| (function.name, function)).collect();
        left.remove(kernel.name);
        let mut reached = vec![kernel];
        let mut next = 0;
        while let Some(function) = reached.get(next) {
            next += 1;
            let calls = function.code.iter().filter(|instruction| instruction.opcode == "call");
            let names = names(calls.flat_map(|call| &call.operands));
            let mut new: Vec<_> = names.iter().filter_map(|name| left.remove(name)).collect();
            new.sort_by_key(|function| function.at);
            reached.append(&mut new);
        }
        reached
    }

    /// Returns the variables in shared memory that a kernel, or a function that it calls, names.
    /// Those of open length come last.
    #[must_use]
    pub fn shared<'m>(&'m self, kernel: &'m Function<'a>) -> Vec<&'m Variable<'a>> {
        let reached = self.reached(kernel);
        let operands = reached.iter().flat_map(|function| &function.code);
        let named = names(operands.flat_map(|instruction| &instruction.operands));
        let own = reached.iter().flat_map(|function| &function.variables);
        let is_named =
            |variable: &&Variable<'_>| variable.space == "shared" && named.contains(variable.name);
        let mut shared: Vec<_> = self.variables.iter().chain(own).filter(is_named).collect();
        shared.sort_by_key(|variable| variable.length.is_none());
        shared
    }

    /// Returns the bytes of shared memory that a kernel declares, or the largest number.
    #[must_use]
    pub fn shared_bytes(&self, kernel: &Function<'a>) -> u64 {
        let end = |end, variable: &&Variable<'_>| {
            variable.place_after(end, variable.align).map(|(_, end)| end)
        };
        self.shared(kernel).iter().try_fold(0, end).unwrap_or(u64::MAX)
    }

    /// Returns whether a launch can give a kernel more shared memory than it declares.
    #[must_use]
    pub fn has_open_shared(&self, kernel: &Function<'a>) -> bool {
        self.shared(kernel).iter().any(|variable| variable.length.is_none())
    }
}

impl Variable<'_> {
    /// Returns whether what it holds is part of the program. The host can write variables that are
    /// linked, and fills those without a content.
    pub(crate) fn is_table(&self) -> bool {
        !self.is_linked && !self.initial.is_empty()
    }

    /// Returns its size, or `None` if there is no such number.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.length?.checked_mul(self.kind.bytes())
    }

    /// Returns the start and the end of the variable when it is placed, aligned to `align` bytes,
    /// behind the first `end` bytes, which others take.
    pub(crate) fn place_after(&self, end: u64, align: u64) -> Option<(u64, u64)> {
        let start = end.checked_next_multiple_of(align.max(1))?;
        let size = self.length.unwrap_or(0).checked_mul(self.kind.bytes())?;
        Some((start, start.checked_add(size)?))
    }
}

/// Returns the names in operands.
fn names<'o, 'a: 'o>(operands: impl Iterator<Item = &'o Operand<'a>>) -> HashSet<&'a str> {
    let name = |leaf: &Operand<'a>| match leaf {
        Operand::Name(name) => Some(*name),
        _ => None,
    };
    operands.flat_map(Operand::leaves).filter_map(name).collect()
}
