#if SLUICE_MACROS
    import Foundation
    import Sluice
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
            store.objects(ChecklistItem.self).where { $0.isDone == false }.sorted(by: \.title)
        }

        func add(_ title: String, id: String) async throws {
            try await store.write { try $0.insert(ChecklistItem(id: id, title: title)) }
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
