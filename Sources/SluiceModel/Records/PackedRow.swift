internal import FoundationEssentials

/// A row and the id of its object in few bytes, for who keeps many rows in memory and reads few of them.
///
/// A value in an array takes 24 bytes, whatever it is. Here a small number takes one byte, others take what a
/// variable-length integer takes, and texts their UTF-8 bytes. The key is not among them, since who keeps a row knows
/// it. A row with collections, decimal numbers or edited lists is kept as it is.
///
/// Nobody writes to the bytes, so any thread may read them. Who packs a row says when they go.
package struct PackedRow: @unchecked Sendable {
    /// The number of bytes of the row, ``whole`` for one that is kept as it is; an id that the key is not itself; the row.
    private let bytes: UnsafeRawPointer

    /// What a value is, in one byte; bytes from ``smallest`` on are the integers from 0 on themselves.
    private enum Tag: UInt8 {
        case null, no, yes, int, float, double, wholeDouble, string, data, date, uuid, objectID
        case linkInt, linkString, linkID, linkUUID
    }

    private final class WholeRow {
        let row: Row

        init(_ row: Row) { self.row = row }
    }

    private static let whole = UInt32.max
    private static let smallest: UInt8 = 32
    private static let smallCount: Int64 = 256 - 32

    /// Packs a row. O(its size).
    ///
    /// - Parameter id: the id of the row's object.
    package init(_ row: Row, id: ObjectID) {
        let size = Self.size(of: row)
        let prefix = 4 + Self.idSize(row.key)
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: prefix + (size ?? MemoryLayout<UnsafeMutableRawPointer>.size), alignment: 1)
        bytes.storeBytes(of: size.map { UInt32($0) } ?? Self.whole, as: UInt32.self)
        if prefix > 4 { (bytes + 4).storeBytes(of: (id.high, id.low), as: (UInt64, UInt64).self) }
        self.bytes = UnsafeRawPointer(bytes)
        guard let size else {
            let box = Unmanaged.passRetained(WholeRow(row)).toOpaque()
            (bytes + prefix).storeBytes(of: box, as: UnsafeMutableRawPointer.self)
            return
        }
        var writer = Writer(next: bytes + prefix)
        writer.put(varint: row.version)
        writer.put(varint: row.absent.first)
        writer.put(varint: UInt64(row.values.count))
        for value in row.values { writer.put(value) }
        assert(writer.next == bytes + prefix + size)
    }

    /// Gives the bytes back. Nothing may be read after this.
    ///
    /// - Parameter key: the row's key.
    package func deallocate(key: ObjectKey) {
        if isWhole { box(key).release() }
        bytes.deallocate()
    }

    /// How many bytes the row takes; nil for one that is kept as it is.
    package var byteCount: Int? { isWhole ? nil : Int(size) }

    /// The row that was packed. O(its size).
    package func row(key: ObjectKey) -> Row {
        if isWhole { return box(key)._withUnsafeGuaranteedRef(\.row) }
        var reader = Reader(next: content(key))
        let version = reader.varint()
        let absent = reader.varint()
        let count = Int(reader.varint())
        let values = [Value](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            for index in 0..<count { buffer.initializeElement(at: index, to: reader.value()) }
            initializedCount = count
        }
        return Row(key: key, version: version, values: values, absent: PropertySet(first: absent))
    }

    /// The properties that the row lacks, without the rest of it. O(1).
    package func absent(key: ObjectKey) -> PropertySet {
        if isWhole { return box(key)._withUnsafeGuaranteedRef(\.row.absent) }
        var reader = Reader(next: content(key))
        _ = reader.varint()
        return PropertySet(first: reader.varint())
    }

    /// The id of the row's object. O(1).
    package func id(key: ObjectKey) -> ObjectID {
        if case .id(let id) = key { return id }
        let (high, low) = (bytes + 4).loadUnaligned(as: (UInt64, UInt64).self)
        return ObjectID(high: high, low: low)
    }

    /// Whether the rows of an object are the same. O(their sizes).
    package func isIdentical(to other: PackedRow, key: ObjectKey) -> Bool {
        if !isWhole, size == other.size,
            UnsafeRawBufferPointer(start: content(key), count: Int(size))
                .elementsEqual(UnsafeRawBufferPointer(start: other.content(key), count: Int(size)))
        {
            return true
        }
        // Not a number has many forms.
        return row(key: key).isIdentical(to: other.row(key: key))
    }

    private var size: UInt32 { bytes.loadUnaligned(as: UInt32.self) }
    private var isWhole: Bool { size == Self.whole }

    private func content(_ key: ObjectKey) -> UnsafeRawPointer { bytes + 4 + Self.idSize(key) }

    /// The row that is kept as it is, which the bytes retain until ``deallocate(key:)``.
    private func box(_ key: ObjectKey) -> Unmanaged<WholeRow> {
        Unmanaged.fromOpaque(content(key).loadUnaligned(as: UnsafeRawPointer.self))
    }

    private static func idSize(_ key: ObjectKey) -> Int { if case .id = key { 0 } else { 16 } }

    // MARK: Sizes

    /// How many bytes a row takes; nil for one that is kept as it is.
    private static func size(of row: Row) -> Int? {
        guard !row.hasIdentities, row.absent.rest.isEmpty else { return nil }
        var size = varintSize(row.version) + varintSize(row.absent.first) + varintSize(UInt64(row.values.count))
        for value in row.values {
            guard let more = Self.size(of: value) else { return nil }
            size += more
        }
        return size < whole ? size : nil
    }

    private static func size(of value: Value) -> Int? {
        switch value {
        case .null, .bool: 1
        case .int(let number): 0 <= number && number < smallCount ? 1 : 1 + varintSize(zigzag(number))
        case .float: 5
        case .double(let number): whole(number).map { 1 + varintSize(zigzag($0)) } ?? 9
        case .string(let text): 1 + sizeWithCount(text.utf8.count)
        case .data(let data): 1 + sizeWithCount(data.count)
        case .date(let date): 1 + varintSize(zigzag(date.microseconds))
        case .uuid, .objectID: 17
        case .link(.int(let key)): 1 + varintSize(zigzag(key))
        case .link(.string(let key)): 1 + sizeWithCount(key.utf8.count)
        case .link(.id), .link(.uuid): 17
        case .decimal, .list, .set, .map: nil
        }
    }

    private static func sizeWithCount(_ count: Int) -> Int { varintSize(UInt64(count)) + count }

    private static func varintSize(_ number: UInt64) -> Int { max(1, (64 - number.leadingZeroBitCount + 6) / 7) }

    private static func zigzag(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

    /// A number without a fraction that an integer of few bytes gives back bit by bit.
    private static func whole(_ number: Double) -> Int64? {
        guard number.magnitude < 0x1p48, number != 0 || number.sign == .plus else { return nil }
        let integer = Int64(number)
        return Double(integer) == number ? integer : nil
    }

    // MARK: Writing

    private struct Writer {
        var next: UnsafeMutableRawPointer

        mutating func put(byte: UInt8) {
            next.storeBytes(of: byte, as: UInt8.self)
            next += 1
        }

        mutating func put(varint number: UInt64) {
            var rest = number
            while rest >= 0x80 {
                put(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            put(byte: UInt8(rest))
        }

        private mutating func put(_ tag: Tag) { put(byte: tag.rawValue) }

        private mutating func put<Bits: BitwiseCopyable>(_ tag: Tag, bits: Bits) {
            put(tag)
            next.storeBytes(of: bits, as: Bits.self)
            next += MemoryLayout<Bits>.size
        }

        private mutating func put(_ tag: Tag, _ number: Int64) {
            put(tag)
            put(varint: zigzag(number))
        }

        private mutating func put(_ tag: Tag, _ text: String) {
            put(tag)
            var text = text
            let next = text.withUTF8 { utf8 in
                put(varint: UInt64(utf8.count))
                if let start = utf8.baseAddress { self.next.copyMemory(from: start, byteCount: utf8.count) }
                return self.next + utf8.count
            }
            self.next = next
        }

        mutating func put(_ value: Value) {
            switch value {
            case .null: put(Tag.null)
            case .bool(let value): put(value ? Tag.yes : Tag.no)
            case .int(let number):
                if 0 <= number, number < smallCount {
                    put(byte: smallest + UInt8(number))
                } else {
                    put(.int, number)
                }
            case .float(let number): put(.float, bits: number)
            case .double(let number):
                if let integer = whole(number) { put(.wholeDouble, integer) } else { put(.double, bits: number) }
            case .string(let text): put(.string, text)
            case .data(let data):
                put(Tag.data)
                put(varint: UInt64(data.count))
                UnsafeMutableRawBufferPointer(start: next, count: data.count).copyBytes(from: data)
                next += data.count
            case .date(let date): put(.date, date.microseconds)
            case .uuid(let uuid): put(.uuid, bits: uuid.uuid)
            case .objectID(let id): put(.objectID, bits: (id.high, id.low))
            case .link(.int(let key)): put(.linkInt, key)
            case .link(.string(let key)): put(.linkString, key)
            case .link(.id(let id)): put(.linkID, bits: (id.high, id.low))
            case .link(.uuid(let uuid)): put(.linkUUID, bits: uuid.uuid)
            case .decimal, .list, .set, .map: preconditionFailure("not packed")
            }
        }
    }

    // MARK: Reading

    private struct Reader {
        var next: UnsafeRawPointer

        mutating func byte() -> UInt8 {
            defer { next += 1 }
            return next.load(as: UInt8.self)
        }

        mutating func varint() -> UInt64 {
            var number: UInt64 = 0
            var shift: UInt64 = 0
            while true {
                let byte = byte()
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return number }
                shift += 7
            }
        }

        private mutating func number() -> Int64 {
            let raw = varint()
            return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
        }

        private mutating func bits<Bits: BitwiseCopyable>(_ type: Bits.Type) -> Bits {
            defer { next += MemoryLayout<Bits>.size }
            return next.loadUnaligned(as: type)
        }

        private mutating func block() -> UnsafeRawBufferPointer {
            let count = Int(varint())
            defer { next += count }
            return UnsafeRawBufferPointer(start: next, count: count)
        }

        private mutating func objectID() -> ObjectID {
            let (high, low) = bits((UInt64, UInt64).self)
            return ObjectID(high: high, low: low)
        }

        mutating func value() -> Value {
            let byte = byte()
            guard byte < smallest else { return .int(Int64(byte - smallest)) }
            switch Tag(rawValue: byte) {
            case .null, nil: return .null
            case .no: return .bool(false)
            case .yes: return .bool(true)
            case .int: return .int(number())
            case .float: return .float(bits(Float.self))
            case .double: return .double(bits(Double.self))
            case .wholeDouble: return .double(Double(number()))
            case .string: return .string(String(decoding: block(), as: UTF8.self))
            case .data: return .data(Array(block()))
            case .date: return .date(Timestamp(microseconds: number()))
            case .uuid: return .uuid(UUID(uuid: bits(uuid_t.self)))
            case .objectID: return .objectID(objectID())
            case .linkInt: return .link(.int(number()))
            case .linkString: return .link(.string(String(decoding: block(), as: UTF8.self)))
            case .linkID: return .link(.id(objectID()))
            case .linkUUID: return .link(.uuid(UUID(uuid: bits(uuid_t.self))))
            }
        }
    }
}
