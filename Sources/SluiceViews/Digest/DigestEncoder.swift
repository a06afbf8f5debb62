import FoundationEssentials
import SluiceModel

/// Encodes values for a digest: identical values (``Value/isIdentical(to:)``) have equal bytes, and different values
/// have different bytes.
struct DigestEncoder {
    /// What stands in the place of a value's rank.
    private static let editedListTag: UInt8 = 15

    private(set) var bytes: [UInt8] = []

    mutating func append(_ id: ObjectID) {
        append(id.high)
        append(id.low)
    }

    mutating func append(isRoot: Bool) { bytes.append(isRoot ? 0 : 1) }

    mutating func append(_ text: String) { append(Array(text.utf8)) }

    mutating func append(_ value: Value) {
        bytes.append(UInt8(truncatingIfNeeded: value.rank))
        switch value {
        case .null: break
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int(let value): append(UInt64(bitPattern: value))
        case .float(let value): append(UInt64((value.isNaN ? .nan : value).bitPattern))
        case .double(let value): append((value.isNaN ? .nan : value).bitPattern)
        case .string(let value): append(value)
        case .data(let value): append(value)
        case .date(let value): append(UInt64(bitPattern: value.microseconds))
        case .uuid(let value): bytes.append(contentsOf: value.bytes)
        case .objectID(let value): append(value)
        case .decimal(let value): append(DecimalText.text(of: value))
        case .link(let key): append(key.value)
        case .list(let elements), .set(let elements):
            append(UInt64(elements.count))
            for element in elements { append(element) }
        case .map(let map):
            append(UInt64(map.entries.count))
            for entry in map.entries {
                append(entry.key)
                append(entry.value)
            }
        }
    }

    /// Appends a list that was edited. One whose elements are again those of a list that was set as a whole counts as one.
    mutating func append(_ values: [Value], _ identity: ListIdentity) {
        if identity.runs.count == 1, identity == ListIdentity(ofWhole: values) { return append(.list(values)) }
        bytes.append(Self.editedListTag)
        append(UInt64(values.count))
        for value in values { append(value) }
        // It may not be known, and a peer may send anything.
        guard identity.count == values.count else { return }
        identity.forEach { id, place in
            append(id)
            append(UInt64(place.steps.count))
            for step in place.steps {
                append(UInt64(bitPattern: step.number))
                append(UInt64(bitPattern: step.time))
                append(step.origin)
            }
        }
    }

    private mutating func append(_ data: [UInt8]) {
        append(UInt64(data.count))
        bytes.append(contentsOf: data)
    }

    private mutating func append(_ word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
