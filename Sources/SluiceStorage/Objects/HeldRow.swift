internal import SluiceModel
internal import SluiceWire

/// The row of a class whose lists were edited last, as it is stored, so that the next edit neither reads nor writes all
/// elements. Whatever else writes a row of the class drops it.
struct HeldRow {
    let id: Int64
    let row: Row
    /// The numbers that order the rows of the elements, for those lists whose rows each begin a run or continue one.
    let positions: [Int: [Int64]]

    /// The position that the element at an index of an edited list gets, with room for others between it and the next.
    static func roomyPosition(_ index: Int) -> Int64 { Int64(index) << 20 }
}

extension ObjectTables {
    /// Writes a list that was edited.
    ///
    /// - Parameters:
    ///   - old: the row as it is stored, and the numbers that order the rows of the list; nil where that is not known.
    /// - Returns: the numbers that order its rows then; nil if it is too short for that.
    func write(
        _ edits: ListEdits, of row: Row, _ column: ClassTable.Column, ofRow id: Int64, _ table: ClassTable,
        replacing old: (row: Row, positions: [Int64])?
    ) throws -> [Int64]? {
        if let old, let list = old.row.list(of: column.property), list.count == old.positions.count {
            var positions = old.positions
            if try write(edits, of: list, &positions, column, ofRow: id, table) {
                assert(
                    (try? storedList(column, ofRow: id, table)) == row.list(of: column.property)
                        || connection.writeFailure != nil,
                    "edits lead from what is stored to what is written")
                return positions
            }
        }
        try deleteElements(of: column, ofRow: id, table)
        try insertElements(of: row, column, ofRow: id, table)
        guard column.isList, case .list(let elements) = row.values[column.property],
            elements.count >= heldElementCountMin
        else { return nil }
        return elements.indices.map(HeldRow.roomyPosition)
    }

    /// Writes edits of a list: the rows of those elements alone that are inserted, moved, set or erased, and of those
    /// that follow them, as far as they began no run.
    ///
    /// - Parameters:
    ///   - list: the list as it is stored.
    ///   - positions: the numbers that order its rows.
    /// - Returns: false if there is no room for an element between its neighbours, and so the list must be written anew.
    private func write(
        _ edits: ListEdits, of list: ElementList, _ positions: inout [Int64], _ column: ClassTable.Column,
        ofRow row: Int64, _ table: ClassTable
    ) throws -> Bool {
        var list = list
        /// The ids of elements before which something has changed.
        var followers: Set<ObjectID> = []
        var hasRoom = true
        let rows = ElementRows(tables: self, table: table, column: column, row: row)
        for (id, outcome) in edits.outcomes {
            try list.apply(outcome, to: id) { step in
                guard hasRoom else { return }
                switch step {
                case .set(let value, let index): try rows.set(value, at: positions[index])
                case .removed(let index, let next):
                    try rows.remove(at: positions.remove(at: index))
                    if let next { followers.insert(next) }
                case .inserted(let element, let index, let next):
                    guard let position = Self.position(for: index, in: positions) else {
                        hasRoom = false
                        return
                    }
                    positions.insert(position, at: index)
                    try rows.insert(element, at: position)
                    if let next { followers.insert(next) }
                }
            }
        }
        guard hasRoom else { return false }
        for id in followers {
            guard let index = list.position(of: id) else { continue }
            let next = index + 1 < list.count ? list[index + 1] : nil
            let identity = ListIdentity(of: list[index], before: next, countMax: list.count)
            try rows.setIdentity(identity, at: positions[index])
        }
        return true
    }

    /// A number between those of the neighbours; nil if there is none.
    private static func position(for index: Int, in positions: [Int64]) -> Int64? {
        guard !positions.isEmpty else { return 0 }
        if index == positions.count { return positions[index - 1] + HeldRow.roomyPosition(1) }
        if index == 0 { return positions[0] - HeldRow.roomyPosition(1) }
        let (left, right) = (positions[index - 1], positions[index])
        return right - left > 1 ? left + (right - left) / 2 : nil
    }
}

/// Writes single rows of the table of a list.
private struct ElementRows {
    let tables: ObjectTables
    let table: ClassTable
    let column: ClassTable.Column
    let row: Int64

    private var condition: String { "\(TableLayout.owner) = ?1 AND \(TableLayout.position) = ?2" }

    func insert(_ element: ElementList.Element, at position: Int64) throws {
        let statement = try tables.insertion(ofElementsInto: column, table)
        defer { statement.reset() }
        statement.bind(1, row)
        statement.bind(2, position)
        try tables.bind(element.value, column.field, to: 3, of: statement, table)
        statement.bind(4, ListIdentity(of: element, before: nil, countMax: 1).wireBytes())
        try statement.run()
    }

    func set(_ value: Value, at position: Int64) throws {
        let statement = try table.statement(.setElement(column.property)) {
            "UPDATE \(column.name) SET \(TableLayout.value) = ?3 WHERE \(condition)"
        }
        try run(statement, at: position) { try tables.bind(value, column.field, to: 3, of: statement, table) }
    }

    func setIdentity(_ identity: ListIdentity, at position: Int64) throws {
        let statement = try table.statement(.setElementIdentity(column.property)) {
            "UPDATE \(column.name) SET \(TableLayout.identity) = ?3 WHERE \(condition)"
        }
        try run(statement, at: position) { statement.bind(3, identity.wireBytes()) }
    }

    func remove(at position: Int64) throws {
        let statement = try table.statement(.deleteElement(column.property)) {
            "DELETE FROM \(column.name) WHERE \(condition)"
        }
        try run(statement, at: position) {}
    }

    private func run(_ statement: Statement, at position: Int64, _ bind: () throws -> Void) throws {
        defer { statement.reset() }
        statement.bind(1, row)
        statement.bind(2, position)
        try bind()
        try statement.run()
    }
}
