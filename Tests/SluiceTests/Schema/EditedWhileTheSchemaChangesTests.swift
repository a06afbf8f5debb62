import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Version 1 of a program.
    @Model("Sheet") struct SheetOne {
        @PrimaryKey var id: String
        var numbers: [Int] = []
        var marks: Set<Int> = []
        var votes: [String: Int] = [:]
    }

    /// Version 2: other names, wider types, and a property in front of the others.
    @Model("Sheet") struct SheetTwo {
        @PrimaryKey var id: String
        var author = ""
        @Property(was: "votes") var ballots: [String: Double] = [:]
        @Property(was: "numbers") var values: [Double] = []
        @Property(was: "marks") var tags: Set<Double> = []
    }

    /// Edits of collections that wait while the schema changes.
    @Suite(.timeLimit(.minutes(10))) final class EditedWhileTheSchemaChangesTests {
        private let server: TestServer
        private let path = NSTemporaryDirectory() + "sluice-edited-\(UUID().uuidString)"
        private let sheet = SheetOne(id: "a", numbers: [1, 2, 3], marks: [1, 2], votes: ["x": 1, "y": 2])

        init() throws { server = try TestServer() }

        deinit {
            for suffix in ["", "-wal", "-shm", "-lock", "-marker"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }

        /// Leaves a file of the older program in which edits wait.
        private func editFile() async throws {
            let old = try await server.open([SheetOne.self], path: path)
            try await old.upload([sheet])
            _ = try await old.objects(SheetOne.self).synced()
            server.cut(old)
            try await edit(old)
            await old.close()
        }

        private func edit(_ store: Store) async throws {
            try await store.write { [sheet] tx in
                try tx.update(sheet) { sheet in
                    sheet.numbers.remove(at: 1)
                    sheet.numbers.insert(9, at: 0)
                    sheet.marks.insert(7)
                    sheet.marks.remove(1)
                    sheet.votes["z"] = 3
                    sheet.votes["x"] = nil
                }
                try tx.append(sheet, \.numbers, 10)
            }
        }

        /// What the newer program does meanwhile.
        private func editNewer(_ store: Store) async throws {
            let sheet = try #require(try await store.objects(SheetTwo.self).synced().first)
            try await store.write { tx in
                try tx.update(sheet) { sheet in
                    sheet.values.removeFirst()
                    sheet.values.append(2.5)
                    sheet.tags.insert(0.5)
                    sheet.tags.remove(2)
                    sheet.ballots["w"] = 0.25
                }
            }
            try await store.uploaded()
        }

        /// Both kinds of edits count: what each inserted is there, what each removed is not.
        private func check(_ store: Store) async throws {
            let sheet = try #require(try await store.objects(SheetTwo.self).synced().first)
            #expect(sheet.values.sorted() == [2.5, 3, 9, 10] && sheet.values.first == 9)
            #expect(sheet.tags == [7, 0.5])
            #expect(sheet.ballots == ["y": 2, "z": 3, "w": 0.25])
        }

        @Test func theyMergeOnAServerThatHasTheNewerSchema() async throws {
            let old = try await server.open([SheetOne.self])
            try await old.upload([sheet])
            let recorder = try EventRecorder(old.objects(SheetOne.self))
            try await recorder.complete()
            server.cut(old)
            try await edit(old)
            let new = try await server.open([SheetTwo.self])
            try await editNewer(new)
            server.restore(old)
            try await old.uploaded()
            try await check(server.open([SheetTwo.self]))
            // The store that edited shows the same, in the types that it can read.
            let records = try await old.records("Sheet").synced()
            let other = try await server.open([SheetTwo.self]).records("Sheet").synced()
            #expect(records.count == 1 && other.count == 1)
            for name in ["id", "author", "ballots", "values", "tags"] {
                #expect(records.first?[name] == other.first?[name], "\(name)")
            }
        }

        @Test func theyMergeWhenTheirFileIsOpenedByTheNewerProgram() async throws {
            try await editFile()
            let new = try await server.open([SheetTwo.self])
            try await editNewer(new)
            let again = try await server.open([SheetTwo.self], path: path)
            try await again.uploaded()
            try await check(again)
            try await check(new)
        }

        @Test func theyMergeWhenTheProgramChangesBeforeTheServerDoes() async throws {
            try await editFile()
            // The first that the server hears of the newer schema comes with edits that were made in the older.
            let again = try await server.open([SheetTwo.self], path: path)
            try await again.uploaded()
            try await editNewer(server.open([SheetTwo.self]))
            let sheet = try #require(try await again.objects(SheetTwo.self).synced().first)
            #expect(sheet.values == [1, 3, 10, 2.5])
            #expect(sheet.tags == [7, 0.5] && sheet.ballots == ["y": 2, "z": 3, "w": 0.25])
        }
    }
#endif
