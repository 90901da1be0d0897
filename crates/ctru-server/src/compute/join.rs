//! Joins the keys of several jobs, so that the engine computes them together.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::fault::Fault;
use crate::identity::Owner;

/// The keys of one call of the engine.
pub(super) enum GroupKeys<K, L> {
    /// One key for all operations. It is boxed, because a growing list of groups would leave copies
    /// of it behind.
    One(Box<K>),
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

/// Collects the jobs of a batch in groups.
pub(super) struct Joiner<K, L> {
    /// A key with this many operations or more gets a call of its own. Keys with fewer share one.
    own_call: usize,
    /// The keys of the jobs with a key for each operation, and the places of these jobs.
    each: Vec<(usize, Vec<K>)>,
    groups: Vec<Group<K, L>>,
    /// The group of each key that serves all operations of a job. Sealed keys open for one owner
    /// only, so the owner is a part of the name.
    ones: HashMap<(Owner, Bytes), usize>,
}

impl<K: Clone, L> Joiner<K, L> {
    pub(super) fn new(own_call: usize) -> Self {
        Self { own_call, each: Vec::new(), groups: Vec::new(), ones: HashMap::new() }
    }

    /// Adds a job with a key for each operation.
    pub(super) fn add_each(&mut self, job: usize, keys: Vec<K>) {
        self.each.push((job, keys));
    }

    /// Adds a job with one key for `count` operations.
    pub(super) fn add_one(&mut self, job: usize, count: usize, key: K) {
        self.groups.push(Group::of(GroupKeys::One(Box::new(key)), job, count));
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
        self.groups.push(Group { keys: GroupKeys::One(Box::new(read()?)), members: Vec::new() });
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

    /// Returns the calls of the engine. The small groups with one key each are merged into one
    /// call, together with the jobs that have a key for each operation.
    pub(super) fn finish(self) -> Vec<Group<K, L>> {
        let Self { own_call, each, groups, .. } = self;
        let is_small = |group: &Group<K, L>| {
            matches!(group.keys, GroupKeys::One(_)) && group.count() < own_call
        };
        let (small, mut groups): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_small);
        let count = each.iter().map(|(_, keys)| keys.len()).sum::<usize>()
            + small.iter().map(Group::count).sum::<usize>();
        // The list does not grow, which would leave copies of keys behind.
        let mut keys = Vec::with_capacity(count);
        let mut members = Vec::new();
        for (job, own) in each {
            members.push((job, own.len()));
            keys.extend(own.iter().cloned());
        }
        for group in small {
            if let GroupKeys::One(key) = &group.keys {
                keys.extend(std::iter::repeat_n(&**key, group.count()).cloned());
                members.extend(group.members);
            }
        }
        if !members.is_empty() {
            groups.push(Group { keys: GroupKeys::Each(keys), members });
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_keys_share_a_call_and_small_groups_share_one() {
        let mut joiner = Joiner::<u8, u8>::new(8);
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
