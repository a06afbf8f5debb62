internal import SluiceModel
internal import SluiceWire

/// The members that a returning client has listed, without those that were compared already.
///
/// A client lists them in the order in which it stored them, which is mostly the order in which the database reads
/// them. As long as both orders agree, comparing a member takes a look at the next one. Once they do not, the rest is
/// put into a hash table. A copy shares the list and the table with the original, so that a page can be compared with a
/// copy, which counts only once the page is read.
struct KnownMembers {
    /// The members of one class.
    private struct List {
        private var keys: [ObjectKey] = []
        private var versions: [UInt64] = []
        private var areRoots: [Bool] = []
        /// The position of the first that was not compared, as long as they are asked for in their order.
        private var next = 0
        /// The positions of those that were not compared by then; nil as long as they are asked for in their order.
        private var positions: [ObjectKey: Int]?
        /// Which of those were compared since, by position.
        private var areCompared: [Bool] = []

        mutating func append(_ group: ObjectGroup) {
            keys += group.keys
            versions += group.versions
            areRoots += repeatElement(group.role == .root, count: group.count)
        }

        /// Removes a member.
        ///
        /// - Returns: whether it was listed as a root, and up to which version the client has its changes; nil if it was
        ///   not listed.
        mutating func remove(_ key: ObjectKey) -> (isRoot: Bool, version: UInt64)? {
            if positions == nil {
                guard next < keys.count else { return nil }
                if keys[next] == key {
                    next += 1
                    return (areRoots[next - 1], versions[next - 1])
                }
                var rest: [ObjectKey: Int] = Dictionary(minimumCapacity: keys.count - next)
                for position in next..<keys.count { rest[keys[position]] = position }
                positions = rest
                areCompared = Array(repeating: false, count: keys.count)
            }
            guard let position = positions?[key], !areCompared[position] else { return nil }
            areCompared[position] = true
            return (areRoots[position], versions[position])
        }

        /// The members that were not compared, ascending.
        var rest: [(key: ObjectKey, isRoot: Bool)] {
            let left = positions?.values.filter { !areCompared[$0] } ?? Array(next..<keys.count)
            return left.map { (keys[$0], areRoots[$0]) }.sorted { $0.key < $1.key }
        }
    }

    /// The members by class.
    private var lists: [Int: List] = [:]
    /// How many were listed.
    private(set) var count = 0

    /// Adds a part of the client's list.
    ///
    /// - Precondition: the classes exist in the schema, and the keys are of their types.
    mutating func add(_ block: ObjectBlock) {
        for group in block.groups {
            lists[group.classIndex, default: List()].append(group)
            count += group.count
        }
    }

    /// Removes a member of the view from the client's list.
    ///
    /// - Returns: whether the client has the object in this role with all changes up to `version`.
    mutating func remove(_ object: ObjectRef, isRoot: Bool, version: UInt64) -> Bool {
        guard let claim = lists[object.classIndex]?.remove(object.key) else { return false }
        return claim.isRoot == isRoot && version <= claim.version
    }

    /// Removes and returns the members that were not compared, ascending, with their roles.
    mutating func takeRest() -> [(object: ObjectRef, isRoot: Bool)] {
        defer { self = KnownMembers() }
        return lists.sorted { $0.key < $1.key }.flatMap { classIndex, list in
            list.rest.map { (ObjectRef(classIndex, $0.key), $0.isRoot) }
        }
    }
}
