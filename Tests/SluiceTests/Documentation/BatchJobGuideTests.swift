import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What docs/batch-jobs.md shows of jobs over more rows than fit into memory, run.
    @Suite(.timeLimit(.minutes(10))) struct BatchJobGuideTests {
        @Test func aJobReadsPageByPageAsTheGuideSays() async throws {
            let server = try TestServer()
            let source = try await server.open([Item.self])
            try await source.upload((0..<1_200).map { Item(name: "item \(10_000 + $0)", stock: 2) })
            let store = try await server.open([Item.self])
            var last = ""
            var stock = 0
            while true {
                let from = last
                let page = try await store.objects(Item.self).where { $0.name > from }.sorted(by: \.name).limit(500)
                    .synced(timeout: .seconds(30))
                for item in page { stock += item.stock }
                guard let end = page.last else { break }
                last = end.name
                try await store.purgeUnsubscribed()
            }
            #expect(stock == 2_400)
            #expect(try store.objects(Item.self).count() == 0)
        }
    }
#endif
