import FoundationEssentials
import SluiceModel

/// Encodes values for a digest: identical values (``Value/isIdentical(to:)``) have equal bytes, and different values
/// have different bytes.
struct DigestEncoder {
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

    private mutating func append(_ data: [UInt8]) {
        append(UInt64(data.count))
        bytes.append(contentsOf: data)
    }

    private mutating func append(_ word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
