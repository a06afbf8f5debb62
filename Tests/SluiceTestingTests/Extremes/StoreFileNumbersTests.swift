import Foundation
import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

extension ExtremeNumberTests {
    @Test func aStoreOpensOrRefusesAFileWithWhateverIntegers() throws {
        try withFolder { folder in
            try makeStore(folder + "/made")
            let cells = try IntegerCells(folder + "/made")
            let path = folder + "/case/store"
            try cells.write(to: path)
            #expect(useStore(path) == [1, 2, 3])
            var count = 0
            try cells.forEachCase(blobCaseCount: 50) { cell, value in
                guard try cells.write(to: path, cell, value) else { return }
                LastCase.note("a store's \(cell.name): \(value)")
                _ = useStore(path)
                count += 1
            }
            #expect(count > 100)
        }
    }

    /// Runs `body` with a folder that is removed afterwards.
    func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try makeFolder()
        defer { removeFolder(folder) }
        try body(folder)
    }

    func makeFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-extremes-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    func removeFolder(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }

    private static func classes() throws -> [ClassSchema] {
        [
            try ClassSchema(
                "Note",
                properties: [
                    Property("lines", PropertyType(.scalar(.int), container: .list)),
                    Property("at", .scalar(.date, isOptional: true)), Property("author", .link("User")),
                    Property("flag", .scalar(.bool)), Property("ratio", .scalar(.double)),
                    Property("counts", PropertyType(.scalar(.int), container: .map)),
                ])
        ]
    }

    private func open(_ path: String) throws -> ScriptedSession {
        try ScriptedSession(at: .file(path), classes: Self.classes()) {
            $0.keepsRejectedWrites = true
            $0.cacheLimits = CacheLimits(byteCountMax: 100, ageMax: .seconds(10))
        }
    }

    /// Makes a store with results, cached objects, a list that was edited, writes that wait, and a dormant subscription.
    private func makeStore(_ path: String) throws {
        let session = try open(path)
        let engine = session.engine
        _ = try engine.observe(session.query("User SORT(age)")) { _ in }
        let ended = try engine.observe(session.query("User WHERE age > 3")) { _ in }
        session.open()
        session.bootstrap(1, (1...3).map { ScriptedSession.user($0, age: $0) })
        session.bootstrap(2, (3...4).map { ScriptedSession.user($0, age: $0) })
        try engine.endObservation(ended, keeping: false, purging: false)
        let note = ObjectRef(1, .id(ObjectID(high: 8, low: 8)))
        let author = ListEdits.Author(origin: 5, time: 9, ids: ObjectIDGenerator(origin: 5))
        try engine.write { writer in
            var row = Row(key: note.key, values: try Self.classes()[0].defaultValues(for: note.key))
            row.values[0] = .list([.int(1), .int(2)])
            row.values[5] = .map(ValueMap([(key: "a", value: .int(1))]))
            try writer.insert(row, ofClass: 1)
        }
        let list = ElementList([.int(1), .int(2)])
        if let edits = ListEdits.inserting([.int(7)], at: 1, in: list, by: author) {
            try engine.write { try $0.update(note, [FieldOperation(0, .editList(edits))]) }
        }
        try session.setAge(of: 1, to: 9)
        session.receive([
            .rejected(
                .init(
                    session: 1,
                    rejection: .init(
                        sequence: 1, reasons: [.init(object: note, code: .permissionDenied, message: "no")])))
        ])
        session.commit(5, to: 1, [ScriptedSession.user(2, age: 4, version: 5)], acknowledged: 1)
        _ = try engine.sweepCache()
        try session.setAge(of: 2, to: 9)
        engine.close()
        session.storage.close()
    }

    /// Opens a store, reads everything, writes, syncs and closes it. Errors are answers.
    ///
    /// - Returns: the keys of the users that an observer saw at first; nil if the store could not be opened.
    private func useStore(_ path: String) -> [Int64]? {
        guard let session = try? open(path) else { return nil }
        let engine = session.engine
        let seen = EventLog()
        if let query = try? session.query("User") {
            _ = try? engine.observe(query) { if seen.events.isEmpty { seen.events.append($0) } }
        }
        for text in ["User SORT(age)", "User WHERE age > 3", "Note WHERE lines.@count > 0", "Note SORT(at)"] {
            if let query = try? session.query(text) { _ = try? engine.observe(query) { _ in } }
        }
        try? session.setAge(of: 1, to: 20)
        session.open(.resumed)
        let note = ObjectRef(1, .id(ObjectID(high: 8, low: 8)))
        _ = try? session.storage.row(note)
        let author = ListEdits.Author(origin: 6, time: 10, ids: ObjectIDGenerator(origin: 6))
        let list = ElementList([.int(1), .int(2)])
        if let edits = ListEdits.inserting([.int(8)], at: 0, in: list, by: author) {
            try? engine.write { try $0.update(note, [FieldOperation(0, .editList(edits))]) }
        }
        try? engine.write {
            try $0.insert(Row(key: .int(77), values: [.int(77), .int(1)]), ofClass: 0)
            try $0.delete(ObjectRef(0, .int(2)))
        }
        _ = session.actions()
        for id in session.storage.subscriptions.map(\.id) {
            session.bootstrap(id, [ScriptedSession.user(1, age: 4, version: 6)])
            session.commit(7, to: id, [ScriptedSession.user(3, age: 5, version: 7)], acknowledged: 2)
        }
        session.commit(8, to: 1, [], acknowledged: 9)
        engine.handle(.storePostponed)
        _ = try? engine.sweepCache()
        _ = try? engine.purgeUnsubscribed()
        engine.reportProgress()
        session.loseConnection()
        session.open(.reset)
        try? session.setAge(of: 3, to: 21)
        _ = session.actions()
        engine.close()
        session.storage.close()
        return seen.events.first?.list.visible.compactMap { $0.object.key.integer }.sorted() ?? []
    }
}

extension ObjectKey {
    fileprivate var integer: Int64? { if case .int(let key) = self { key } else { nil } }
}
