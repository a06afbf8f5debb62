internal import SluiceModel

extension ObjectBlock: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.array(groups) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            groups: try reader.array(minimumSize: 4) { reader throws(WireError) in try ObjectGroup(from: &reader) })
    }
}

extension ObjectGroup: WireCodable {
    /// Class, role, properties and row count, then the keys, the versions and a column for each property.
    package func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        writer.byte(role.rawValue)
        properties.encode(into: &writer)
        writer.varint(count)
        guard count > 0 else { return }
        let keyValues = keys.map(\.value)
        keyValues.withUnsafeBufferPointer {
            Column.encode(ColumnCells($0, first: 0, stride: 1, count: count), into: &writer)
        }
        IntegerSequence.encode(versions.map { Int64(bitPattern: $0) }, into: &writer)
        cells.withUnsafeBufferPointer { cells in
            for index in 0..<width {
                let column = ColumnCells(cells, first: index, stride: width, count: count)
                if (0..<count).allSatisfy({ column[$0] == keyValues[$0] }) {
                    writer.byte(ColumnKind.key.rawValue)
                } else {
                    Column.encode(column, into: &writer)
                }
            }
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let classIndex = try reader.position()
        let roleCode = try reader.byte()
        guard let role = RowRole(rawValue: roleCode) else { throw reader.malformed("\(roleCode) is no role of a row") }
        self.init(classIndex: classIndex, role: role, properties: try PropertySet(from: &reader))
        let announced = try reader.varint()
        guard announced <= UInt64(reader.budget.elements / (width + 2)) else {
            throw WireError(
                .limitExceeded, "\(announced) rows of \(width) properties, more than a frame may hold",
                offset: reader.offset)
        }
        let count = Int(announced)
        try reader.spend(elements: count * (width + 2))
        guard count > 0 else { return }
        keys = try ObjectKey.column(count: count, from: &reader)
        versions = try IntegerSequence.decode(count: count, from: &reader).map { UInt64(bitPattern: $0) }
        let width = width
        let keys = keys
        var cells = [Value](repeating: .null, count: count * width)
        try cells.withUnsafeMutableBufferPointer { buffer throws(WireError) in
            guard let base = buffer.baseAddress else { return }
            for index in 0..<width {
                let target = Column.Target(base: base + index, stride: width, count: count)
                try Column.decode(into: target, keys: keys, from: &reader)
            }
        }
        self.cells = cells
    }
}

extension ObjectKey {
    /// Reads a column of keys; the caller has taken them off the budget.
    static func column(count: Int, from reader: inout ByteReader) throws(WireError) -> [ObjectKey] {
        let values = try Column.decode(count: count, isNested: false, from: &reader)
        var keys: [ObjectKey] = []
        keys.reserveCapacity(count)
        for value in values {
            switch value {
            case .objectID(let id): keys.append(.id(id))
            case .int(let key): keys.append(.int(key))
            case .string(let key): keys.append(.string(key))
            case .uuid(let key): keys.append(.uuid(key))
            default: throw reader.malformed("a \(value.kindName) for a key")
            }
        }
        return keys
    }
}
