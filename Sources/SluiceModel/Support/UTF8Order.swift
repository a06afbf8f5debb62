internal import Glibc

/// Compares strings as data: equality, order and hash by UTF-8 bytes.
///
/// Swift's own operators compare by canonical equivalence (composed "é" equals decomposed "é") and order by Unicode
/// scalars after normalisation. Stores, servers and SQL must agree on bytes, so stored data never uses those operators.
package enum UTF8Order {
    @inlinable
    package static func equal(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        return compare(left, right) == 0
    }

    @inlinable
    package static func less(_ left: String, _ right: String) -> Bool {
        compare(left, right) < 0
    }

    /// Compares like `memcmp`, with the shorter string first on a common prefix; the result is negative, zero or
    /// positive.
    @inlinable
    package static func compare(_ left: String, _ right: String) -> Int {
        var left = left
        var right = right
        return left.withUTF8 { left in right.withUTF8 { right in compareBytes(left, right) } }
    }

    /// Compares like `memcmp`, with the shorter bytes first on a common prefix; the result is negative, zero or
    /// positive.
    package static func compareBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        let count = Swift.min(left.count, right.count)
        if count > 0, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left, right, count)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }

    @inlinable
    package static func hash(_ string: String, into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}
