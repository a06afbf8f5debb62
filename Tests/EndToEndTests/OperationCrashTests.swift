import Foundation
import Glibc
import Sluice
import SluiceModel
import TestSupport
import Testing

/// Kills both sides with kill -9, again and again, while a client does everything that can be done to objects: what is on
/// the server in the end is what the journal's transactions make of nothing, each applied once.
@Suite(.serialized)
struct OperationCrashTests {
    /// An object with everything that operations work on.
    struct Thing: KeyPathModel {
        var key = 0
        var text = ""
        var count = 0
        var level: Double?
        var tags: Set<String> = []
        var marks: [String: Int] = [:]
        var lines: [String] = []
        var next: Link<Thing>?
        var objectMetadata = ObjectMetadata.keyed

        static let modelDefinition = ModelDefinition(Thing.self) { model in
            model.primaryKey("key", \.key)
            model.property("text", \.text)
            model.property("count", \.count)
            model.property("level", \.level)
            model.property("tags", \.tags)
            model.property("marks", \.marks)
            model.property("lines", \.lines)
            model.property("next", \.next)
        }
    }

    /// Counts the transactions, in each of them.
    struct Progress: KeyPathModel {
        var name = "all"
        var count = 0
        var objectMetadata = ObjectMetadata.keyed

        static let modelDefinition = ModelDefinition(Progress.self) { model in
            model.primaryKey("name", \.name)
            model.property("count", \.count)
        }
    }

    private static let models: [any Model.Type] = [Thing.self, Progress.self]

