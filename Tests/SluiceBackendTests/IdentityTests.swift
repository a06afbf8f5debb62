import SluiceBackend
import SluiceTesting
import Synchronization
import TestSupport
import Testing

@Model struct Chore: Equatable {
    var text = ""
    var folder: Link<Folder>?
    var related: Links<Folder> = []
}

@Model struct Folder: Equatable {
    var name = ""
}

@Model struct Badge: Equatable {
    @PrimaryKey var number: Int
    var owner = ""
    var floor = 0
}

/// Two devices that make objects without knowing of each other (docs/features.md, I1 to I14).
struct IdentityTests {
    private let models: [any Model.Type] = [Chore.self, Folder.self, Badge.self]
    private let server: TestServer

    init() throws { server = try TestServer() }

    /// Two stores that observe everything and have no network.
    private func devices() async throws -> (Store, Store, [EventRecorder<Chore>]) {
        let (a, b) = (try await server.open(models), try await server.open(models))
        let recorders = [try EventRecorder(a.objects(Chore.self)), try EventRecorder(b.objects(Chore.self))]
        for recorder in recorders { try await recorder.complete() }
        server.cut(a)
        server.cut(b)
        return (a, b, recorders)
    }

    /// Both devices number their first object alike, and each keeps its own beside the other's.
    @Test func buyMilkAndFeedTheCatBothStay() async throws {
        let (a, b, recorders) = try await devices()
        let (milk, cat) = (Chore(text: "Buy milk"), Chore(text: "Feed the cat"))
        try await a.write { try $0.insert(milk) }
        try await b.write { try $0.insert(cat) }
        for store in [a, b] { server.restore(store) }
        for recorder in recorders { try await recorder.event { $0.results.count == 2 } }
        for store in [a, b] {
            #expect(Set(try store.objects(Chore.self).fetch().map(\.text)) == ["Buy milk", "Feed the cat"])
            // A value read before is the same object still.
            #expect(try store.object(Chore.self, id: milk.objectID)?.text == "Buy milk")
            #expect(try store.object(Chore.self, id: cat.objectID)?.text == "Feed the cat")
        }
        try await b.write { try $0.update(milk) { $0.text = "Buy oat milk" } }
        try await recorders[0].event { change in
            change.results.contains { $0.text == "Buy oat milk" }
        }
    }

    /// Task 47 in folder 23 here is task 104 in folder 81 there: the relation leads to the same folder on both, to one
    /// and to many, although the devices have different numbers of objects.
    @Test func aRelationLeadsToTheSameObjectWhereverItsNumbersDiffer() async throws {
        let (a, b, recorders) = try await devices()
        // So that local numbers differ.
        try await a.write { transaction in
            for number in 0..<23 { try transaction.insert(Folder(name: "a\(number)")) }
        }
        try await b.write { transaction in
            for number in 0..<81 { try transaction.insert(Folder(name: "b\(number)")) }
            for number in 0..<104 { try transaction.insert(Chore(text: "b\(number)")) }
        }
        let (home, work) = (Folder(name: "Home"), Folder(name: "Work"))
        try await a.write { transaction in
            try transaction.insert(Chore(text: "Water plants", folder: Link(home), related: [Link(work), Link(home)]))
            // The targets come later.
            try transaction.insert(home)
        }
        server.restore(a)
        server.restore(b)
        try await a.uploaded(timeout: waitMax)
        try await recorders[1].event { change in
            change.results.contains { $0.text == "Water plants" }
        }
        let seen = try #require(try b.objects(Chore.self).where { $0.text == "Water plants" }.first())
        #expect(try seen.folder?.fetch()?.name == "Home")
        #expect(seen.folder?.objectID == home.objectID)
        // One target is nowhere yet; it keeps its place, and lights up there.
        #expect(seen.related.count == 2)
        #expect(try seen.related.map { try $0.fetch()?.name } == [nil, "Home"])
        try await a.write { try $0.insert(work) }
        try await a.uploaded(timeout: waitMax)
        try await recorders[1].event { _ in (try? seen.related[0].fetch()?.name) == "Work" }
        #expect(try seen.related.map { try $0.fetch()?.name } == ["Work", "Home"])
        // A deleted target leaves its place, too.
        try await a.write { try $0.delete(work) }
        try await a.uploaded(timeout: waitMax)
        try await recorders[1].event { _ in (try? seen.related[0].fetch()) == .some(nil) }
        let after = try #require(try b.objects(Chore.self).where { $0.text == "Water plants" }.first())
        #expect(after.related.map(\.objectID) == [work.objectID, home.objectID])
    }

    /// A key is the same object everywhere: what two devices make with one key becomes one, for each property the later
    /// write, where both have chosen a value, and the server counts what had no effect.
    @Test func unrelatedObjectsWithOneKeyBecomeOneAndThatIsCountedAndLogged() async throws {
        let lines = Mutex<[String]>([])
        let server = try TestServer(log: LogSink(level: .debug) { line in lines.withLock { $0.append("\(line)") } })
        let (a, b) = (try await server.open(models), try await server.open(models))
        for store in [a, b] {
            try await store.connected(timeout: waitMax)
            server.cut(store)
        }
        try await a.write { try $0.insert(Badge(number: 7, owner: "Ada", floor: 1)) }
        server.clock.advance(by: .seconds(1))
        try await b.write { try $0.insert(Badge(number: 7, owner: "Bob")) }
        for store in [b, a] {
            server.restore(store)
            try await store.uploaded(timeout: waitMax)
        }
        let database = try await server.database(models: models)
        #expect(try await database.objects(Badge.self).fetch() == [Badge(number: 7, owner: "Bob", floor: 1)])
        #expect(try await database.status().supersededOperations > 0)
        let met = lines.withLock { $0.filter { $0.contains("whose keys other objects had") } }
        #expect(met.count == 1 && met[0].contains("Badge") && !met[0].contains("Ada"))
        // Classes with and without a key live side by side, and a key is never one of another kind.
        #expect(try await database.object(Badge.self, key: 8) == nil)
    }

    /// What is deleted stays deleted for those who write late, however often its key is used anew.
    @Test func aDeletedObjectIsNotPatchedAndItsKeyMayBeUsedAnew() async throws {
        let (a, b, _) = try await devices()
        let database = try await server.database(models: models)
        try await database.write { try $0.insert(Badge(number: 7, owner: "Ada", floor: 3)) }
        for store in [a, b] {
            server.restore(store)
            _ = try await store.objects(Badge.self).synced(timeout: waitMax)
            server.cut(store)
        }
        for round in 1...3 {
            try await b.write { try $0.update(Badge(number: 7)) { $0.floor = 100 + round } }
            server.clock.advance(by: .seconds(1))
            try await database.write { transaction in
                try transaction.delete(Badge.self, key: 7)
                try transaction.insert(Badge(number: 7, owner: "Round \(round)"))
            }
            server.restore(b)
            try await b.uploaded(timeout: waitMax)
            // A new object is not patched by what was meant for the old one.
            #expect(try await database.object(Badge.self, key: 7) == Badge(number: 7, owner: "Round \(round)"))
            _ = try await b.objects(Badge.self).synced(timeout: waitMax)
            server.cut(b)
        }
    }
}
