import Sluice
import SluiceModel
import Synchronization
import TestSupport

/// Records what one client has written and knows to be on the server. Every transaction adds an entry with its number
/// and counts it.
final class EntryWriter: Sendable {
    let store: Store
    let number: Int64
    private let token: NotificationToken
    private let state = Mutex<(written: Int64, acknowledged: Int64)>((0, 0))

    init(_ store: Store, number: Int64) throws {
        self.store = store
        self.number = number
        token = try store.records(ofClass: "Counter").observe { _ in }
    }

    /// Two writers on a server that has nothing yet.
    static func two(_ url: String) async throws -> [EntryWriter] {
        var writers: [EntryWriter] = []
        for number in 0..<2 as Range<Int64> {
            let store = try await Fixture.store(url)
            if number == 0 { try await makeCounter(store) }
            _ = try await store.found("Counter")
            writers.append(try EntryWriter(store, number: number))
        }
        return writers
    }

    static func makeCounter(_ store: Store) async throws {
        let counter = try Record(Fixture.counter.get(), ["name": .string("all")])
        try await store.write { try $0.upsert(counter) }
        try await store.uploaded(timeout: waitMax)
    }

    var written: Int64 { state.withLock { $0.written } }
    var acknowledged: Int64 { state.withLock { $0.acknowledged } }

    /// The first entries that it has written.
    func entries(_ count: Int64) -> Set<[Value]> { Set((0..<count).map { [.int(number), .int($0)] }) }

    /// Writes bursts and waits for each to be acknowledged, until cancelled.
    func write(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        while !Task.isCancelled {
            for _ in 0..<Int.random(in: 1...12, using: &generator) { try await writeOne() }
            do { try await acknowledge() } catch is CancellationError { return }
        }
    }

    private func writeOne() async throws {
        let next = written
        let entry = try Record(Fixture.entry.get(), ["writer": .int(number), "number": .int(next)])
        try await store.write { transaction in
            try transaction.insert(entry)
            try transaction.update(Identity(className: "Counter", key: .string("all")), add: ["value": .int(1)])
        }
        state.withLock { $0.written = next + 1 }
    }

    func acknowledge() async throws {
        let upTo = written
        try await store.uploaded(timeout: waitMax)
        state.withLock { $0.acknowledged = max($0.acknowledged, upTo) }
    }
}
