import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import SluiceWire
import Testing

#if SLUICE_MACROS
    /// What errors say: what was wrong, and what would help.
    @Suite(.timeLimit(.minutes(10))) struct ErrorTextTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open([Garage.self])
        }

        private func text(_ body: () async throws -> Void) async -> String {
            do {
                try await body()
                return "no error"
            } catch { return "\(error)" }
        }

        /// A program can compare every code that a server may send.
        @Test func everyCodeOfAServerIsPublic() throws {
            let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            func names(_ file: String, _ pattern: Regex<(Substring, Substring)>) throws -> [String] {
                try String(contentsOfFile: "\(root)/Sources/\(file)", encoding: .utf8).matches(of: pattern)
                    .map { String($0.1) }
            }
            let sent = try names(
                "SluiceWire/Messages/ErrorCode.swift", #/static let \w+ = ErrorCode\(rawValue: "(\w+)"\)/#)
            let known = try names("Sluice/Errors/SyncError.swift", #/public static let (\w+) = Code/#)
            try #require(sent.count > 15 && known.count > 15)
            for code in sent {
                #expect(known.contains(SyncError.Code(ErrorCode(rawValue: code)).description), "\(code)")
            }
        }

        @Test func aClassThatTheStoreLacks() async {
            let message = "the store has no class 'Memo'; open it with the class's model, or declare the class"
            #expect(await text { try await store.write { try $0.insert(Memo(text: "x")) } } == message)
            #expect(
                await text { try await store.write { try $0.delete(Identity(className: "Memo", key: .int(1))) } }
                    == message)
        }

        @Test func anObjectThatIsNotHere() async {
            #expect(
                await text { try await store.write { try $0.update(Garage(code: "g")) { $0.city = "x" } } }
                    == "Garage has no object with this key here to be changed; upsert it, or read it before")
        }

        @Test func aSessionThatIsNotOpen() async throws {
            server.cut(store)
            try await server.settled()
            let cut = await text { _ = try await store.databasePrivileges() }
            #expect(cut == "there is no open session; wait for store.connected(): the test has cut the network")
            try store.session?.pause()
            let paused = "syncing is paused; store.session?.resume() goes on"
            #expect(await text { _ = try await store.databasePrivileges() } == paused)
            try store.session?.stop()
            let stopped = "syncing is stopped; start it with store.session"
            #expect(await text { try await store.connected() } == stopped)
            #expect(await text { _ = try await store.serverStatus() } == stopped)
        }

        /// What a wait says that takes longer than it may, in each state of the session.
        @Test func aWaitThatTakesTooLong() async throws {
            let cars = store.objects(Garage.self)
            func end(of wait: @escaping @Sendable () async throws -> Void) async throws -> String {
                let count = server.clock.timerCount
                let waiting = Task { await text(wait) }
                try await server.clock.timers(count + 1)
                server.clock.advance(by: .seconds(4))
                return await waiting.value
            }
            try await store.connected()
            server.hold(store)
            #expect(
                try await end { _ = try await cars.synced(timeout: .seconds(4)) }
                    == "the server's answer did not come or go on within 4.0 seconds: the store is connected, and the "
                    + "server last sent something 4 s ago")
            try store.session?.pause()
            let paused = "syncing is paused; store.session?.resume() goes on"
            #expect(
                try await end { _ = try await cars.synced(timeout: .seconds(4)) }
                    == "the server's answer did not come or go on within 4.0 seconds: \(paused)")
            #expect(
                try await end { try await store.connected(timeout: .seconds(4)) }
                    == "no session with the server came about within 4.0 seconds: \(paused)")
            #expect(
                try await end { _ = try await store.serverStatus(timeout: .seconds(4)) }
                    == "the server did not answer within 4.0 seconds: \(paused)")
            server.release(store)
            try store.session?.resume()
            let observed = try EventRecorder(cars)
            try await observed.complete()
            try await server.settled()
            // Nothing is wrong where nothing was to come.
            let nothing = try await end { for try await _ in cars.changes(timeout: .seconds(4)) {} }
            #expect(nothing == "no change of the results came within 4.0 seconds")
        }

        @Test func aQuestionThatIsCutShort() async throws {
            try await store.connected()
            for (act, message) in [
                ({ try $0?.pause() }, "syncing was paused; store.session?.resume() goes on"),
                ({ try $0?.stop() }, "syncing was stopped; store.session?.start() begins again"),
            ] as [((StoreSession?) throws -> Void, String)] {
                server.hold(store)
                let waiting = Task { await text { _ = try await store.serverStatus() } }
                try await server.settled()
                try act(store.session)
                #expect(await waiting.value == message)
                server.release(store)
                try store.session?.start()
                try await store.connected()
            }
            server.hold(store)
            let waiting = Task { await text { _ = try await store.objects(Garage.self).synced() } }
            try await server.settled()
            await store.close()
            #expect(await waiting.value == "the store was closed; open it again")
        }

        @Test func aStoreThatIsClosedOrHasNoServer() async throws {
            let alone = try await Store.open(StoreConfiguration(models: [Garage.self]))
            #expect(
                await text { _ = try await alone.objects(Garage.self).synced() }
                    == "this store syncs with nothing; open it with a SyncConfiguration to wait for a server")
            await alone.close()
            #expect(await text { _ = try alone.objects(Garage.self).count() } == "the store was closed; open it again")
        }

        @Test func aWriteWhereOnlyReadingIsAllowed() async throws {
            let reader = try await server.open([Garage.self]) { $0.sync?.access = .readOnly }
            #expect(
                await text { try await reader.write { try $0.insert(Garage(code: "g")) } }
                    == "the store was opened to read only; sync with access .readWrite to write, or write to a class that "
                    + "is local")
        }
    }
#endif