    /// The transaction with a number: what it does depends on the seed, the number and the objects alone.
    private static func transact(_ number: Int, seed: UInt64, _ tx: borrowing WriteTransaction) throws {
        var random = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number))
        var progress = try tx.object(Progress.self, key: "all") ?? Progress()
        precondition(progress.count == number, "transaction \(number) follows \(progress.count)")
        progress.count += 1
        try tx.upsert(progress)
        for _ in 0..<Int.random(in: 1...4, using: &random) { try operate(tx, &random) }
    }

    private static func operate(_ tx: borrowing WriteTransaction, _ random: inout SeededGenerator) throws {
        let key = Int.random(in: 0..<20, using: &random)
        let small = Int.random(in: 0..<6, using: &random)
        let kind = Int.random(in: 0..<16, using: &random)
        guard let thing = try tx.object(Thing.self, key: key) else {
            var made = Thing()
            made.key = key
            made.count = small
            if kind < 8 { made.next = Link(key: small) }
            return kind < 4 ? try tx.insert(made) : try tx.upsert(made)
        }
        switch kind {
        case 0: try tx.delete(thing)
        case 1: try tx.update(thing) { $0.text = "text \(small)" }
        case 2: try tx.update(thing) { $0.level = small == 0 ? nil : Double(small) }
        case 3: try tx.increment(thing, \.count, by: small)
        case 4: try tx.update(thing) { $0.tags.insert("tag \(small)") }
        case 5: try tx.update(thing) { $0.tags.remove("tag \(small)") }
        case 6: try tx.update(thing) { $0.marks["mark \(small)"] = key }
        case 7: try tx.update(thing) { $0.marks["mark \(small)"] = nil }
        case 8: try tx.update(thing) { if small < 2 { $0.tags = [] } else { $0.marks = [:] } }
        case 9: try tx.update(thing) { $0.lines.append("line \(small)") }
        case 10: try tx.update(thing) { if !$0.lines.isEmpty { $0.lines.removeFirst() } }
        case 11: try tx.update(thing) { $0.next = small == 0 ? nil : Link(key: small) }
        case 12: try tx.update(all: tx.objects(Thing.self).where { $0.count > 3 }) { $0.count -= 2 }
        case 13: try tx.update(all: tx.records("Thing WHERE next.count > 2"), add: ["count": .int(1)])
        case 14: try tx.delete(all: tx.objects(Thing.self).sorted(by: \.key).limit(small == 0 ? 2 : 0))
        default: try tx.update(thing.identity, set: ["text": .string("set"), "lines": .list([.string("one")])])
        }
    }

    private static func store(_ url: String?, path: String? = nil) async throws -> Store {
        var sync = url.map { SyncConfiguration(url: $0) }
        sync?.reconnectDelay = .milliseconds(20)
        sync?.reconnectDelayMax = .milliseconds(200)
        return try await Store.open(StoreConfiguration(path: path, models: models, sync: sync))
    }

    /// What a store has, in text.
    private static func content(_ store: Store) throws -> [String] {
        let things = try store.objects(Thing.self).sorted(by: \.key).fetch().map { thing in
            let marks = thing.marks.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let next = thing.next?.key.map { "\($0)" } ?? "none"
            let level = thing.level.map { "\($0)" } ?? "none"
            return
                "\(thing.key) \(thing.text) \(thing.count) \(level) \(thing.tags.sorted()) \(marks) \(thing.lines) \(next)"
        }
        return things + [try store.object(Progress.self, key: "all").map { "\($0.count) transactions" } ?? "nothing"]
    }

    @Test(arguments: [11 as UInt64, 12])
    func everyOperationCountsOnceHoweverOftenBothSidesAreKilled(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        try await withFolder { folder in
            let port = try UnusedPort.next()
            var server = try await ServerProcess.start(folder: folder, port: port)
            defer { server.process.signal(SIGKILL) }
            let (url, path, journal) = (server.url(), folder + "/client.sluice", folder + "/journal")
            for round in 0..<3 {
                let child = Task {
                    [round = UInt64(round)] in
                    _ = await #expect(processExitsWith: .signal(SIGKILL)) {
                        [
                            url = url as String, path = path as String, journal = journal as String,
                            seed = seed as UInt64, round = round as UInt64
                        ] in
                        try await OperationCrashTests.writeUntilKilled(
                            url, path: path, journal: journal, seed: seed, round: round)
                    }
                }
                // The server dies at random moments of the client's work; no outcome depends on which.
                for _ in 0..<2 {
                    let begun = try Self.lines(journal, "begin").count
                    let wanted = begun + Int.random(in: 3...30, using: &generator)
                    try await wait(for: "\(wanted) transactions") {
                        try child.isCancelled || Self.lines(journal, "begin").count >= wanted
                            || Self.lines(journal, "round \(round + 1) ends").count > 0
                    }
                    usleep(UInt32.random(in: 0...4_000, using: &generator))
                    try await server.kill()
                    server = try await ServerProcess.start(folder: folder, port: port)
                }
                await child.value
            }
            let begun = try Self.lines(journal, "begin").count
            let ended = Set(try Self.lines(journal, "end")).count
            let store = try await Self.store(url, path: path)
            _ = try await store.objects(Progress.self).synced(timeout: waitMax)
            try await store.uploaded(timeout: waitMax)
            let count = try #require(try store.object(Progress.self, key: "all")).count
            #expect(count >= ended && count <= begun, "seed \(seed): \(ended) of \(begun) ended, \(count) are here")
            // The same transactions on a store without a server.
            let alone = try await Self.store(nil)
            for number in 0..<count {
                try await alone.write { try Self.transact(number, seed: seed, $0) }
            }
            let expected = try Self.content(alone)
            let reader = try await Self.store(url)
            _ = try await reader.objects(Thing.self).synced(timeout: waitMax)
            _ = try await reader.objects(Progress.self).synced(timeout: waitMax)
            #expect(try Self.content(reader) == expected, "seed \(seed): the server differs")
            _ = try await store.objects(Thing.self).synced(timeout: waitMax)
            #expect(try Self.content(store) == expected, "seed \(seed): the client differs")
            #expect(try store.outgoingCount() == 0 && store.pendingObjectIDs().isEmpty)
            for store in [store, alone, reader] { await store.close() }
        }
    }

    /// The lines of the journal that begin with a word.
    private static func lines(_ journal: String, _ word: String) throws -> [Substring] {
        guard let text = try? String(contentsOfFile: journal, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").filter { $0.hasPrefix(word) }
    }

    /// Runs in its own process: goes on with the transactions until it kills itself at a random moment.
    private static func writeUntilKilled(
        _ url: String, path: String, journal: String, seed: UInt64, round: UInt64
    ) async throws {
        var generator = SeededGenerator(seed: seed &+ round &* 7_919)
        let killed = Int.random(in: 60...160, using: &generator)
        let delay = UInt32.random(in: 0...3_000, using: &generator)
        let file = open(journal, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        func note(_ text: String) { _ = text.withCString { write(file, $0, strlen($0)) } }
        let store = try await store(url, path: path)
        // What is observed here changes by what the server sends, too.
        let token = try store.objects(Thing.self).observe { _ in }
        let first = try store.object(Progress.self, key: "all")?.count ?? 0
        for number in first... {
            if number == first + killed {
                note("round \(round + 1) ends\n")
                Thread.detachNewThread {
                    usleep(delay)
                    kill(getpid(), SIGKILL)
                }
            }
            note("begin \(number)\n")
            try await store.write { try transact(number, seed: seed, $0) }
            note("end \(number)\n")
        }
        token.stop()
    }
}
