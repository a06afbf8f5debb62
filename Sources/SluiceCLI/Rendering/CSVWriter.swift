internal import SluiceExchange
internal import SluiceModel

/// Writes objects as CSV (RFC 4180, LF): a header with the property names, then one line for each object. Importing the
/// lines into the same class gives the same values: links are keys, collections are JSON, null is empty, and text or
/// data that would read as null is in quotes.
struct CSVWriter {
    private(set) var bytes: [UInt8] = []

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    mutating func writeHeader(_ classSchema: ClassSchema) {
        write(line: classSchema.properties.filter { !$0.isRetired }.map(\.name))
    }

    mutating func write(_ record: Record) {
        let properties = record.classSchema.properties
        let positions = properties.indices.filter { !properties[$0].isRetired }
        for (index, position) in positions.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            if !record.row.absent.contains(position) { write(record.row.values[position]) }
        }
        // A line whose only field is empty would be skipped as a blank line.
        if positions.count == 1, bytes.last ?? 0x0A == 0x0A { bytes.append(contentsOf: NullText.word.utf8) }
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
