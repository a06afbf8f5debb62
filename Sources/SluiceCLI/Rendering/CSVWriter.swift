internal import SluiceModel

/// Objects as CSV (RFC 4180, LF): a header with the properties' names, then a line each. Importing the lines into the
/// same class gives the same values again: links are keys, collections JSON, null is empty, and text or data that would
/// read as null stands in quotes.
struct CSVWriter {
    private(set) var bytes: [UInt8] = []

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    mutating func writeHeader(_ classSchema: ClassSchema) { write(line: classSchema.properties.map(\.name)) }

    mutating func write(_ record: Record) {
        for (index, value) in record.row.values.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            if !record.row.absent.contains(index) { write(value) }
        }
        // A line with one empty field would read as no line at all.
        if record.row.values.count == 1, bytes.last ?? 0x0A == 0x0A { bytes.append(contentsOf: NullText.word.utf8) }
        bytes.append(0x0A)
    }

    mutating func write(line fields: [String]) {
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            write(field: field)
        }
        bytes.append(0x0A)
    }

    private mutating func write(_ value: Value) {
        switch value {
        case .null: break
        case .data(let data) where data.isEmpty: write(field: "", inQuotes: true)
        case .string(let text), .link(.string(let text)):
            write(field: text, inQuotes: text.isEmpty || text == NullText.word)
        default: write(field: PlainText.text(of: value))
        }
    }

    private mutating func write(field: String, inQuotes: Bool = false) {
        let needsQuotes = inQuotes || field.utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
        guard needsQuotes else { return bytes.append(contentsOf: field.utf8) }
        bytes.append(0x22)
        for byte in field.utf8 {
            if byte == 0x22 { bytes.append(0x22) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }
}
