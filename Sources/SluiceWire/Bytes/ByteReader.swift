/// Reads numbers, text and bytes off a buffer; never past its end, never beyond its limits.
///
/// A reader borrows the buffer it was made for: it is only valid within ``decode(_:limits:_:)``.
package struct ByteReader {
    @usableFromInline let base: UnsafeRawBufferPointer
    /// The next byte to read.
    @usableFromInline package var offset = 0
    package let limits: WireLimits
    /// How much may still be decoded.
    @usableFromInline package var budget: DecodingBudget

    package init(_ base: UnsafeRawBufferPointer, limits: WireLimits, budget: DecodingBudget? = nil) {
        self.base = base
        self.limits = limits
        self.budget = budget ?? DecodingBudget(limits)
    }

    /// Decodes `bytes`, which `body` must read to the end.
    package static func decode<Result>(
        _ bytes: [UInt8], limits: WireLimits = .standard, _ body: (inout ByteReader) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        try bytes.withUnsafeBufferPointer { buffer throws(WireError) in
            var reader = ByteReader(UnsafeRawBufferPointer(buffer), limits: limits)
            let result = try body(&reader)
            try reader.expectEnd()
            return result
        }
    }

    @inlinable
    package var remaining: Int { base.count - offset }

    @inlinable
    package var isAtEnd: Bool { offset == base.count }

    package func expectEnd() throws(WireError) {
        if !isAtEnd { throw malformed("\(remaining) bytes too many") }
    }

    /// Throws unless `count` more bytes are here.
    @inlinable
    package func require(_ count: Int) throws(WireError) {
        if count > remaining { throw truncated(by: count - remaining) }
    }

    @inlinable
    package mutating func byte() throws(WireError) -> UInt8 {
        try require(1)
        let value = base[offset]
        offset += 1
        return value
    }

    /// The next byte, which stays to be read.
    package func peek() throws(WireError) -> UInt8 {
        try require(1)
        return base[offset]
    }

    @inlinable
    package mutating func varint() throws(WireError) -> UInt64 {
        guard offset < base.count else { throw truncated(by: 1) }
        let first = base[offset]
        if first < 0x80 {
            offset += 1
            return UInt64(first)
        }
        return try longVarint()
    }

    @inlinable
    package mutating func zigzag() throws(WireError) -> Int64 { ZigZag.decode(try varint()) }

    @inlinable
    package mutating func fixed32() throws(WireError) -> UInt32 {
        try require(4)
        let value = base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        offset += 4
        return UInt32(littleEndian: value)
    }

    @inlinable
    package mutating func fixed64() throws(WireError) -> UInt64 {
        try require(8)
        let value = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        offset += 8
        return UInt64(littleEndian: value)
    }

    @inlinable
    package mutating func double() throws(WireError) -> Double { Double(bitPattern: try fixed64()) }

    @usableFromInline
    mutating func longVarint() throws(WireError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try byte()
            if shift == 63, byte > 1 { throw malformed("a number of more than 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw malformed("a number of more than ten bytes")
    }

    @usableFromInline
    func truncated(by count: Int) -> WireError {
        WireError(.truncated, "\(count) bytes are missing", offset: offset)
    }

    /// Reads the byte with which a stored form begins.
    ///
    /// - Parameter what: what the form is of, for the message.
    /// - Throws: ``WireError`` if it is of another format.
    package mutating func expectFormat(_ format: UInt8, of what: String) throws(WireError) {
        try expectFormat(format...format, of: what)
    }

    /// Reads the byte of a form that has more than one, and returns it.
    @discardableResult
    package mutating func expectFormat(_ formats: ClosedRange<UInt8>, of what: String) throws(WireError) -> UInt8 {
        let found = try byte()
        guard formats.contains(found) else {
            throw WireError(.unknownFormat, "\(found) is no format of \(what) that this version knows", offset: offset)
        }
        return found
    }

    @usableFromInline
    func malformed(_ message: String) -> WireError { WireError(.malformed, message, offset: offset) }
}
