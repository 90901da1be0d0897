//! Joins the keys of several jobs, so that the engine computes them together.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::fault::Fault;
use crate::identity::Owner;

/// A key is decoded once for this many operations or more. For fewer, its operations share a call
/// of the engine with those of other keys.
const OWN_CALL: usize = 8;

/// The keys of one call of the engine.
pub(super) enum GroupKeys<K, L> {
    One(K),
    Each(Vec<K>),
    Loaded(Arc<L>),
}

/// The jobs of one call of the engine, in the order of their operations.
pub(super) struct Group<K, L> {
    pub(super) keys: GroupKeys<K, L>,
    /// For each job, its place in the batch and the number of its operations.
    pub(super) members: Vec<(usize, usize)>,
}

impl<K, L> Group<K, L> {
    fn of(keys: GroupKeys<K, L>, job: usize, count: usize) -> Self {
        Self { keys, members: vec![(job, count)] }
    }

    /// Returns the number of operations.
    pub(super) fn count(&self) -> usize {
        self.members.iter().map(|(_, count)| count).sum()
    }
}

/// The jobs of a batch, to which jobs are added one after the other.
pub(super) struct Joiner<K, L> {
    each: Vec<K>,
    each_members: Vec<(usize, usize)>,
    groups: Vec<Group<K, L>>,
    /// The group of each key that serves all operations of a job. Sealed keys open for one owner
    /// only, so the owner is a part of the name.
    ones: HashMap<(Owner, Bytes), usize>,
}

impl<K: Clone, L> Joiner<K, L> {
    pub(super) fn new() -> Self {
        Self {
            each: Vec::new(),
            each_members: Vec::new(),
            groups: Vec::new(),
            ones: HashMap::new(),
        }
    }

    /// Adds a job with a key for each operation.
    pub(super) fn add_each(&mut self, job: usize, keys: Vec<K>) {
        self.each_members.push((job, keys.len()));
        self.each.extend(keys);
    }

    /// Adds a job with one key for `count` operations.
    pub(super) fn add_one(&mut self, job: usize, count: usize, key: K) {
        self.groups.push(Group::of(GroupKeys::One(key), job, count));
    }

    /// Returns the group of a key that has a name. If an earlier job of the batch has the same
    /// name, it is the group of that job; otherwise `read` reads the key of a new group.
    ///
    /// # Errors
    /// The fault of `read`.
    pub(super) fn named(
        &mut self,
        name: (Owner, Bytes),
        read: impl FnOnce() -> Result<K, Fault>,
    ) -> Result<usize, Fault> {
        if let Some(&group) = self.ones.get(&name) {
            return Ok(group);
        }
        self.groups.push(Group { keys: GroupKeys::One(read()?), members: Vec::new() });
        let group = self.groups.len() - 1;
        self.ones.insert(name, group);
        Ok(group)
    }

    /// Returns the key of a group, if it has one key.
    pub(super) fn key(&self, group: usize) -> Option<&K> {
        match &self.groups[group].keys {
            GroupKeys::One(key) => Some(key),
            _ => None,
        }
    }

    /// Adds a job to a group.
    pub(super) fn add_to(&mut self, group: usize, job: usize, count: usize) {
        self.groups[group].members.push((job, count));
    }

    /// Adds a job with keys on the engine. Jobs with the same single key share a call.
    pub(super) fn add_loaded(&mut self, job: usize, count: usize, keys: Arc<L>, single: bool) {
        let same = |group: &&mut Group<K, L>| match &group.keys {
            GroupKeys::Loaded(other) => Arc::ptr_eq(other, &keys),
            _ => false,
        };
        if single && let Some(group) = self.groups.iter_mut().find(same) {
            group.members.push((job, count));
            return;
        }
        self.groups.push(Group::of(GroupKeys::Loaded(keys), job, count));
    }

    /// Returns the calls of the engine: small groups of one key are joined with the jobs that have
    /// a key for each operation.
    pub(super) fn finish(mut self) -> Vec<Group<K, L>> {
        let mut groups = Vec::new();
        for group in self.groups {
            match group.keys {
                _ if group.members.is_empty() => {}
                GroupKeys::One(ref key) if group.count() < OWN_CALL => {
                    self.each.extend(std::iter::repeat_n(key, group.count()).cloned());
                    self.each_members.extend(group.members);
                }
                _ => groups.push(group),
            }
        }
        if !self.each_members.is_empty() {
            groups.push(Group { keys: GroupKeys::Each(self.each), members: self.each_members });
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_keys_share_a_call_and_small_groups_share_one() {
        let mut joiner = Joiner::<u8, u8>::new();
        let name = |owner, key: &'static [u8]| (Owner([owner; 32]), Bytes::from_static(key));
        let unread = || -> Result<u8, Fault> { panic!("read twice") };
        let group = joiner.named(name(0, b"a"), || Ok(1)).unwrap();
        joiner.add_to(group, 0, 7);
        assert_eq!(joiner.named(name(0, b"a"), unread), Ok(group));
        joiner.add_to(group, 1, 1);
        let other = joiner.named(name(1, b"a"), || Ok(2)).unwrap();
        joiner.add_to(other, 2, 2);
        assert_eq!(joiner.key(other), Some(&2));
        assert!(joiner.named(name(2, b"a"), || Err(Fault::Internal)).is_err());
        assert_eq!(joiner.named(name(2, b"b"), || Ok(9)), Ok(2));
        joiner.add_each(4, vec![3, 4]);
        let (one, many) = (Arc::new(0), Arc::new(0));
        joiner.add_loaded(5, 3, Arc::clone(&one), true);
        joiner.add_loaded(6, 4, one, true);
        joiner.add_loaded(7, 2, Arc::clone(&many), false);
        joiner.add_loaded(8, 2, many, false);
        let groups = joiner.finish();
        let members: Vec<_> = groups.iter().map(|group| &group.members[..]).collect();
        let expected: [&[(usize, usize)]; 5] =
            [&[(0, 7), (1, 1)], &[(5, 3), (6, 4)], &[(7, 2)], &[(8, 2)], &[(4, 2), (2, 2)]];
        assert_eq!(members, expected);
        assert!(matches!(&groups[4].keys, GroupKeys::Each(keys) if keys == &[3, 4, 2, 2]));
        assert_eq!(groups[0].count(), 8);
    }
}
