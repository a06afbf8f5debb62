#if PostgreSQL

import Sluice
import SluiceModel
import Synchronization
import TestSupport

/// A client that counts how often its session opens, and has patience.
final class CountingClient: Sendable {
    let store: Store
    private let counts: Counts

    private final class Counts: Sendable {
        let opened = Mutex(0)
        let reset = Mutex(0)
        let written = Mutex(0)
    }

    init(_ urls: [String]) async throws {
        let counts = Counts()
        self.counts = counts
        let log = LogSink(level: .info) { line in
            if line.message == "session opened" { counts.opened.withLock { $0 += 1 } }
        }
        store = try await Ledger.store(urls, log: log) { counts.reset.withLock { $0 += 1 } }
    }

    var openingCount: Int { counts.opened.withLock { $0 } }
    var resetCount: Int { counts.reset.withLock { $0 } }

    func write() async throws {
        let number = counts.written.withLock {
            $0 += 1; return $0
        }
        let name = "\(ObjectIdentifier(self))/\(number)"
        let entry = try Record(Ledger.entry.get(), ["name": .string(name), "writer": .int(0)])
        try await store.write { try $0.insert(entry) }
        try await store.uploaded(timeout: waitMax)
    }
}

#endif
