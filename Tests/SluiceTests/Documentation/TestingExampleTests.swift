#if SLUICE_MACROS
    import Foundation
    import Sluice
    import SluiceServer
    import SluiceTesting
    import Testing

    @Model struct ChecklistItem {
        @PrimaryKey var id: String
        var title = ""
        var isDone = false
    }

    /// The code under test: it takes its store from outside.
    struct Checklist {
        let store: Store

        var open: Results<ChecklistItem> {
            store.objects(ChecklistItem.self).where { !$0.isDone }.sorted(by: \.title)
        }

        func add(_ title: String, id: String) async throws {
            try await store.write { try $0.insert(ChecklistItem(id: id, title: title)) }
        }

        func rename(_ id: String, to title: String) async throws {
            try await store.write { transaction in
                guard let item = try transaction.object(ChecklistItem.self, key: id) else { return }
                try transaction.update(item) { $0.title = title }
            }
        }

        func finish(_ id: String) async throws {
            try await store.write { transaction in
                guard let item = try transaction.object(ChecklistItem.self, key: id) else { return }
                try transaction.update(item) { $0.isDone = true }
            }
        }
    }

    @Suite struct ChecklistTests {
        let server: TestServer
        let phone: Checklist
        let tablet: Checklist

        init() async throws {
            server = try TestServer()
            phone = Checklist(store: try await server.open([ChecklistItem.self]))
            tablet = Checklist(store: try await server.open([ChecklistItem.self]))
        }

        @Test func whatThePhoneAddsShowsOnTheTablet() async throws {
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            try await phone.add("milk", id: "1")
            let change = try await shown.event { !$0.insertions.isEmpty }
            #expect(try change.results.elements().map(\.title) == ["milk"])
            #expect(change.remote?.operations == [.create])
        }

        @Test func aSubscriptionIsFollowedThroughItsLife() async throws {
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()

            // Without a connection: what is on this disk, and the state that says so.
            server.cut(tablet.store)
            let shown = try EventRecorder(tablet.open)
            let first = try await shown.event { $0.isInitial }
            #expect(first.state == .pending && first.results.isEmpty)

            // With one: the server sends the results, and then names them complete.
            server.restore(tablet.store)
            let complete = try await shown.complete()
            #expect(try complete.results.elements().map(\.title) == ["milk"])

            // Another store changes the object, so that it no longer matches.
            try await phone.finish("1")
            let change = try await shown.event { !$0.removals.isEmpty }
            #expect(change.removals.first?.reason == .filter)

            // The server ends the subscription, and the store purges what no other subscription holds.
            try await phone.add("bread", id: "2")
            try await shown.event { $0.results.count == 1 }
            shown.token.stop()
            #expect(try tablet.open.count() == 0)
            #expect(try await phone.open.synced().count == 1)
        }

        @Test func whatIsAddedOfflineArrivesLater() async throws {
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            server.cut(phone.store)
            try await phone.add("milk", id: "1")
            #expect(try phone.open.count() == 1)
            #expect(try tablet.open.count() == 0)
            server.restore(phone.store)
            try await shown.event { $0.results.count == 1 }
        }

        @Test func aServerThatComesBackHasEverything() async throws {
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()
            await server.stop()
            try await phone.add("bread", id: "2")
            try server.start()
            try await phone.store.uploaded()
            #expect(try await tablet.open.synced().map(\.title) == ["bread", "milk"])
        }

        @Test func waitingForAnUnreachableServerEnds() async throws {
            server.cut(phone.store)
            let waiting = Task { try await phone.open.synced(timeout: .seconds(30)) }
            // The waiting and the next attempt to connect each set a timer.
            while server.clock.timerCount < 2 {
                try Task.checkCancellation()
                await Task.yield()
            }
            server.clock.advance(by: .seconds(31))
            let error = await #expect(throws: SyncError.self) { try await waiting.value }
            #expect(error?.code == .timedOut)
        }

        @Test func theLaterOfTwoNamesWins() async throws {
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            server.cut(phone.store)
            try await phone.rename("1", to: "oat milk")
            server.clock.advance(by: .seconds(10))
            try await tablet.rename("1", to: "soy milk")
            try await tablet.store.uploaded()
            server.restore(phone.store)
            try await phone.store.uploaded()
            #expect(try await phone.open.synced().map(\.title) == ["soy milk"])
        }

        @Test func aServerAndAStoreMeetInMemory() async throws {
            let network = LoopbackNetwork()
            var configuration = ServerConfiguration(host: "server", isDevelopment: true)
            configuration.loopback = network
            let server = try SyncServer(configuration)
            try server.start()

            var sync = SyncConfiguration(url: "ws://server/checklist")
            sync.loopback = network
            let store = try await Store.open(StoreConfiguration(models: [ChecklistItem.self], sync: sync))
            try await store.connected(timeout: .seconds(30))
            await server.stop()
        }
    }

    /// The page on testing shows this file.
    @Suite struct TestingPageTests {
        @Test func theCodeOnThePageIsCompiledHere() throws {
            func lines(_ text: some StringProtocol) -> [Substring] {
                text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }.map { Substring($0) }
            }
            let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            let page = try String(contentsOfFile: "/\(root)/docs/testing.md", encoding: .utf8)
            let source = lines(try String(contentsOfFile: #filePath, encoding: .utf8))
            let blocks = page.components(separatedBy: "```swift\n").dropFirst().map { block in
                lines(block.components(separatedBy: "```")[0])
            }
            #expect(blocks.count >= 4)
            for block in blocks {
                #expect(source.contains(block), "not in this file: \(block.first ?? "")")
            }
        }
    }
#endif
