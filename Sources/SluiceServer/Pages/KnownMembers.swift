internal import SluiceModel
internal import SluiceWire

/// The members that a returning client has listed, without those that were compared already.
struct KnownMembers {
    private struct Claim {
        var isRoot: Bool
        /// The version up to which the client has the object's changes.
        var version: UInt64
    }

    private var claims: [Int: [ObjectKey: Claim]] = [:]
    private(set) var count = 0

    /// Adds a part of the client's list.
    ///
    /// - Precondition: the classes exist in the schema, and the keys are of their types.
    mutating func add(_ block: ObjectBlock) {
        for group in block.groups {
            for (key, version) in zip(group.keys, group.versions) {
                let claim = Claim(isRoot: group.role == .root, version: version)
                if claims[group.classIndex, default: [:]].updateValue(claim, forKey: key) == nil { count += 1 }
            }
        }
    }

    /// Removes a member of the view from the client's list.
    ///
    /// - Returns: whether the client has the object in this role with all changes up to `version`.
    mutating func remove(_ object: ObjectRef, isRoot: Bool, version: UInt64) -> Bool {
        guard let claim = claims[object.classIndex]?.removeValue(forKey: object.key) else { return false }
        count -= 1
        return claim.isRoot == isRoot && version <= claim.version
    }

    /// Removes and returns the members that were not compared, ascending, with their roles.
    mutating func takeRest() -> [(object: ObjectRef, isRoot: Bool)] {
        defer { self = KnownMembers() }
        return claims.keys.sorted().flatMap { classIndex in
            (claims[classIndex] ?? [:]).sorted { $0.key < $1.key }.map {
                (ObjectRef(classIndex, $0.key), $0.value.isRoot)
            }
        }
    }
}
