package import SluiceModel

/// A digest of the members of a view with their visible values: the sum, modulo 2^128, of a hash of each.
///
/// The order of adding does not matter. The hash is the first 128 bits of SHA-256 over the object's global id, its role
/// and, for each visible property, its name and its value with type and length before it. PROTOCOL.md has it to the byte.
package struct DigestAccumulator: Sendable, Hashable {
    private var sum: UInt128 = 0

    package init() {}

    /// The digest so far; zero of nothing.
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
            encoder.append(row.values[position])
        }
        let id = SHA256.truncatedID(of: encoder.bytes)
        return UInt128(id.high) << 64 | UInt128(id.low)
    }
}
