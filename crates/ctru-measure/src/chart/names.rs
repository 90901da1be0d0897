//! The places of the names beside lines.

/// The distance between the middles of names.
pub(super) const LINE_HEIGHT: f64 = 14.0;

/// Moves sorted positions apart so that names do not overlap. Moves them as little as possible, and
/// keeps them within `top..=bottom` if there is room.
pub(super) fn apart(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Names that would overlap form a group, whose centre is the mean of its wanted positions.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let half = |count: usize| LINE_HEIGHT * (count as f64 - 1.0) / 2.0;
    for &position in wanted {
        let within = |(centre, count): (f64, usize)| {
            (centre.min(bottom - half(count)).max(top + half(count)), count)
        };
        let mut group = within((position, 1));
        while let Some(&(centre, count)) = groups.last() {
            if group.0 - half(group.1) - (centre + half(count)) >= LINE_HEIGHT {
                break;
            }
            let all = count + group.1;
            group = within(((centre * count as f64 + group.0 * group.1 as f64) / all as f64, all));
            groups.pop();
        }
        groups.push(group);
    }
    let places = groups.iter().flat_map(|&(centre, count)| {
        (0..count).map(move |i| centre - half(count) + LINE_HEIGHT * i as f64)
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_overlap() {
        assert_eq!(apart(&[10.0, 50.0, 52.0], 0.0, 100.0), [10.0, 44.0, 58.0]);
        assert_eq!(apart(&[99.0, 99.0], 0.0, 100.0), [86.0, 100.0]);
        assert_eq!(apart(&[0.0, 1.0, 20.0], 0.0, 100.0), [0.0, 14.0, 28.0]);
        // The last two leave no room above them, so the first one moves as well.
        let places = apart(&[76.0, 99.0, 100.0], 0.0, 100.0);
        assert!(places.is_sorted_by(|a, b| b - a >= LINE_HEIGHT), "{places:?}");
    }
}
