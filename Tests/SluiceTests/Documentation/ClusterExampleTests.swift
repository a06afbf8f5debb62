#if SLUICE_MACROS
    import Foundation
    import Sluice
    import SluiceTesting
    import Testing

    @Suite struct ClusterExampleTests {
        let cluster: TestCluster
        let phone: Checklist
        let tablet: Checklist

        init() async throws {
            cluster = try TestCluster(nodes: 3)
            phone = Checklist(store: try await cluster.open([ChecklistItem.self]))
            tablet = Checklist(store: try await cluster.open([ChecklistItem.self], on: 2))
        }

        @Test func aNodeIsKilledAndNobodyNotices() async throws {
            let shown = try EventRecorder(tablet.open)
            try await shown.complete()
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()
            await cluster.kill(1)
            try await phone.add("bread", id: "2")
            try await phone.store.uploaded()
            let change = try await shown.event { $0.results.count == 2 }
            #expect(change.results.map(\.title) == ["bread", "milk"])
            try await cluster.settled()
            #expect(shown.events.flatMap(\.insertions).count == 2)
            try await cluster.restart(1)
        }

        @Test func aNodeIsCutOff() async throws {
            cluster.route(phone.store, to: 1)
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()
            cluster.cut(1)
            try await phone.add("bread", id: "2")
            try await cluster.settled()
            #expect(try await tablet.open.synced().map(\.title) == ["milk"])
            #expect(try phone.open.count() == 2)
            cluster.mend(1)
            try await cluster.advance(by: .seconds(10))
            try await phone.store.uploaded()
            #expect(try await tablet.open.synced().map(\.title) == ["bread", "milk"])
        }

        @Test func anAnswerIsLost() async throws {
            cluster.route(phone.store, to: 1)
            try await phone.store.connected()
            cluster.cut(1, takingNext: true)
            try await phone.add("milk", id: "1")
            try await cluster.settled()
            cluster.mend(1)
            try await cluster.advance(by: .seconds(10))
            try await phone.store.uploaded()
            #expect(try await tablet.open.synced().map(\.title) == ["milk"])
        }

        @Test func aStoreMoves() async throws {
            for node in [2, 3, 1] {
                try await phone.add("milk", id: "\(node)")
                cluster.route(phone.store, to: node)
            }
            try await cluster.advance(by: .seconds(30))
            try await phone.store.uploaded()
            #expect(try await tablet.open.synced().count == 3)
        }

        @Test func aPhoneLosesItsNetwork() async throws {
            try await phone.store.connected()
            cluster.route(phone.store, to: 2, leavingHalfOpen: true)
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()
            try await cluster.settled()
            #expect(cluster[1].connectionCount == 1)
            #expect(try await tablet.open.synced().map(\.title) == ["milk"])
        }

        @Test func somebodyIsTyping() async throws {
            let (said, heard) = AsyncStream<String>.makeStream()
            let token = tablet.store.session?.observeMessages(to: "list") { heard.yield($0.text) }
            try await cluster.settled()
            let count = try await phone.store.session?.send("is typing", to: "list")
            // Nobody listens at the phone's own node.
            #expect(count == 0)
            #expect(await said.first { _ in true } == "is typing")
            token?.stop()
        }

        @Test func theLastGroupIsLost() async throws {
            _ = try await tablet.open.synced()
            try await phone.add("milk", id: "1")
            try await phone.store.uploaded()
            try await phone.add("bread", id: "2")
            try await phone.store.uploaded()
            try await cluster.settled()
            try cluster.fork(losing: 1)
            try await cluster.advance(by: .seconds(60))
            #expect(try await tablet.open.synced().map(\.title) == ["milk"])
        }
    }

    /// The page on testing clusters shows this file.
    @Suite struct TestingClustersPageTests {
        @Test func theCodeOnThePageIsCompiledHere() throws {
            try TestingPageTests.checkPage("testing-clusters.md", isShownBy: #filePath)
        }
    }
#endif
