internal import FoundationEssentials
package import SluiceModel

/// Formats values as plain text, for CSV cells and tables. ``PropertyCodec`` parses the text.
package enum PlainText {
    /// The text of a value: empty for null, base64 for data, JSON for collections.
    package static func text(of value: Value) -> String {
        switch value {
        case .null: return ""
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .float(let value): return text(ofNumber: value)
        case .double(let value): return text(ofNumber: value)
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

    /// The fewest digits that read back the same, or the word for a number that is not finite.
    package static func text<Number: BinaryFloatingPoint & LosslessStringConvertible>(ofNumber value: Number) -> String
    {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        return value.description
    }
}
