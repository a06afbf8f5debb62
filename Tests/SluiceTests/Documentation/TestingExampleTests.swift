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
            #expect(change.results.map(\.title) == ["milk"])
            #expect(change.remote?.operations == [.create])
        }

        @Test func aSubscriptionIsFollowedThroughItsLife() async throws {
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()

            // The server's rows are held: the store shows what is on this disk, and the state says so.
            server.hold(tablet.store, before: .page)
            let shown = try EventRecorder(tablet.open)
            try await server.settled()
            #expect(shown.events.map(\.state) == [.pending])

            // The rows arrive, but not the word that they are all.
            try await server.step(tablet.store)
            #expect(shown.events.last?.state == .bootstrapping)

            // That arrives, and nothing is held any more.
            server.release(tablet.store)
            let complete = try await shown.complete()
            #expect(complete.results.map(\.title) == ["milk"])

            // Another store changes the object, so that it no longer matches.
            try await phone.finish("1")
            try await server.settled()
            #expect(shown.events.last?.removals.first?.reason == .filter)

            // This store writes, and the server acknowledges it: one event, which is local.
            try await tablet.add("bread", id: "2")
            try await server.settled()
            #expect(
                shown.transcript == """
                    initial; pending; cached; 0 objects
                    remote (create); bootstrapping 100 %; cached; 1 object: +0 ChecklistItem "1" v1
                    status; complete; confirmed; 1 object
                    remote (set); complete; confirmed; 0 objects: -0 ChecklistItem "1" filter
                    local; complete; confirmed; 1 object: +0 ChecklistItem "2" pending
                    """)

            // The server ends the subscription, and the store purges what no other subscription holds.
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
            try await server.clock.timers(2)
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

        @Test func whatDoesNotMatchIsNoEvent() async throws {
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            try await server.settled()
            let count = shown.events.count
            try await phone.store.write { try $0.insert(ChecklistItem(id: "1", title: "milk", isDone: true)) }
            try await server.settled()
            #expect(shown.events.count == count)
        }

        @Test func aQueryThatIsRefusedSaysSo() async throws {
            try server.reject(tablet.open, of: tablet.store, because: .limitExceeded, "too many of them")
            let error = await #expect(throws: SyncError.self) { try await tablet.open.synced() }
            #expect(error?.code == .limitExceeded)
            server.acceptQueries(of: tablet.store)
            #expect(try await tablet.open.synced().isEmpty)
        }

        @Test func aWriteThatIsRefusedGoesBack() async throws {
            server.rejectWrites(to: ChecklistItem.self, because: "the list is closed")
            server.cut(phone.store)
            try await phone.add("milk", id: "1")
            #expect(try phone.open.count() == 1)
            server.restore(phone.store)
            try await phone.store.uploaded()
            #expect(try phone.open.count() == 0)
            server.acceptWrites(to: ChecklistItem.self)
            try await phone.add("bread", id: "2")
            try await phone.store.uploaded()
            #expect(try phone.open.count() == 1)
        }

        @Test func aLoginThatIsOverAsksForCredentials() async throws {
            try await phone.store.connected()
            server.expireLogin(of: phone.store)
            try await server.settled()
            #expect(phone.store.session?.state == .needsCredentials)
            try await phone.store.authenticate(.anonymous)
            try await phone.store.connected()
        }

        @Test func everythingArrivesThroughABadNetwork() async throws {
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            server.setConditions(NetworkConditions(latency: .milliseconds(80)), of: tablet.store)
            try await phone.add("milk", id: "1")
            try await server.advance(by: .milliseconds(79))
            #expect(shown.events.last?.results.count == 0)
            try await server.advance(by: .milliseconds(1))
            #expect(shown.events.last?.results.count == 1)

            server.setConditions(
                NetworkConditions(
                    latency: .milliseconds(80), jitter: .milliseconds(200),
                    connectionLifetime: .seconds(5) ... .seconds(60),
                    seed: 7))
            for number in 2...10 {
                try await phone.add("bread", id: "\(number)")
                try await server.advance(by: .seconds(20))
            }
            try await server.advance(by: .seconds(600))
            #expect(shown.events.last?.results.count == 10)
        }

        @Test func waitingForARejectedQueryThrows() async throws {
            try server.reject(tablet.open, of: tablet.store, because: .limitExceeded, "too many of them")
            let shown = try EventRecorder(tablet.open)
            let error = await #expect(throws: SyncError.self) { try await shown.complete() }
            #expect(error?.code == .limitExceeded)
        }

        @Test func aTabletThatComesBackIsSentWhatItMissed() async throws {
            for number in 1...50 { try await phone.add("milk", id: "\(number)") }
            try await phone.store.uploaded()
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            let before = server.messages(to: tablet.store)
            server.cut(tablet.store)
            server.restore(tablet.store)
            try await server.settled()
            let resumed = server.messages(to: tablet.store) - before
            #expect(resumed.count(of: .complete) == 1)
            #expect(resumed.count(of: .page) == 0)

            let quiet = server.messages(to: tablet.store)
            try await phone.finish("1")
            try await server.settled()
            let change = server.messages(to: tablet.store) - quiet
            #expect("\(change)" == "1 commit")
            #expect(change.frameByteCount < 200)
        }

        @Test func everybodyReadsTheirOwnItems() async throws {
            let rules = #"{"classes": {"ChecklistItem": {"read": "title == $user.id", "create": true}}}"#
            let server = try TestServer(rules: rules)
            let ada = Checklist(store: try await server.open([ChecklistItem.self], user: "ada"))
            let eve = Checklist(store: try await server.open([ChecklistItem.self], user: "eve"))
            try await ada.add("ada", id: "1")
            try await ada.add("eve", id: "2")
            try await ada.store.uploaded()
            #expect(try await eve.open.synced().map(\.id) == ["2"])
        }

        @Test func aClockThatStandsStillEndsNoWait() async throws {
            let server = try TestServer(patience: .milliseconds(50))
            let store = try await server.open([ChecklistItem.self])
            server.cut(store)
            let error = await #expect(throws: SyncError.self) { try await store.connected(timeout: .seconds(30)) }
            #expect(error?.code == .timedOut)
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
            try Self.checkPage("testing.md", isShownBy: #filePath)
        }

        /// Checks that every block of code on a page is part of a file.
        static func checkPage(_ name: String, isShownBy file: String) throws {
            func lines(_ text: some StringProtocol) -> [Substring] {
                text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }.map { Substring($0) }
            }
            let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            let page = try String(contentsOfFile: "/\(root)/docs/\(name)", encoding: .utf8)
            let source = lines(try String(contentsOfFile: file, encoding: .utf8))
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
