/// Reads a text one Unicode scalar at a time, folded or unchanged, without allocating memory.
package struct ScalarReader {
    /// The length of the text in UTF-8 bytes, which is the offset of its end.
    package var end: Int { bytes.count }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let isFolded: Bool

    /// Calls `body` with readers of two texts, which are valid only during the call.
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

    /// Reads the scalar that begins at `offset`, and moves `offset` behind it.
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

    /// Reads the scalar that ends at `offset`, and moves `offset` before it.
    package func previous(_ offset: inout Int) -> Unicode.Scalar {
        repeat { offset -= 1 } while offset > 0 && bytes[offset] & 0xC0 == 0x80
        var start = offset
        return next(&start)
    }

    /// Reads the scalars from `offset` to the end. Allocates four bytes for each.
    package func scalars(from offset: Int) -> [UInt32] {
        var offset = offset
        var scalars: [UInt32] = []
        scalars.reserveCapacity(end - offset)
        while offset < end { scalars.append(next(&offset).value) }
        return scalars
    }
}
