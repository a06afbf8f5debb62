internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// Reads pages by column: from SQLite's cells into columns as they travel, without a value, a text or a row in between.
extension ObjectTables {
    /// See ``ObjectReading/columns(matching:of:after:limit:byteCountMax:where:)``.
    func columns(
        matching query: Query, of properties: PropertySet, after cursor: RowCursor?, limit: Int, byteCountMax: Int,
        where isWanted: (ObjectKey, UInt64) -> Bool
    ) throws -> (rows: RowColumns, next: RowCursor?)? {
        guard query.object == nil else { return nil }
        let table = try table(query.classIndex)
        guard let sources = try sources(of: properties, in: table) else { return nil }
        var rows = RowColumns(
            keyType: table.keyType,
            sources.map {
                switch $0 {
                case .key: .keys
                case .cell(_, _, let kind): kind
                case .collection: .values
                }
            })
        let next = try page(of: query, table, after: cursor, limit: limit, byteCountMax: byteCountMax) { statement in
            let key = try table.key(of: statement, from: table.keyCell)
            let version = UInt64(bitPattern: statement.int(1))
            guard isWanted(key, version) else { return 0 }
            let former = rows.byteCount
            var byteCount = 0
            for (column, source) in sources.enumerated() {
                switch source {
                case .key: byteCount += rows.columns[column].append(key: key)
                case .cell(let cell, let codec, let kind):
                    byteCount += try read(cell, codec, kind, of: statement, into: &rows.columns[column], table)
                case .collection(let collection):
                    var identity: ListIdentity?
                    let value = try readCollection(collection, ofRow: statement.int(0), table, identity: &identity)
                    byteCount += rows.columns[column].append(value: value)
                    if let identity { rows.note(identity, column: column) }
                }
            }
            rows.endRow(key, version: version, byteCount: byteCount)
            return rows.byteCount - former
        }
        return (rows, next)
    }

    /// Where the values of a property are.
    private enum Source {
        case key
        /// In a column of the row that a statement has found.
        case cell(Int32, ColumnCodec, ColumnBuilder.Kind)
        /// In a table of elements.
        case collection(ClassTable.Column)
    }

    /// - Returns: nil if one of the properties is not stored.
    private func sources(of properties: PropertySet, in table: ClassTable) throws -> [Source]? {
        var sources: [Source] = []
        for property in properties {
            if property == table.schema.primaryKeyIndex {
                sources.append(.key)
            } else if let cell = table.cells[property] {
                sources.append(.cell(cell.column, cell.codec, try kind(of: cell.codec)))
            } else if let collection = table.collections.first(where: { $0.property == property }) {
                sources.append(.collection(collection))
            } else {
                return nil
            }
        }
        return sources
    }

    private func kind(of codec: ColumnCodec) throws -> ColumnBuilder.Kind {
        switch codec {
        case .scalar(.bool): .integers(.bool)
        case .scalar(.int): .integers(.int)
        case .scalar(.date): .integers(.date)
        case .scalar(.float): .floats
        case .scalar(.double): .doubles
        case .scalar(.string): .texts
        case .scalar(.data), .scalar(.uuid), .scalar(.objectID), .scalar(.decimal): .values
        case .link(let target):
            switch try self.table(target).keyType {
            case .int: .integers(.link)
            case .string: .textLinks
            default: .values
            }
        }
    }

    /// Adds the value of a cell to a column.
    ///
    /// - Returns: what it takes in a block at the most, in bytes.
    @inline(__always)
    private func read(
        _ position: Int32, _ codec: ColumnCodec, _ kind: ColumnBuilder.Kind, of statement: Statement,
        into column: inout ColumnBuilder, _ table: ClassTable
    ) throws -> Int {
        let cell = statement.cell(position)
        if cell.isNull { return column.appendNull() }
        switch kind {
        case .integers(.link):
            guard case .link(let target) = codec, case .int(let key) = try self.key(ofRow: cell.int, in: target) else {
                throw table.damaged()
            }
            return column.append(integer: key)
        case .integers(.bool): return column.append(integer: cell.int == 0 ? 0 : 1)
        case .integers: return column.append(integer: cell.int)
        case .doubles: return column.append(number: cell.isText ? .nan : cell.double)
        // Single precision, which is exact in double.
        case .floats: return column.append(number: cell.isText ? .nan : Double(Float(cell.double)))
        case .texts: return column.append(text: cell.utf8)
        case .textLinks:
            guard case .link(let target) = codec else { throw table.damaged() }
            let row = cell.int
            return try column.appendLink(row: row) { try self.key(ofRow: row, in: target) }
        case .values, .keys:
            if case .link(let target) = codec {
                return column.append(value: .link(try self.key(ofRow: cell.int, in: target)))
            }
            guard let value = codec.read(position, of: statement) else { throw table.damaged() }
            return column.append(value: value)
        }
    }
}
