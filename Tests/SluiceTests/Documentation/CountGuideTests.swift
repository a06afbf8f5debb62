#if SLUICE_MACROS
    import Sluice
    import SluiceObservation
    import SluiceTesting
    import Testing

    @Model("CountedDeparture") struct Departure {
        @PrimaryKey var number: Int
        var carrier = ""
        var delay: Int?
    }

    /// What docs/counts.md shows, run.
    @MainActor @Suite(.timeLimit(.minutes(10))) struct CountGuideTests {
        private let server: TestServer
        private let store: Store

        /// Nine airlines have eleven flights each, of which every tenth never left.
        init() async throws {
            server = try TestServer()
            store = try await server.open([Departure.self])
            let writer = try await server.open([Departure.self])
            try await writer.write { transaction in
                for number in 1...99 {
                    try transaction.insert(
                        Departure(number: number, carrier: "A\(number % 9)", delay: number % 10 == 0 ? nil : number))
                }
            }
            try await writer.uploaded()
        }

        /// Waits until something is so.
        private func wait(until isMet: () -> Bool) async throws {
            while !isMet() {
                try Task.checkCancellation()
                try await server.settled()
            }
        }

        @Test func aWindowSaysHowManyThereAre() async throws {
            var title = ""
            let window = store.objects(Departure.self).where { $0.delay > 60 }.sorted(by: \.delay, ascending: false)
                .limit(20)
            let token = try window.withTotal().observe(isolation: MainActor.shared) { change in
                title = "\(change.results.count) of \(change.total.map(String.init) ?? "?")"
            }
            try await wait { title == "20 of 36" }
            token.stop()
        }

        @Test func oneValueIsComputedAndFollowed() async throws {
            let late = store.objects(Departure.self).where { $0.delay > 60 }
            let stats = late.aggregate { ($0.count, $0.average(\.delay), $0.max(\.delay)) }
            let (count, average, longest) = try await stats.synced()
            #expect(count == 36 && average == 80 && longest == 99)
            for try await change in stats.changes where change.state == .complete {
                print("\(change.value.0) late flights, \(change.value.1 ?? 0) minutes on average")
                break
            }
            // Nobody follows what nobody observes.
            #expect(try !stats.snapshot().isExact)
            let token = try stats.observe { _ in }
            try await server.settled()
            let longestDelayed = try EventRecorder(store.results(Departure.self, key: 99))
            try await longestDelayed.complete()
            server.cut(store)
            try await store.write { try $0.upsert(Departure(number: 100, delay: 80)) }
            // It has a primary key, so that the server may have it.
            #expect(try !stats.snapshot().isExact && stats.fetch().0 == 37)
            try await store.write { try $0.delete(Departure.self, key: 99) }
            let snapshot = try stats.snapshot()
            print(snapshot.isExact ? "\(snapshot.value.0)" : "about \(snapshot.value.0)")
            #expect(!snapshot.isExact && snapshot.value.0 == 36)
            server.restore(store)
            try await server.settled()
            let after = try stats.snapshot()
            #expect(after.isExact && after.value.0 == 36 && after.value.2 == 98)
            token.stop()
        }

        @Test func groupsHaveAValueEach() async throws {
            let busiest = store.objects(Departure.self).grouped(by: \.carrier) { ($0.count, $0.average(\.delay)) }
                .sorted(by: { $0.0 }, ascending: false).limit(5)
            for group in try await busiest.synced() {
                print(group.key, group.values.0, group.values.1 ?? 0)
            }
            #expect(try busiest.fetch().map(\.key) == ["A0", "A1", "A2", "A3", "A4"])
            #expect(try busiest.fetch().map(\.values.0) == [11, 11, 11, 11, 11])
            let board = try LiveAggregate(busiest)
            print(board.value?.first?.key ?? "nobody yet")
            try await wait { board.value?.first?.key == "A0" }
            try await store.write { try $0.upsert(Departure(number: 1_000, carrier: "B6")) }
            try await store.write { try $0.delete(Departure.self, key: 9) }
            try await wait { board.value?.first?.key == "A1" && board.isExact }
            board.stop()
        }

        @Test func thePageShowsWhatRunsHere() throws {
            try TestingPageTests.checkPage("counts.md", isShownBy: #filePath)
        }
    }
#endif
