import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    @Model struct Tally: Equatable {
        @PrimaryKey var id: String
        var count: Int = 0
        var limit: Int = 0
        var tags: Set<String> = []
        var steps: [String] = []
    }

    /// Two people delete and create objects with the same key apart from each other, and come back one after the other.
    @Suite(.timeLimit(.minutes(10))) struct RecreationTests {
        private let server: TestServer
        private let ada: Store
        private let ben: Store

        init() async throws {
            server = try TestServer()
            ada = try await server.open([Tally.self])
            ben = try await server.open([Tally.self])
            try await ada.connected()
            try await ben.connected()
        }

        enum Order: CaseIterable {
            case adaFirst, benFirst
        }

        /// What everybody has after Ada has written and then Ben, both without a network.
        private func outcome(
            _ order: Order, _ adas: [@Sendable (borrowing WriteTransaction) throws -> Void],
            _ bens: [@Sendable (borrowing WriteTransaction) throws -> Void]
        ) async throws -> Tally? {
            server.cut(ada, ben)
            for write in adas {
                try await ada.write { try write($0) }
                server.clock.advance(by: .seconds(10))
            }
            for write in bens {
                try await ben.write { try write($0) }
                server.clock.advance(by: .seconds(10))
            }
            for store in order == .adaFirst ? [ada, ben] : [ben, ada] {
                server.restore(store)
                try await store.uploaded()
            }
            try await server.settled()
            let seen = try await ada.objects(Tally.self).synced().first
            #expect(try await ben.objects(Tally.self).synced().first == seen)
            // What the authors show is what somebody has who comes new.
            let reader = try await server.open([Tally.self])
            #expect(try await reader.objects(Tally.self).synced().first == seen)
            return seen
        }

        @Test(arguments: Order.allCases)
        func whoeverMakesSureOfACounterAndCountsHasCounted(order: Order) async throws {
            func count(_ amount: Int) -> @Sendable (borrowing WriteTransaction) throws -> Void {
                { transaction in
                    let tally = try transaction.object(Tally.self, key: "x") ?? Tally(id: "x")
                    if try transaction.object(Tally.self, key: "x") == nil { try transaction.insert(tally) }
                    try transaction.increment(tally, \.count, by: amount)
                }
            }
            let seen = try await outcome(order, [count(5)], [count(3)])
            #expect(seen?.count == 8)
        }

        @Test(arguments: Order.allCases)
        func whatIsDoneToTheListAndSetOfANewObjectCountsBesideWhatOthersDo(order: Order) async throws {
            func make(_ name: String) -> @Sendable (borrowing WriteTransaction) throws -> Void {
                { transaction in
                    try transaction.insert(Tally(id: "x"))
                    try transaction.update(Tally(id: "x")) {
                        $0.steps.append(name)
                        $0.tags.insert(name)
                    }
                }
            }
            let seen = try await outcome(order, [make("a")], [make("b")])
            #expect(seen?.steps == ["a", "b"])
            #expect(seen?.tags == ["a", "b"])
        }

        @Test(arguments: Order.allCases)
        func whatIsCreatedAndDeletedAtOnceTakesNothingFromOthers(order: Order) async throws {
            let seen = try await outcome(
                order,
                [
                    { transaction in
                        try transaction.insert(Tally(id: "x", count: 1))
                        try transaction.delete(Tally(id: "x"))
                    }
                ], [{ try $0.insert(Tally(id: "x", count: 2)) }])
            #expect(seen?.count == 2)
        }

        @Test(arguments: Order.allCases)
        func aReplacementThatIsUpdatedStaysUpdated(order: Order) async throws {
            try await ada.upload([Tally(id: "x", count: 1)])
            _ = try await ben.objects(Tally.self).synced()
            let seen = try await outcome(
                order,
                [
                    { transaction in
                        try transaction.delete(Tally(id: "x"))
                        try transaction.insert(Tally(id: "x", count: 5))
                    }, { try $0.update(Tally(id: "x")) { $0.count = 6 } },
                ], [{ try $0.update(Tally(id: "x")) { $0.count = 3 } }])
            #expect(seen?.count == 6)
        }

        @Test(arguments: Order.allCases)
        func aCreationThatMetWhatIsDeletedLaterIsNew(order: Order) async throws {
            try await ada.upload([Tally(id: "x", count: 1, limit: 7, tags: ["old"])])
            // Ben does not have the object, and so can create it.
            let seen = try await outcome(
                order, [{ try $0.delete(Tally(id: "x")) }],
                [
                    { try $0.insert(Tally(id: "x", count: 2)) },
                    { try $0.update(Tally(id: "x")) { $0.tags.insert("new") } },
                ])
            #expect(seen == Tally(id: "x", count: 2, tags: ["new"]))
        }
    }
#endif
