internal import SluiceQuery
internal import Synchronization

/// What was made of the groups that one reader has last, so that only those are made again that have changed.
final class DecodedGroups<Group: Sendable>: Sendable {
    private struct Known: Sendable {
        var groups: [GroupFigures] = []
        var made: [Group] = []
        /// What they were made with.
        var binding: ElementBinding?
    }

    private let known = Mutex(Known())

    /// What stands for each of some groups, in their order.
    ///
    /// - Parameters:
    ///   - binding: what groups are made with. With another one all are made again.
    ///   - make: called with each group that has not been made as it is.
    /// - Complexity: O(n) comparisons for n groups, most of which end at the first look at what they share, and O(changes)
    ///   calls.
    func renew(
        _ groups: [GroupFigures], _ binding: ElementBinding, _ make: (GroupFigures) throws -> Group
    ) throws -> [Group] {
        let before = known.withLock { $0.binding === binding ? $0 : Known() }
        let shared = min(groups.count, before.groups.count)
        var head = 0
        while head < shared, groups[head] == before.groups[head] { head += 1 }
        var tail = 0
        while tail < shared - head, groups[groups.count - 1 - tail] == before.groups[before.groups.count - 1 - tail] {
            tail += 1
        }
        let rest = head..<before.groups.count - tail
        // A group that stands elsewhere is found by its keys.
        let places = Dictionary(rest.map { (before.groups[$0].keys, $0) }) { $1 }
        var made = Array(before.made[..<head])
        made.reserveCapacity(groups.count)
        for group in groups[head..<groups.count - tail] {
            if let place = places[group.keys], before.groups[place] == group {
                made.append(before.made[place])
            } else {
                made.append(try make(group))
            }
        }
        made += before.made.suffix(tail)
        known.withLock { $0 = Known(groups: groups, made: made, binding: binding) }
        return made
    }
}
