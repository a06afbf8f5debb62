#if PostgreSQL

internal import CPQ

/// A value for one of a statement's places, in PostgreSQL's binary format.
package enum PostgresParameter {
    case integer(Int64)
    case integers([Int64])
    case text(String)
    case texts([String])
    case optionalText(String?)
    case bytes([UInt8])
    case optionalBytes([UInt8]?)
    case byteArrays([[UInt8]])

    /// The object id of the type, from `pg_type.dat` of PostgreSQL.
    var type: Oid {
        switch self {
        case .integer: 20
        case .integers: 1016
        case .text, .optionalText: 25
        case .texts: 1009
        case .bytes, .optionalBytes: 17
        case .byteArrays: 1001
        }
    }

    /// The value's bytes; nil for null.
    var encoded: [UInt8]? {
        switch self {
        case .integer(let value): Self.bigEndian(value)
        case .integers(let values): Self.array(values.map(Self.bigEndian), elementType: 20)
        case .text(let text): Array(text.utf8)
        case .optionalText(let text): text.map { Array($0.utf8) }
        case .texts(let texts): Self.array(texts.map { Array($0.utf8) }, elementType: 25)
        case .bytes(let bytes): bytes
        case .optionalBytes(let bytes): bytes
        case .byteArrays(let arrays): Self.array(arrays, elementType: 17)
        }
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    /// An array of one dimension: the number of dimensions, whether there are nulls, the elements' type, their number, the
    /// first index, then each with its length (`array_recv` of PostgreSQL).
    private static func array(_ elements: [[UInt8]], elementType: Int32) -> [UInt8] {
        let header = [1, 0, elementType, Int32(elements.count), 1].flatMap(bigEndian)
        return elements.reduce(into: header) { bytes, element in
            bytes += bigEndian(Int32(element.count))
            bytes += element
        }
    }
}

#endif
