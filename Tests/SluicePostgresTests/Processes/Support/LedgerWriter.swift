#if PostgreSQL

import Sluice
import Synchronization
import TestSupport
import Testing

/// A store that writes one transaction after the other, and observes what all have written.
final class LedgerWriter: Sendable {
    private struct State {
        var written: Int64 = 0
        var acknowledged: Int64 = 0
        var resetCount = 0
        var isDone = false
    }

    let store: Store
    private let number: Int64
    private let state: Box
    private let observations: [NotificationToken]

    private final class Box: Sendable { let content = Mutex(State()) }

    /// - Parameter urls: the servers, the preferred first.
    init(_ number: Int, _ urls: [String]) async throws {
        let state = Box()
        self.number = Int64(number)
        self.state = state
        store = try await Ledger.store(urls) { state.content.withLock { $0.resetCount += 1 } }
        let queries = [store.records(ofClass: "Counter"), store.records(ofClass: "Entry")]
        observations = try queries.map { try $0.observe { _ in } }
        _ = try await store.records("Counter").synced(timeout: waitMax)
    }

    /// How many transactions the server has acknowledged.
    var acknowledged: Int64 { state.content.withLock { $0.acknowledged } }
    /// How many were written here.
    var written: Int64 { state.content.withLock { $0.written } }
    /// How often a server has sent the store back to the start.
    var resetCount: Int { state.content.withLock { $0.resetCount } }
    /// The names of the entries that it has written.
    var names: Set<String> { Set((0..<written).map { "\(number)/\($0)" }) }

    /// Lets ``run()`` go on until ``finish()``.
    func begin() { state.content.withLock { $0.isDone = false } }

    /// Writes bursts until ``finish()``, and waits for each to be acknowledged.
    func run() async throws {
        var generator = SeededGenerator(seed: UInt64(number))
        while !state.content.withLock({ $0.isDone }) {
            for _ in 0..<Int.random(in: 1...6, using: &generator) { try await writeLocally() }
            try await acknowledge()
        }
    }

    /// Ends ``run()`` after the burst that is under way.
    func finish() { state.content.withLock { $0.isDone = true } }

    /// Adds an entry, and counts it. It is only there for all once it is acknowledged.
    func writeLocally() async throws {
        let next = written
        let entry = try Record(Ledger.entry.get(), ["name": .string("\(number)/\(next)"), "writer": .int(number)])
        try await store.write { transaction in
            try transaction.insert(entry)
            try transaction.update(Identity(className: "Counter", key: .string("all")), add: ["value": .int(1)])
        }
        state.content.withLock { $0.written = next + 1 }
    }

    func writeOne() async throws {
        try await writeLocally()
        try await acknowledge()
    }

    /// Waits until everything that it has written is acknowledged.
    func acknowledge() async throws {
        let upTo = written
        try await store.uploaded(timeout: waitMax)
        state.content.withLock { $0.acknowledged = max($0.acknowledged, upTo) }
    }

    /// Waits until what the store observes has the transactions of all writers, by the names of their entries.
    func shows(_ names: Set<String>) async throws {
        try await wait(for: "writer \(number) to see \(names.count) transactions") {
            try store.records(ofClass: "Counter").first()?["value"] == .int(Int64(names.count))
                && Set(store.records(ofClass: "Entry").fetch().compactMap { $0["name"]?.text }) == names
        }
    }
}

extension Sequence {
    func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

extension [LedgerWriter] {
    /// What all have written.
    var names: Set<String> { reduce(into: []) { $0.formUnion($1.names) } }

    /// Waits until each has got on by some acknowledged transactions.
    func getOn(by count: Int64 = 3) async throws {
        let before = map(\.acknowledged)
        try await wait(for: "all writers to get on from \(before)") {
            zip(self, before).allSatisfy { $0.acknowledged >= $1 + count }
        }
    }

    /// Runs `body` while all write.
    func whileWriting(_ body: () async throws -> Void) async throws {
        for writer in self { writer.begin() }
        let runs = map { writer in Task { try await writer.run() } }
        let result: Result<Void, any Error>
        do {
            try await body()
            result = .success(())
        } catch { result = .failure(error) }
        for writer in self { writer.finish() }
        if case .failure = result { for run in runs { run.cancel() } }
        for run in runs { try await run.value }
        try result.get()
    }
}

#endif
