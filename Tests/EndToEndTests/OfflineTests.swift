import Foundation
import Glibc
import Sluice
import SluiceModel
import Synchronization
import TestSupport
import Testing

/// Writes that were made, and changes that were missed, without a connection.
@Suite(.serialized)
struct OfflineTests {
    @Test func whatWasWrittenOfflineArrivesAfterTheProcessRestartedAndTheServerCameBack() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            let (url, path) = ("ws://127.0.0.1:\(port)/test", folder + "/client.sluice")
            // This process writes and ends before the server has ever run.
            await #expect(processExitsWith: .success) { [url = url as String, path = path as String] in
                let store = try await Fixture.store(url, path: path)
                for number in 0..<50 {
                    let plane = try Record(
                        Fixture.plane.get(), ["tail": .string("N\(number)"), "seats": .int(Int64(number))])
                    try await store.write { try $0.insert(plane) }
                }
                try await store.write { try $0.delete(Identity(className: "Plane", key: .string("N7"))) }
                guard try store.records(ofClass: "Plane").count() == 49 else { exit(2) }
                exit(0)
            }
            try await Fixture.withStore(url, path: path) { store in
                #expect(try store.records(ofClass: "Plane").count() == 49)
                try await withServer(folder: folder + "/data", port: port) { server in
                    try await store.uploaded(timeout: waitMax)
                    try await Fixture.withStore(server.url()) { other in
                        let tails = try await other.found("Plane SORT(seats ASC)").map { try $0.value("tail") }
                        #expect(tails == (0..<50).filter { $0 != 7 }.map { .string("N\($0)") })
                    }
                }
            }
        }
    }

    @Test func whoComesBackIsToldWhatLeftAndWhy() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let (url, path) = (server.url(), folder + "/client.sluice")
                try await Fixture.withStore(url) { store in
                    for (tail, seats) in [("N1", 10), ("N2", 20), ("N3", 30)] as [(String, Int64)] {
                        try await store.addPlane(tail, seats: seats)
                    }
                }
                await #expect(processExitsWith: .signal(SIGKILL)) { [url = url as String, path = path as String] in
                    let store = try await Fixture.store(url, path: path)
                    let results = try store.records("Plane WHERE seats > 5")
                    let token = try results.observe { _ in }
                    guard try await results.synced(timeout: waitMax).count == 3 else { exit(2) }
                    kill(getpid(), SIGKILL)
                    token.stop()
                }
                try await Fixture.withStore(url) { store in
                    _ = try await store.found("Plane")
                    try await store.write { transaction in
                        try transaction.delete(Identity(className: "Plane", key: .string("N1")))
                        try transaction.update(
                            Identity(className: "Plane", key: .string("N2")), set: ["seats": .int(1)])
                    }
                    try await store.addPlane("N4", seats: 40)
                }
                try await Fixture.withStore(url, path: path) { store in
                    let initial = Mutex<[Value]>([])
                    let removals = Mutex<[Value: RemovalReason]>([:])
                    let results = try store.records("Plane WHERE seats > 5 SORT(seats ASC)")
                    let kept = try store.records("Plane WHERE seats > 5")
                    #expect(try results.fetch().map { $0["tail"] } == ["N1", "N2", "N3"].map { .string($0) })
                    let token = try kept.observe { change in
                        if change.isInitial {
                            let tails = change.results.compactMap { $0["tail"] }
                            initial.withLock { $0 = tails }
                        }
                        for removal in change.removals {
                            removals.withLock { $0[removal.identity.key.value] = removal.reason }
                        }
                    }
                    try await wait(for: "what left") { removals.withLock { $0.count } == 2 }
                    #expect(Set(initial.withLock { $0 }).isSuperset(of: [.string("N1"), .string("N2"), .string("N3")]))
                    #expect(removals.withLock { $0 } == [.string("N1"): .deleted, .string("N2"): .filter])
                    #expect(try await store.found("Plane WHERE seats > 5").count == 2)
                    token.stop()
                }
            }
        }
    }

    // MARK: Size

    /// Rows and transactions that together are far larger than a frame may be.
    @Test func muchWrittenOfflineGoesUpInFramesThatTheServerTakesAndComesDownInFramesThatClientsTake() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            let url = "ws://127.0.0.1:\(port)/test"
            var generator = SeededGenerator(seed: 6)
            let filling = generator.text(250_000)
            func entries(_ numbers: Range<Int>) throws -> [Record] {
                try numbers.map { number in
                    try Record(
                        Fixture.entry.get(),
                        ["writer": .int(0), "number": .int(Int64(number)), "payload": .string(filling)])
                }
            }
            try await Fixture.withStore(url) { store in
                // Each is small, and together they are too large for a frame.
                for entry in try entries(0..<80) { try await store.write { try $0.insert(entry) } }
                try await withServer(folder: folder, port: port) { server in
                    try await store.uploaded(timeout: waitMax)
                    let query = "Entry SORT(number ASC)"
                    let numbers = (0..<80).map { Value.int(Int64($0)) }
                    try await Fixture.withStore(server.url()) { other in
                        for query in [query, "Entry", query + " LIMIT(100)"] {
                            let found = try await other.found(query).compactMap { $0["number"] }
                            #expect(query.contains("SORT") ? found == numbers : Set(found) == Set(numbers))
                        }
                        // A client that is already connected receives them as commits.
                        let token = try other.records(query).observe { _ in }
                        _ = try await other.found(query)
                        for entry in try entries(80..<160) { try await store.write { try $0.insert(entry) } }
                        try await store.uploaded(timeout: waitMax)
                        try await wait(for: "160 entries") { try other.records(query).count() == 160 }
                        token.stop()
                    }
                }
            }
        }
    }
}
