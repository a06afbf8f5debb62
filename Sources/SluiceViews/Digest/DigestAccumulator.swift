package import SluiceModel

/// A digest of the members of a view and their visible values: the sum, modulo 2^128, of one hash for each member. It
/// does not depend on the order of the members.
///
/// The hash is the first 128 bits of SHA-256 over the object id, the role and, for each visible property, its name and
/// its value, preceded by its type and length; of a list that was edited, the ids and places of its elements too.
/// PROTOCOL.md specifies every byte.
package struct DigestAccumulator: Sendable, Hashable {
    private var sum: UInt128 = 0

    package init() {}

    /// The digest of the members so far; zero if there are none.
    package var digest: ObjectID {
        ObjectID(high: UInt64(truncatingIfNeeded: sum >> 64), low: UInt64(truncatingIfNeeded: sum))
    }

    /// Adds an object with the values of the given properties.
    package mutating func add(_ row: Row, of classSchema: ClassSchema, properties: PropertySet, isRoot: Bool) {
        sum &+= Self.hash(row, of: classSchema, properties: properties, isRoot: isRoot)
    }

    private static func hash(
        _ row: Row, of classSchema: ClassSchema, properties: PropertySet, isRoot: Bool
    ) -> UInt128 {
        var encoder = DigestEncoder()
        encoder.append(Identity(className: classSchema.name, key: row.key).objectID)
        encoder.append(isRoot: isRoot)
        let names = properties.map { (name: classSchema.properties[$0].name, position: $0) }
        for (name, position) in names.sorted(by: { UTF8Order.less($0.name, $1.name) }) {
            encoder.append(name)
            if case .list(let values) = row.values[position], let identity = row.identity(of: position) {
                encoder.append(values, identity)
            } else {
                encoder.append(row.values[position])
            }
        }
        let id = SHA256.truncatedID(of: encoder.bytes)
        return UInt128(id.high) << 64 | UInt128(id.low)
    }
}
