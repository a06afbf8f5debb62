package import FoundationEssentials
internal import SluiceJSON
package import SluiceModel

/// The one reading of numbers that are to be stored: of cells, of members of JSON, and of keys. Arguments of queries
/// and variables of rules are read by `Constant`, from the same ``ExactNumber``.
///
/// A number is digits with an optional sign, point and exponent. An integer is any number that is one, so `-0`, `1.0`
/// and `1e3` are.
package enum NumberReading {
    /// The integer of 64 bits; nil if the text is none.
    package static func integer(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        NumberText.integer(bytes) ?? ExactNumber(text(bytes))?.integer
    }

    /// - Throws: ``ConversionError`` for a number that a double would round (``ExactNumber/isKept(as:)``).
    package static func double(_ bytes: UnsafeBufferPointer<UInt8>) throws(ConversionError) -> Double? {
        // Most numbers are short, and have no whole number from 2^53 on in them.
        if let value = NumberText.double(bytes), value.ulp <= 1 { return value }
        return try floating(bytes)
    }

    /// - Throws: ``ConversionError`` for a number that the type would round (``ExactNumber/isKept(as:)``).
    package static func floating<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(ConversionError) -> Number? {
        if let value = NumberWord.value(bytes) { return Number(value) }
        let text = text(bytes)
        guard let exact = ExactNumber(text), let value = Number(text), value.isFinite else { return nil }
        guard exact.isKept(as: value) else {
            throw ConversionError.mismatch(
                text,
                expected: "kept by a \(Number.self == Float.self ? "float" : "double"), which has "
                    + "\(FloatingText.of(Double(value))) next to it; a decimal keeps all digits")
        }
        return value
    }

    /// The decimal, which is never rounded; nil if the text is none.
    package static func decimal(_ bytes: UnsafeBufferPointer<UInt8>) -> Decimal? {
        if let value = NumberWord.value(bytes) { return value.isNaN ? .nan : nil }
        return try? DecimalText.parse(text(bytes))
    }

    /// The number as a double, or as a decimal where a double would round it; nil if the text is neither.
    package static func value(_ bytes: UnsafeBufferPointer<UInt8>) -> Value? {
        if let value = try? double(bytes) { return .double(value) }
        return decimal(bytes).map { .decimal($0) }
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
