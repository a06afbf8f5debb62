import CSQLite
import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    @Model struct ListedBox {
        @PrimaryKey var id: Int
        var items: [String] = []
    }

    @Model(.local) struct LocalBox {
        @PrimaryKey var id: Int
        var items: [String] = []
    }

    /// Long lists of what no server has: in a store without one, and of a class that does not sync.
    @Suite(.timeLimit(.minutes(10))) struct LocalListTests {
        private let folder = NSTemporaryDirectory() + "local-lists-" + UUID().uuidString
        private var path: String { folder + "/store" }

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        /// Counts from now on which rows of lists are written.
        private func countRows() throws {
            try sql { handle in
                var statement: OpaquePointer?
                sqlite3_prepare_v2(
                    handle, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%items%'", -1,
                    &statement,
                    nil)
                var names: [String] = []
                while sqlite3_step(statement) == SQLITE_ROW {
                    names.append(String(cString: sqlite3_column_text(statement, 0)))
                }
                sqlite3_finalize(statement)
                #expect(names.count == 2)
                var text = "CREATE TABLE written (x);"
                for (number, name) in names.enumerated() {
                    for event in ["INSERT", "UPDATE", "DELETE"] {
                        text += "CREATE TRIGGER count\(number)\(event) AFTER \(event) ON \"\(name)\" "
                        text += "BEGIN INSERT INTO written VALUES (1); END;"
                    }
                }
                #expect(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK)
            }
        }

        /// How many rows were written since the last call.
        private func takeCount() throws -> Int {
            var count = 0
            try sql { handle in
                var statement: OpaquePointer?
                sqlite3_prepare_v2(handle, "SELECT count(*) FROM written", -1, &statement, nil)
                #expect(sqlite3_step(statement) == SQLITE_ROW)
                count = Int(sqlite3_column_int64(statement, 0))
                sqlite3_finalize(statement)
                #expect(sqlite3_exec(handle, "DELETE FROM written", nil, nil, nil) == SQLITE_OK)
            }
            return count
        }

        private func sql(_ body: (OpaquePointer) throws -> Void) throws {
            var handle: OpaquePointer?
            #expect(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            sqlite3_busy_timeout(handle, 60_000)
            try body(try #require(handle))
        }

        @Test(arguments: [true, false])
        func anEditOfOneElementWritesAFewRowsHoweverLongTheListIs(hasServer: Bool) async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let models: [any Model.Type] = [ListedBox.self, LocalBox.self]
            let server = try TestServer()
            func open() async throws -> Store {
                if hasServer { return try await server.open(models, path: path) }
                return try await Store.open(StoreConfiguration(path: path, models: models))
            }
            var items = (0..<10_000).map { "item \($0)" }
            let first = try await open()
            let box = LocalBox(id: 1, items: items)
            try await first.write { try $0.insert(box) }
            await first.close()
            try countRows()
            let store = try await open()
            try await store.write { try $0.append(box, \.items, "end") }
            items.append("end")
            _ = try takeCount()
            for number in 0..<40 {
                let position = number * 211 % items.count
                switch number % 5 {
                case 0:
                    try await store.write { try $0.insert(box, \.items, "new \(number)", at: position) }
                    items.insert("new \(number)", at: position)
                case 1:
                    try await store.write { try $0.remove(box, \.items, at: position) }
                    items.remove(at: position)
                case 2:
                    try await store.write { try $0.move(box, \.items, from: position, to: 17) }
                    items.insert(items.remove(at: position), at: 17)
                case 3:
                    try await store.write { try $0.update(box) { $0.items[position] = "set \(number)" } }
                    items[position] = "set \(number)"
                default:
                    try await store.write { try $0.update(box) { $0.items.insert("in between", at: position) } }
                    items.insert("in between", at: position)
                }
                let count = try takeCount()
                #expect(count > 0 && count < 8, "edit \(number) wrote \(count) rows")
            }
            #expect(try store.object(LocalBox.self, key: 1)?.items == items)
            await store.close()
            let again = try await open()
            #expect(try again.object(LocalBox.self, key: 1)?.items == items)
            // What is set as a whole may be any other list.
            try await again.write { try $0.upsert(LocalBox(id: 1, items: ["a"])) }
            try await again.write { try $0.append(box, \.items, "b") }
            #expect(try again.object(LocalBox.self, key: 1)?.items == ["a", "b"])
            await again.close()
        }

        /// The server gets lists as wholes, and names their elements by that.
        @Test func aListThatWasEditedBeforeThereWasAServerMergesFromThenOn() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let server = try TestServer()
            let box = ListedBox(id: 1, items: ["a", "b"])
            let alone = try await Store.open(StoreConfiguration(path: path, models: [ListedBox.self]))
            try await alone.write { try $0.insert(box) }
            try await alone.write { try $0.insert(box, \.items, "x", at: 1) }
            try await alone.write { try $0.move(box, \.items, from: 2, to: 0) }
            #expect(try alone.object(ListedBox.self, key: 1)?.items == ["b", "a", "x"])
            await alone.close()
            let ann = try await server.open([ListedBox.self], path: path)
            // Before anything came back from the server.
            try await ann.write { try $0.insert(box, \.items, "ann", at: 2) }
            try await ann.uploaded()
            let ben = try await server.open([ListedBox.self])
            #expect(try await ben.objects(ListedBox.self).synced().map(\.items) == [["b", "a", "ann", "x"]])
            try await ben.write { try $0.remove(box, \.items, at: 0) }
            try await ann.write { try $0.append(box, \.items, "end") }
            try await ben.uploaded()
            try await ann.uploaded()
            try await server.settled()
            for store in [ann, ben] {
                let boxes = try await store.objects(ListedBox.self).synced()
                #expect(boxes.map(\.items) == [["a", "ann", "x", "end"]])
            }
        }
    }
#endif
