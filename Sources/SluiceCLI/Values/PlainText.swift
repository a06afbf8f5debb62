internal import FoundationEssentials
internal import SluiceModel

/// Values as plain text, as CSV cells and tables show them; ``PropertyCodec`` reads it back.
enum PlainText {
    /// The text of a value: empty for null, base64 for data, JSON for collections.
    static func text(of value: Value) -> String {
        switch value {
        case .null: return ""
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .float(let value): return FloatingText.text(value)
        case .double(let value): return FloatingText.text(value)
        case .string(let value): return value
        case .data(let value): return Data(value).base64EncodedString()
        case .date(let value): return value.description
        case .uuid(let value): return value.uuidString.lowercased()
        case .objectID(let value): return value.description
        case .decimal(let value): return DecimalText.text(of: value)
        case .link(let key): return key.description
        case .list, .set, .map:
            var writer = JSONWriter()
            writer.write(value)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }
}

/// Floating-point numbers as text: the shortest that read back the same, and names for what is not finite.
enum FloatingText {
    static func text<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ value: Number) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        return value.description
    }

    /// What is no finite number, as JavaScript, Python and R write it; nil for any other text.
    static func notFinite(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
        guard (3...9).contains(bytes.count) else { return nil }
        return switch String(decoding: bytes, as: UTF8.self) {
        case "NaN", "nan": .nan
        case "Infinity", "Inf", "inf": .infinity
        case "-Infinity", "-Inf", "-inf": -.infinity
        default: nil
        }
    }
}
