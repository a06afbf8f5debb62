internal import FoundationEssentials
internal import SluiceModel

extension ByteReader {
    /// The longest text of a decimal, in bytes.
    static let decimalLengthMax = 172

    /// A length in bytes, then a decimal as text.
    mutating func decimal() throws(WireError) -> Decimal { try decimal(try length()) }

    /// A decimal as `count` bytes of text: `-123.45`, without an exponent, or `NaN`.
    mutating func decimal(_ count: Int) throws(WireError) -> Decimal {
        guard count <= Self.decimalLengthMax else {
            throw malformed("a decimal of \(count) bytes; at most \(Self.decimalLengthMax) are allowed")
        }
        let text = try text(count)
        if text == "NaN" { return Decimal.nan }
        guard Self.isPlain(text) else {
            throw malformed("a decimal is written as digits with an optional sign and point")
        }
        do throws(DecimalText.Failure) {
            return try DecimalText.parse(text)
        } catch {
            throw malformed(
                error == .tooManyDigits
                    ? "a decimal of more digits than 2^128 - 1"
                    : "a decimal beyond the range of a power of ten of -128 to 127")
        }
    }

    private static func isPlain(_ text: String) -> Bool {
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let parts = rest.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.allSatisfy { part in !part.isEmpty && part.allSatisfy { $0 &- 0x30 <= 9 } }
    }
}
