/// Appends numbers, text and bytes to a growing buffer. Multi-byte numbers are little-endian unless said otherwise.
package struct ByteWriter: Sendable {
    /// What was written so far.
    @usableFromInline package var bytes: [UInt8]

    @inlinable
    package init(reservingCapacity capacity: Int = 0) {
        bytes = []
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    @inlinable
    package var count: Int { bytes.count }

    @inlinable
    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    @inlinable
    package mutating func bool(_ value: Bool) { bytes.append(value ? 1 : 0) }

    /// LEB128: seven bits a byte, lowest first, the top bit set on all but the last; one to ten bytes.
    @inlinable
    package mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// A count or position that is never negative, as a varint.
    @inlinable
    package mutating func varint(_ value: Int) { varint(UInt64(value)) }

    /// A signed number as a varint, small absolute values first: 0, -1, 1, -2, …
    @inlinable
    package mutating func zigzag(_ value: Int64) { varint(ZigZag.encode(value)) }

    @inlinable
    package mutating func fixed32(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    @inlinable
    package mutating func fixed64(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    @inlinable
    package mutating func double(_ value: Double) { fixed64(value.bitPattern) }

    /// Bytes without a length.
    @inlinable
    package mutating func raw(_ value: some Collection<UInt8>) { bytes.append(contentsOf: value) }

    /// A varint length, then the bytes.
    @inlinable
    package mutating func data(_ value: [UInt8]) {
        varint(value.count)
        bytes.append(contentsOf: value)
    }

    /// A varint length in bytes, then the text in UTF-8.
    @inlinable
    package mutating func string(_ value: String) {
        var value = value
        value.withUTF8 {
            varint($0.count)
            bytes.append(contentsOf: $0)
        }
    }

    /// 0 for nil, or 1 and the value.
    @inlinable
    package mutating func optional<Wrapped>(_ value: Wrapped?, _ write: (inout ByteWriter, Wrapped) -> Void) {
        bool(value != nil)
        if let value { write(&self, value) }
    }

    /// A count, then the elements.
    @inlinable
    package mutating func array<Element>(_ values: [Element], _ write: (inout ByteWriter, Element) -> Void) {
        varint(values.count)
        for value in values { write(&self, value) }
    }

    /// What `body` writes, after its length as a varint. Costs a move of what was written when that is 128 bytes or
    /// more.
    @inlinable
    package mutating func lengthPrefixed(_ body: (inout ByteWriter) -> Void) {
        let start = bytes.count
        bytes.append(0)
        body(&self)
        var length = UInt64(bytes.count - start - 1)
        if length < 0x80 {
            bytes[start] = UInt8(length)
            return
        }
        var prefix: [UInt8] = []
        while length >= 0x80 {
            prefix.append(UInt8(truncatingIfNeeded: length) | 0x80)
            length >>= 7
        }
        prefix.append(UInt8(length))
        bytes.replaceSubrange(start...start, with: prefix)
    }
}

/// The mapping of signed numbers to unsigned ones that keeps small absolute values small (Protocol Buffers, "sint64").
package enum ZigZag {
    @inlinable
    package static func encode(_ value: Int64) -> UInt64 { UInt64(bitPattern: value << 1 ^ value >> 63) }

    @inlinable
    package static func decode(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
}
