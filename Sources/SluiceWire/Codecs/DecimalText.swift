internal import FoundationEssentials

/// Decimals as plain text: `-123.45`, without an exponent, or `NaN`.
enum DecimalText {
    /// The longest text: 39 digits, 128 places, sign and point.
    static let lengthMax = 172

    static func encode(_ value: Decimal) -> String { value.isNaN ? "NaN" : value.description }

    static func decode(from reader: inout ByteReader) throws(WireError) -> Decimal {
        try decode(try reader.string(), reader)
    }

    static func decode(_ text: String, _ reader: ByteReader) throws(WireError) -> Decimal {
        if text == "NaN" { return Decimal.nan }
        guard isPlain(text), let value = Decimal(string: text) else {
            throw reader.malformed("a decimal is written as digits with an optional sign and point")
        }
        return value
    }

    private static func isPlain(_ text: String) -> Bool {
        guard text.utf8.count <= lengthMax else { return false }
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let parts = rest.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
    }
}
