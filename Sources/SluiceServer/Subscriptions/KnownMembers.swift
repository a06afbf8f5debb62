internal import SluiceModel
internal import SluiceWire

/// The members that a returning client says it has, less those that were looked at.
struct KnownMembers {
    private struct Claim {
        var isRoot: Bool
        /// Of every later version the client may lack something.
        var version: UInt64
    }

    private var claims: [Int: [ObjectKey: Claim]] = [:]
    private(set) var count = 0

    /// Adds a part of the client's list.
    ///
    /// - Precondition: the classes and keys are those of the schema.
    mutating func add(_ block: ObjectBlock) {
        for group in block.groups {
            for (key, version) in zip(group.keys, group.versions) {
                let claim = Claim(isRoot: group.role == .root, version: version)
                if claims[group.classIndex, default: [:]].updateValue(claim, forKey: key) == nil { count += 1 }
            }
        }
    }

    /// Removes a member of the view from what the client has.
    ///
    /// - Returns: whether the client has the object in this role as it was at `version`.
    mutating func remove(_ object: ObjectRef, isRoot: Bool, version: UInt64) -> Bool {
        guard let claim = claims[object.classIndex]?.removeValue(forKey: object.key) else { return false }
        count -= 1
        return claim.isRoot == isRoot && version <= claim.version
    }

    /// What nobody looked at, ascending, with whether it was a root; nothing is left.
    mutating func takeRest() -> [(object: ObjectRef, isRoot: Bool)] {
        defer { self = KnownMembers() }
        return claims.keys.sorted().flatMap { classIndex in
            (claims[classIndex] ?? [:]).sorted { $0.key < $1.key }.map {
                (ObjectRef(classIndex, $0.key), $0.value.isRoot)
            }
        }
    }
}
