internal import SluiceModel

/// Creations of objects of one class that follow each other and set the same properties. They travel by column, like the
/// rows of a block.
struct CreationRun {
    /// Shorter runs travel as single operations.
    static let countMin = 16

    private let classIndex: Int
    /// The properties that every creation sets, ascending.
    private let properties: [Int]
    private let operations: ArraySlice<ObjectOperation>
    /// The properties of which some values are defaults.
    private let defaulted: PropertySet

    /// The longest run that begins with an operation; nil if it is too short to be one.
    init?(at start: Int, of operations: [ObjectOperation]) {
        guard start + Self.countMin <= operations.count, case .create(let fields) = operations[start].action,
            zip(fields, fields.dropFirst()).allSatisfy({ $0.property < $1.property })
        else { return nil }
        let classIndex = operations[start].object.classIndex
        var end = start
        while end < operations.count, operations[end].object.classIndex == classIndex,
            case .create(let others) = operations[end].action, Self.set(others, like: fields)
        {
            end += 1
        }
        guard end - start >= Self.countMin else { return nil }
        self.classIndex = classIndex
        properties = fields.map(\.property)
        self.operations = operations[start..<end]
        var defaulted = PropertySet()
        for operation in operations[start..<end] {
            for field in operation.fields {
                if case .setDefault = field.change { defaulted.insert(field.property) }
            }
        }
        self.defaulted = defaulted
    }

    /// Whether some values are defaults.
    var hasDefaults: Bool { !defaulted.isEmpty }

    /// How many operations there are.
    var count: Int { operations.count }

    private static func set(_ fields: [FieldOperation], like others: [FieldOperation]) -> Bool {
        guard fields.count == others.count else { return false }
        for index in fields.indices {
            guard fields[index].property == others[index].property else { return false }
            switch fields[index].change {
            case .set, .setDefault: break
            case .add, .clear, .edit, .editList: return false
            }
        }
        return true
    }

    // MARK: The binary form

    /// Class, properties and count, then the keys and a column for each property. Where there are defaults, the
    /// properties that have some come before the keys, and for each a bit for each creation.
    func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        PropertySet(properties).encode(into: &writer)
        writer.varint(count)
        if hasDefaults { encodeDefaults(into: &writer) }
        let keys = operations.map(\.object.key.value)
        keys.withUnsafeBufferPointer {
            Column.encode(ColumnCells($0, first: 0, stride: 1, count: count), into: &writer)
        }
        var cells: [Value] = []
        cells.reserveCapacity(count * properties.count)
        for operation in operations {
            guard case .create(let fields) = operation.action else { continue }
            for field in fields {
                switch field.change {
                case .set(let value), .setDefault(let value): cells.append(value)
                case .add, .clear, .edit, .editList: break
                }
            }
        }
        cells.withUnsafeBufferPointer { cells in
            for index in properties.indices {
                Column.encode(
                    ColumnCells(cells, first: index, stride: properties.count, count: count), into: &writer)
            }
        }
    }

    private func encodeDefaults(into writer: inout ByteWriter) {
        defaulted.encode(into: &writer)
        for index in properties.indices where defaulted.contains(properties[index]) {
            var bytes = [UInt8](repeating: 0, count: (count + 7) / 8)
            for (row, operation) in operations.enumerated() {
                if case .setDefault = operation.fields[index].change { bytes[row / 8] |= 1 << UInt8(row % 8) }
            }
            writer.raw(bytes)
        }
    }

    /// Reads which values of `count` creations are defaults: for each property a bit for each creation, or nothing where
    /// none is.
    private static func defaults(
        of properties: [Int], count: Int, from reader: inout ByteReader
    ) throws(WireError) -> [[UInt8]] {
        let budget = reader.budget.elements
        let defaulted = try PropertySet(from: &reader)
        reader.budget.elements = budget
        guard defaulted.allSatisfy(properties.contains) else {
            throw reader.malformed("defaults of properties that the creations do not set")
        }
        var defaults: [[UInt8]] = []
        for property in properties {
            defaults.append(defaulted.contains(property) ? try reader.raw((count + 7) / 8) : [])
        }
        return defaults
    }

    /// Reads a run, and appends its operations.
    ///
    /// - Parameter hasDefaults: whether it says which values are defaults.
    static func decode(
        into operations: inout [ObjectOperation], hasDefaults: Bool, from reader: inout ByteReader
    ) throws(WireError) {
        let classIndex = try reader.position()
        // The set itself counts for nothing, so that a run takes what its operations count for.
        let budget = reader.budget.elements
        let properties = Array(try PropertySet(from: &reader))
        reader.budget.elements = budget
        let announced = try reader.varint()
        let weight = properties.count + 2
        guard announced > 0, announced <= UInt64(reader.budget.elements / weight) else {
            throw WireError(
                .limitExceeded, "\(announced) creations of \(properties.count) properties, more than a frame may hold",
                offset: reader.offset)
        }
        let count = Int(announced)
        try reader.spend(elements: count * weight)
        let defaults = hasDefaults ? try defaults(of: properties, count: count, from: &reader) : []
        let keys = try ObjectKey.column(count: count, from: &reader)
        var columns: [[Value]] = []
        columns.reserveCapacity(properties.count)
        for _ in properties { columns.append(try values(count: count, from: &reader)) }
        operations.reserveCapacity(operations.count + count)
        for row in 0..<count {
            let fields = properties.indices.map { index in
                let isDefault = !defaults.isEmpty && defaults[index].has(row)
                let value = columns[index][row]
                return FieldOperation(properties[index], isDefault ? .setDefault(value) : .set(value))
            }
            operations.append(ObjectOperation(ObjectRef(classIndex, keys[row]), .create(fields)))
        }
    }

    /// Reads a column as values. What many rows share takes room in a column once, and in operations for each row, so
    /// it counts as compressed content does.
    private static func values(count: Int, from reader: inout ByteReader) throws(WireError) -> [Value] {
        let start = reader.offset
        let column = try Column.decode(count: count, from: &reader)
        var values: [Value] = []
        values.reserveCapacity(count)
        var byteCount = 0
        if case .texts(let kind, let texts) = column.content {
            let distinct = (0..<texts.distinctCount).map { index -> Value in
                kind == .string ? .string(texts.text(index)) : .link(.string(texts.text(index)))
            }
            for row in 0..<count {
                if !column.isNull.isEmpty, column.isNull[row] {
                    values.append(.null)
                } else {
                    byteCount += texts.utf8(texts.index(ofRow: row)).count
                    values.append(distinct[texts.index(ofRow: row)])
                }
            }
        } else {
            values = column.values(keys: [])
            if case .values = column.content { byteCount = values.reduce(0) { $0 + $1.dataSize.byteCount } }
        }
        let expansion = max(0, byteCount - (reader.offset - start))
        guard expansion <= reader.budget.expansion else {
            throw WireError(
                .limitExceeded,
                "a column that expands by \(expansion) bytes; \(reader.budget.expansion) may still come",
                offset: reader.offset)
        }
        reader.budget.expansion -= expansion
        return values
    }
}

extension [UInt8] {
    /// Whether a bit is set, of those that there are.
    fileprivate func has(_ bit: Int) -> Bool { bit / 8 < count && self[bit / 8] >> UInt8(bit % 8) & 1 == 1 }
}
