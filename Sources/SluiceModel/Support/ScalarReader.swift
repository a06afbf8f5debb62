/// Text read one Unicode scalar after the other, as it is or folded, without building anything.
package struct ScalarReader {
    /// The text's length in UTF-8 bytes, which is its last offset.
    package var end: Int { bytes.count }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let isFolded: Bool

    /// Calls `body` with readers of two texts, which are valid no longer than the call.
    package static func read<Result>(
        _ left: String, _ right: String, folded: Bool, _ body: (ScalarReader, ScalarReader) -> Result
    ) -> Result {
        var left = left
        var right = right
        return left.withUTF8 { left in
            right.withUTF8 { right in
                body(ScalarReader(bytes: left, isFolded: folded), ScalarReader(bytes: right, isFolded: folded))
            }
        }
    }

    /// The scalar that begins at `offset`, which moves behind it.
    package func next(_ offset: inout Int) -> Unicode.Scalar {
        let first = bytes[offset]
        offset += 1
        if first < 0x80 { return isFolded ? CaseFolding.fold(ascii: first) : Unicode.Scalar(first) }
        var value = UInt32(first & (first < 0xE0 ? 0x1F : first < 0xF0 ? 0x0F : 0x07))
        while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 {
            value = value << 6 | UInt32(bytes[offset] & 0x3F)
            offset += 1
        }
        let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
        return isFolded ? CaseFolding.fold(scalar) : scalar
    }

    /// The scalar that ends at `offset`, which moves before it.
    package func previous(_ offset: inout Int) -> Unicode.Scalar {
        repeat { offset -= 1 } while offset > 0 && bytes[offset] & 0xC0 == 0x80
        var start = offset
        return next(&start)
    }

    /// The scalars from `offset` on. Takes four bytes of memory for each.
    package func scalars(from offset: Int) -> [UInt32] {
        var offset = offset
        var scalars: [UInt32] = []
        scalars.reserveCapacity(end - offset)
        while offset < end { scalars.append(next(&offset).value) }
        return scalars
    }
}
