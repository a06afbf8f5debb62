internal import Glibc
internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel

/// Reads the rows of a file of JSON lines: one object on each line. Blank lines are skipped.
final class JSONRowReader: RowReader {
    private(set) var columns: [String] = []
    private var positions: [String: Int] = [:]
    private let buffer: RecordBuffer
    private(set) var line = 0
    private var members: [JSONValue.Member] = []
    private var rowCount = 0
    private let shape = JSONShape()

    init(path: String) throws(CommandError) { buffer = RecordBuffer(try ByteSource(path: path)) }

    var source: ByteSource { buffer.source }

    var valueInHeader: String? { nil }

    func next() throws -> Bool {
        while let text = try nextLine() {
            if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            do throws(JSONError) {
                guard case .object(let members) = try JSONParser.parse(text, shape: shape) else {
                    throw JSONError(position: 1, message: "the line is not a JSON object")
                }
                self.members = members
                return true
            } catch {
                throw RowError(line: line, column: nil, message: "at byte \(error.position): \(error.message)")
            }
        }
        return false
    }

    /// Returns the next line without its line feed; nil at the end. Valid until the next call.
    private func nextLine() throws(CommandError) -> UnsafeBufferPointer<UInt8>? {
        while true {
            let bytes = buffer.bytes
            let lineFeed = bytes.baseAddress.flatMap { memchr($0, 0x0A, bytes.count) }
            guard lineFeed != nil || buffer.isAtEnd else {
                try buffer.refill()
                continue
            }
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return nil }
            let length = lineFeed.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) } ?? bytes.count
            buffer.consume(lineFeed == nil ? length : length + 1)
            line += 1
            let text = UnsafeBufferPointer(rebasing: bytes[..<length])
            let hasMark = line == 1 && text.starts(with: [0xEF, 0xBB, 0xBF])
            return hasMark ? UnsafeBufferPointer(rebasing: text[3...]) : text
        }
    }

    func observe(into inferences: inout [ColumnInference]) {
        var seen = 0
        for (index, member) in members.enumerated() {
            let position: Int
            if index < columns.count, columns[index] == member.name {
                position = index
                seen += 1
            } else if let known = positions[member.name] {
                position = known
                seen += 1
            } else {
                position = columns.count
                positions[member.name] = position
                columns.append(member.name)
                inferences.append(ColumnInference())
                if rowCount > 0 { inferences[position].observeNull() }
                seen += 1
            }
            inferences[position].observe(json: member.value)
        }
        if seen < columns.count {
            let present = Set(members.compactMap { positions[$0.name] })
            for position in columns.indices where !present.contains(position) { inferences[position].observeNull() }
        }
        rowCount += 1
    }

    func row(_ plan: ImportPlan, ids: ObjectIDGenerator) throws(RowError) -> Row {
        var values = plan.classSchema.properties.map(\.defaultValue)
        var absent = PropertySet(all: values.count)
        var key: ObjectKey?
        for (position, member) in members.enumerated() {
            guard let index = columnIndex(of: member.name, at: position, in: plan) else { continue }
            let column = plan.columns[index]
            do throws(ConversionError) {
                let value = try self.value(of: member.value, for: column)
                if let property = column.property {
                    values[property] = value
                    absent.remove(property)
                }
                if index == plan.keyColumn { key = value.asKey }
            } catch {
                throw RowError(line: line, column: member.name, message: error.message)
            }
        }
        if let keyColumn = plan.keyColumn, key == nil {
            let name = plan.columns[keyColumn].name
            throw RowError(line: line, column: name, message: "it is the key, and it is missing or null")
        }
        return Row(key: key ?? .id(ids.next()), values: values, absent: absent)
    }

    private func value(of json: JSONValue, for column: ImportPlan.Column) throws(ConversionError) -> Value {
        if json == .null, column.codec.type.isCollection { return column.codec.type.zero }
        if column.takesAnyJSONAsText, !column.codec.type.isCollection {
            switch json {
            case .null, .string: break
            default: return .string(json.text)
            }
        }
        return try column.codec.value(json: json)
    }

    private var indexes: [String: Int] = [:]

    private func columnIndex(of name: String, at position: Int, in plan: ImportPlan) -> Int? {
        if position < plan.columns.count, plan.columns[position].name == name { return position }
        if indexes.isEmpty {
            for (index, column) in plan.columns.enumerated() { indexes[column.name] = index }
        }
        return indexes[name]
    }
}
