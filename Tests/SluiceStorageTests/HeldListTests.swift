import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

/// Long lists that are edited in a store: what is written is what a fresh connection reads.
@Suite(.ownThread) struct HeldListTests {
    private static let object = ObjectRef(0, .int(1))
    private static let ids = ObjectIDGenerator(origin: 9)

    private static func store(_ location: StorageLocation) throws -> SQLiteClientStorage {
        let storage = try SQLiteClientStorage.open(location)
        try storage.transaction {
            _ = try storage.merge(
                Schema([
                    ClassSchema(
                        "Box", primaryKey: "id",
                        properties: [
                            Property("id", .scalar(.int)), Property("note", .scalar(.string)),
                            Property("items", PropertyType(.scalar(.string), container: .list)),
                        ])
                ]), sides: ("a", "b"))
        }
        return storage
    }

    /// Edits the list anywhere.
    private static func edit(_ row: inout Row, _ number: Int, _ generator: inout SeededGenerator) throws -> ListEdits {
        let list = try #require(row.list(of: 2))
        let author = ListEdits.Author(origin: 9, time: Int64(number), ids: ids)
        let position = Int.random(in: 0..<list.count, using: &generator)
        let made: ListEdits? =
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: .erasing(position..<position + 1, in: list)
            case 1: .setting(position, to: .string("set \(number)"), in: list)
            case 2: .moving(from: position, to: Int.random(in: 0..<list.count, using: &generator), in: list, by: author)
            case 3:
                // In a row, so that elements share a run.
                .inserting((0..<3).map { .string("new \(number) \($0)") }, at: position, in: list, by: author)
            default: .inserting([.string("end")], at: list.count, in: list, by: author)
            }
        let edits = try #require(made)
        row.edit(2) { _ in edits }
        return edits
    }

    @Test(arguments: [false, true], [1, 2, 3] as [UInt64])
    func whatIsWrittenByElementIsReadByOthers(beginsEdited: Bool, seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: seed)
        let storage = try Self.store(.file(folder.file("db")))
        var row = Row(
            key: .int(1), values: [.int(1), .string(""), .list((0..<200).map { .string("element \($0)") })])
        if beginsEdited { for number in 1...20 { _ = try Self.edit(&row, number, &generator) } }
        try storage.transaction { try storage.insert(row, ofClass: 0) }
        for number in 100...400 {
            try storage.transaction {
                row = try #require(try storage.row(Self.object))
                if number % 40 == 0 {
                    row.values[1] = .string("\(number)")
                    try storage.update(row, ofClass: 0, changed: [1])
                }
                let edits = try Self.edit(&row, number, &generator)
                try storage.update(row, ofClass: 0, changed: [2], edits: [2: edits])
            }
            if number % 30 == 0 {
                let read = try storage.read { try $0.row(Self.object) }
                #expect(read == row, "a reader, at \(number)")
                #expect(read?.list(of: 2) == row.list(of: 2))
            }
        }
        let end = row
        // What fails leaves what was there.
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try storage.transaction {
                let edits = try Self.edit(&row, 500, &generator)
                try storage.update(row, ofClass: 0, changed: [2], edits: [2: edits])
                throw Failure()
            }
        }
        #expect(try storage.row(Self.object) == end)
        row = end
        try storage.transaction {
            let edits = try Self.edit(&row, 501, &generator)
            try storage.update(row, ofClass: 0, changed: [2], edits: [2: edits])
        }
        storage.close()
        let again = try SQLiteClientStorage.open(.file(folder.file("db")))
        #expect(try again.row(Self.object) == row)
        again.close()
    }

    /// Insertions in one gap use up the numbers between two rows.
    @Test func aListWhoseRowsHaveNoRoomIsWrittenAnew() throws {
        let storage = try Self.store(.memory)
        var row = Row(key: .int(1), values: [.int(1), .string(""), .list((0..<64).map { .string("\($0)") })])
        try storage.transaction { try storage.insert(row, ofClass: 0) }
        for number in 1...60 {
            try storage.transaction {
                row = try #require(try storage.row(Self.object))
                let author = ListEdits.Author(origin: 9, time: Int64(number), ids: Self.ids)
                let list = try #require(row.list(of: 2))
                let edits = try #require(
                    ListEdits.inserting([.string("new")], at: 31 + number % 2, in: list, by: author))
                row.edit(2) { _ in edits }
                try storage.update(row, ofClass: 0, changed: [2], edits: [2: edits])
            }
        }
        #expect(try storage.read { try $0.row(Self.object) } == row)
    }

    /// Other writes of the object count too.
    @Test func aListThatIsSetAsAWholeInBetweenIsWhatItWasSetTo() throws {
        var generator = SeededGenerator(seed: 8)
        let storage = try Self.store(.memory)
        var row = Row(key: .int(1), values: [.int(1), .string(""), .list((0..<64).map { .string("\($0)") })])
        try storage.transaction { try storage.insert(row, ofClass: 0) }
        for number in 1...40 {
            try storage.transaction {
                row = try #require(try storage.row(Self.object))
                switch number % 8 {
                case 3:
                    row.set(.list((0..<80).map { .string("\($0 * number)") }), of: 2)
                    try storage.update(row, ofClass: 0, changed: [2])
                case 5:
                    try storage.put(row, ofClass: 0)
                case 7:
                    try storage.delete(Self.object, version: 5)
                    row.version = 0
                    try storage.insert(row, ofClass: 0)
                default:
                    let edits = try Self.edit(&row, number, &generator)
                    try storage.update(row, ofClass: 0, changed: [2], edits: [2: edits])
                }
            }
            #expect(try storage.read { try $0.row(Self.object) } == row, "at \(number)")
            #expect(try storage.row(Self.object) == row, "at \(number)")
        }
    }
}
