internal import FoundationEssentials
package import SluiceModel

/// What a value's first byte says.
enum ValueTag {
    static let null: UInt8 = 0
    static let no: UInt8 = 1
    static let yes: UInt8 = 2
    static let int: UInt8 = 3
    static let float: UInt8 = 4
    static let double: UInt8 = 5
    static let string: UInt8 = 6
    static let data: UInt8 = 7
    static let date: UInt8 = 8
    static let uuid: UInt8 = 9
    static let objectID: UInt8 = 10
    static let decimal: UInt8 = 11
    static let link: UInt8 = 12
    static let list: UInt8 = 13
    static let set: UInt8 = 14
    static let map: UInt8 = 15
}

extension Value: WireCodable {
    /// A tag, then what the tag calls for.
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .null: writer.byte(ValueTag.null)
        case .bool(let value): writer.byte(value ? ValueTag.yes : ValueTag.no)
        case .int(let value):
            writer.byte(ValueTag.int)
            writer.zigzag(value)
        case .float(let value):
            writer.byte(ValueTag.float)
            writer.fixed32(value.bitPattern)
        case .double(let value):
            writer.byte(ValueTag.double)
            writer.double(value)
        case .string(let value):
            writer.byte(ValueTag.string)
            writer.string(value)
        case .data(let value):
            writer.byte(ValueTag.data)
            writer.data(value)
        case .date(let value):
            writer.byte(ValueTag.date)
            writer.zigzag(value.microseconds)
        case .uuid(let value):
            writer.byte(ValueTag.uuid)
            writer.uuid(value)
        case .objectID(let value):
            writer.byte(ValueTag.objectID)
            value.encode(into: &writer)
        case .decimal(let value):
            writer.byte(ValueTag.decimal)
            writer.string(DecimalText.text(of: value))
        case .link(let key):
            writer.byte(ValueTag.link)
            key.encode(into: &writer)
        case .list(let elements):
            writer.byte(ValueTag.list)
            writer.array(elements) { $1.encode(into: &$0) }
        case .set(let elements):
            writer.byte(ValueTag.set)
            writer.array(elements) { $1.encode(into: &$0) }
        case .map(let map):
            writer.byte(ValueTag.map)
            map.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.byte() {
        case ValueTag.null: self = .null
        case ValueTag.no: self = .bool(false)
        case ValueTag.yes: self = .bool(true)
        case ValueTag.int: self = .int(try reader.zigzag())
        case ValueTag.float: self = .float(Float(bitPattern: try reader.fixed32()))
        case ValueTag.double: self = .double(try reader.double())
        case ValueTag.string: self = .string(try reader.string())
        case ValueTag.data: self = .data(try reader.data())
        case ValueTag.date: self = .date(Timestamp(microseconds: try reader.zigzag()))
        case ValueTag.uuid: self = .uuid(try reader.uuid())
        case ValueTag.objectID: self = .objectID(try ObjectID(from: &reader))
        case ValueTag.decimal: self = .decimal(try reader.decimal())
        case ValueTag.link: self = .link(try ObjectKey(from: &reader))
        case ValueTag.list: self = .list(try Self.elements(from: &reader))
        case ValueTag.set: self = Value(setOf: try Self.elements(from: &reader))
        case ValueTag.map:
            self = .map(try reader.nested { reader throws(WireError) in try ValueMap(from: &reader) })
        case let tag: throw reader.malformed("\(tag) is no tag of a value")
        }
    }

    /// A set of elements in any order; those that ascend already are taken as they are.
    init(setOf elements: [Value]) {
        let ascends = zip(elements, elements.dropFirst()).allSatisfy { $0 < $1 }
        self = ascends ? .set(elements) : .set(of: elements)
    }

    private static func elements(from reader: inout ByteReader) throws(WireError) -> [Value] {
        try reader.nested { reader throws(WireError) in
            try reader.array { reader throws(WireError) in try Value(from: &reader) }
        }
    }
}

extension ValueMap: WireCodable {
    /// A count, then keys and values in ascending order of the keys' bytes.
    package func encode(into writer: inout ByteWriter) {
        writer.array(entries) {
            $0.string($1.key)
            $1.value.encode(into: &$0)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let count = try reader.count(minimumSize: 2)
        self.init()
        for _ in 0..<count {
            let key = try reader.string()
            try append(key, try Value(from: &reader), reader)
        }
    }

    /// Adds an entry whose key must be greater than all before, which keeps adding n entries linear.
    mutating func append(_ key: String, _ value: Value, _ reader: ByteReader) throws(WireError) {
        if let last = entries.last, !UTF8Order.less(last.key, key) {
            throw reader.malformed("the keys of a map must ascend by their bytes")
        }
        self[key] = value
    }
}
