import Foundation
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// What names batches, states and claims of jobs, and what becomes of that when a backup is put back.
struct JobNameTests {
    @Test func `a batch has one name whenever it comes, and every other batch another`() async throws {
        let desk = try await JobDesk(isOverStore: false, delays: [60, 61, 62])
        var batches = desk.consumer(JobDesk.quick(2, limit: 2)).batches.makeAsyncIterator()
        let first = try #require(try await batches.next())
        let again = try #require(try await batches.next())
        #expect(first.id == again.id && first.count == 2)
        try await again.commit()
        let second = try #require(try await batches.next())
        try await second.commit()
        #expect(second.id != first.id)
        var names = [first.id, second.id]
        for round in 0..<2 {
            try await desk.nyc.write { try $0.delete(Flight.self, key: "F0") }
            let removal = try #require(try await batches.next())
            #expect(removal.removals.count == 1, "\(round)")
            try await removal.commit()
            try await desk.nyc.putFlight("F0", delay: 60)
            let back = try #require(try await batches.next())
            try await back.commit()
            names += [removal.id, back.id]
        }
        #expect(Set(names).count == names.count)
        #expect(JobBatchName.of(["a", "b"]) != JobBatchName.of(["a"]))
        #expect(JobBatchName.of(["a", "b"]) != JobBatchName.of(["ab"]))
    }

    /// Copies what the server's folder has, while the server is stopped.
    private func copy(of server: TestServer) async throws -> String {
        let copy = NSTemporaryDirectory() + "sluice-copy-" + UUID().uuidString
        await server.stop()
        try FileManager.default.copyItem(atPath: server.folder, toPath: copy)
        try server.start()
        return copy
    }

    /// Puts a copy back, while the server is stopped.
    private func putBack(_ copy: String, on server: TestServer) async throws {
        await server.stop()
        for name in try FileManager.default.contentsOfDirectory(atPath: server.folder) {
            try FileManager.default.removeItem(atPath: server.folder + "/" + name)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: copy) {
            try FileManager.default.moveItem(atPath: copy + "/" + name, toPath: server.folder + "/" + name)
        }
        try FileManager.default.removeItem(atPath: copy)
        try server.start()
    }

    @Test func `a state has the same name after a restart, and another than one that a backup has undone`()
        async throws
    {
        let server = try TestServer()
        let ids = Guarded<[String]>([])
        func next(_ delay: Int?) async throws {
            let nyc = try await server.database(models: models)
            if let delay { try await nyc.putFlight("F1", delay: delay) }
            var batches = nyc.consumer("job", of: nyc.objects(Flight.self)).batches.makeAsyncIterator()
            let batch = try #require(try await batches.next())
            ids.withLock { $0 += batch.upserts.map(\.id) }
            let claims = Guarded<[String]>([])
            _ = try? await nyc.queue("rows", of: nyc.objects(Flight.self)).runOnce { _, claim in
                claims.withLock { $0.append(claim.id) }
                throw JobError.tryAgain("")
            }
            ids.withLock { $0 += claims.withLock { $0 } }
        }
        _ = try await server.database(models: models)
        let backup = try await copy(of: server)
        try await next(60)
        try await server.restart()
        try await server.advance(by: .seconds(30))
        try await next(nil)
        try await putBack(backup, on: server)
        try await next(61)
        let found = ids.withLock { $0 }
        #expect(found.count == 6)
        #expect(found[0] == found[2] && found[1] == found[3], "\(found)")
        #expect(found[0] != found[4] && found[1] != found[5], "\(found)")
    }

    @Test func `a consumer over a store goes on when a backup is put back, and begins anew`() async throws {
        let server = try TestServer()
        var nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 60)
        let store = try await server.open(models)
        // Somebody else had the name when the backup was made.
        try await nyc.consumer("job", of: nyc.objects(Flight.self)).runOnce { try await $0.commit() }
        let given = AsyncStream<[String]>.makeStream()
        var batches = given.stream.makeAsyncIterator()
        let backup = try await copy(of: server)
        nyc = try await server.database(models: models)
        let consumer = store.consumer("job", of: store.objects(Flight.self))
        let running = Task {
            try await consumer.run { batch in
                try await batch.commit()
                given.continuation.yield((batch.isReset ? ["anew"] : []) + batch.upserts.map(\.value.id))
            }
        }
        try await nyc.putFlight("F2", delay: 60)
        var time = JobDesk.letTimePass(on: server)
        while let batch = await batches.next(), !batch.contains("F2") {}
        time.cancel()
        _ = await time.result
        try await putBack(backup, on: server)
        nyc = try await server.database(models: models)
        try await nyc.putFlight("F3", delay: 60)
        var seen: [String] = []
        time = JobDesk.letTimePass(on: server)
        while !seen.contains("F3") || !seen.contains("F1") { seen += try #require(await batches.next()) }
        time.cancel()
        _ = await time.result
        #expect(seen.first == "anew" && seen.contains("F1"), "\(seen)")
        running.cancel()
        try await running.value
    }
}
