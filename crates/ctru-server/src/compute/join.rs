//! Joins the keys of several jobs, so that the engine computes them together.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::secret;
use crate::checked::{CallKeys, KeyBytes, Loaded};
use crate::identity::Owner;

/// The keys of a job.
#[derive(Clone, Debug)]
pub(super) enum JobKeys {
    /// One row for all operations. Jobs whose keys have the same name have the same key. Sealed
    /// keys open for one owner only, so the owner is a part of the name.
    One { rows: KeyBytes, name: Option<(Owner, Bytes)> },
    /// One row for each operation.
    Each(KeyBytes),
    /// Keys on the engine.
    Loaded(Arc<Loaded>),
}

/// The jobs of one call of the engine, in the order of their operations.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) keys: CallKeys,
    /// For each job, its place in the batch and the number of its operations.
    pub(super) members: Vec<(usize, usize)>,
}

impl Group {
    /// Returns the number of operations.
    pub(super) fn count(&self) -> usize {
        self.members.iter().map(|(_, count)| count).sum()
    }
}

/// Returns the calls of the engine for jobs, given by their place in the batch and the number of
/// their operations. Jobs with the same key share a call. A key with `own_call` operations or more
/// gets a call of its own; those with fewer share one, together with the jobs that have a key for
/// each operation.
pub(super) fn join(own_call: usize, jobs: &[(usize, usize, JobKeys)]) -> Vec<Group> {
    let mut ones: Vec<(&KeyBytes, Group)> = Vec::new();
    let mut named = HashMap::new();
    let mut loaded: Vec<Group> = Vec::new();
    // The rows of each job in the call with a key for each operation, with their repetitions.
    let mut each: Vec<(&KeyBytes, usize)> = Vec::new();
    let mut members = Vec::new();
    for &(job, count, ref keys) in jobs {
        match keys {
            JobKeys::One { rows, name } => {
                let place = name.as_ref().and_then(|name| named.get(name)).copied();
                let place = place.unwrap_or_else(|| {
                    let keys = CallKeys::Rows(rows.clone());
                    ones.push((rows, Group { keys, members: Vec::new() }));
                    let place = ones.len() - 1;
                    name.as_ref().map(|name| named.insert(name, place));
                    place
                });
                ones[place].1.members.push((job, count));
            }
            JobKeys::Each(rows) => {
                each.push((rows, 1));
                members.push((job, count));
            }
            JobKeys::Loaded(keys) => {
                let same = |group: &&mut Group| match &group.keys {
                    CallKeys::Loaded(other) => keys.is_single() && Arc::ptr_eq(other, keys),
                    CallKeys::Rows(_) => false,
                };
                match loaded.iter_mut().find(same) {
                    Some(group) => group.members.push((job, count)),
                    None => loaded.push(Group {
                        keys: CallKeys::Loaded(Arc::clone(keys)),
                        members: vec![(job, count)],
                    }),
                }
            }
        }
    }
    let mut groups = loaded;
    for (rows, group) in ones {
        if group.count() < own_call {
            each.push((rows, group.count()));
            members.extend(group.members);
        } else {
            groups.push(group);
        }
    }
    if !members.is_empty() {
        groups.push(Group { keys: CallKeys::Rows(concat(&each)), members });
    }
    groups
}

/// Returns rows one after the other, each with its repetitions.
fn concat(parts: &[(&KeyBytes, usize)]) -> KeyBytes {
    if let [(rows, 1)] = parts {
        return (*rows).clone();
    }
    // The list does not grow, which would leave copies of keys behind.
    let len = parts.iter().map(|(rows, times)| rows.bytes.len() * times).sum();
    let mut bytes = Vec::with_capacity(len);
    for (rows, times) in parts {
        (0..*times).for_each(|_| bytes.extend_from_slice(&rows.bytes));
    }
    let are_keys = parts.iter().all(|(rows, _)| rows.are_keys);
    KeyBytes { bytes: secret(bytes), are_keys }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_keys_share_a_call_and_small_groups_share_one() {
        let rows = |bytes: &'static [u8], are_keys| KeyBytes {
            bytes: Bytes::from_static(bytes),
            are_keys,
        };
        let one = |owner, key: &'static [u8], row| JobKeys::One {
            rows: rows(row, true),
            name: Some((Owner([owner; 32]), Bytes::from_static(key))),
        };
        let jobs = [
            (0, 7, one(0, b"a", b"1")),
            (1, 1, one(0, b"a", b"1")),
            (2, 2, one(1, b"a", b"2")),
            (4, 2, JobKeys::Each(rows(b"34", false))),
            (5, 1, JobKeys::One { rows: rows(b"5", true), name: None }),
            (6, 1, JobKeys::One { rows: rows(b"5", true), name: None }),
        ];
        let groups = join(8, &jobs);
        let members: Vec<_> = groups.iter().map(|group| &group.members[..]).collect();
        let expected: [&[(usize, usize)]; 2] =
            [&[(0, 7), (1, 1)], &[(4, 2), (2, 2), (5, 1), (6, 1)]];
        assert_eq!(members, expected);
        let CallKeys::Rows(KeyBytes { bytes, are_keys }) = &groups[1].keys else { panic!() };
        assert_eq!((&bytes[..], *are_keys), (&b"342255"[..], false));
        assert_eq!(groups[0].count(), 8);
        // A job alone keeps its rows where they are.
        let alone = &join(8, &jobs[3..4])[0];
        let CallKeys::Rows(KeyBytes { bytes, .. }) = &alone.keys else { panic!() };
        let JobKeys::Each(own) = &jobs[3].2 else { panic!() };
        assert_eq!(bytes.as_ptr(), own.bytes.as_ptr());
        assert!(join(8, &[]).is_empty());
    }
}
