internal import FoundationEssentials
internal import SluiceModel

/// Formats values as plain text, for CSV cells and tables. ``PropertyCodec`` parses the text.
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

/// Formats floating-point numbers with the fewest digits that read back the same, and names NaN and the infinities.
enum FloatingText {
    static func text<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ value: Number) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        return value.description
    }

    /// The value of a text for NaN or an infinity, as JavaScript, Python and R write them; nil for any other text.
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
