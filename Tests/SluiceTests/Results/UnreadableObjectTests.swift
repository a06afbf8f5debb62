import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    @Model("Task") struct Chore {
        @PrimaryKey var id: String
        var state: ChoreState
        var next: ChoreState?
        var history: [ChoreState] = []
        var byDay: [String: ChoreState] = [:]
        var kinds: Set<ChoreState> = []
    }

    enum ChoreState: String, PropertyElement { case open, done }

    /// A raw value that this program's enum does not have makes its own object unreadable, and no other.
    @Suite(.timeLimit(.minutes(10))) struct UnreadableObjectTests {
        let server: TestServer
        let store: Store
        let chores: Results<Chore>

        init() async throws {
            server = try TestServer()
            store = try await server.open([Chore.self])
            chores = store.objects(Chore.self).sorted(by: \.id)
            try await store.write { transaction in
                for id in ["a", "b", "c"] {
                    let chore = Chore(
                        id: id, state: .open, next: .done, history: [.open], byDay: ["mo": .done],
                        kinds: [.open, .done])
                    try transaction.insert(chore)
                }
            }
        }

        private func spoil(_ property: String, _ value: Value) async throws {
            let object = Identity(className: "Task", key: .string("b"))
            try await store.write { try $0.update(object, set: [property: value]) }
        }

        @Test func anEnumIsReadInEveryPlaceWhereAValueCanBe() throws {
            let chore = try #require(try chores.first())
            #expect(chore.next == .done && chore.history == [.open] && chore.byDay == ["mo": .done])
            #expect(chore.kinds == [.open, .done])
            let found = chores.where {
                $0.state == .open && $0.next == .done && $0.state.in([.open]) && $0.history.contains(.open)
                    && $0.byDay["mo"] == .done && $0.kinds.any != .done && $0.next != nil
            }
            #expect(try found.count() == 3)
        }

        @Test(arguments: [
            ("state", Value.string("paused")), ("next", .string("paused")), ("history", .list([.string("paused")])),
            ("byDay", .map(ValueMap([(key: "mo", value: .string("paused"))]))),
            ("kinds", .set(of: [.string("paused")])),
        ]) func anUnknownRawValueNamesObjectPropertyAndValueAndLeavesTheOthersReadable(
            property: String, value: Value
        ) async throws {
            try await spoil(property, value)
            let snapshot = try chores.snapshot()
            #expect(snapshot.map(\.id) == ["a", "c"] && snapshot.count == 2)
            #expect(snapshot[1].id == "c" && snapshot.identity(at: 1).key == .string("c"))
            let error = #expect(throws: ModelError.self) { try chores.fetch() }
            #expect(error?.code == .typeMismatch)
            #expect(error?.object == Identity(className: "Task", key: .string("b")))
            #expect(error?.property == property && error?.value == value)
            // The value is user data, so only the debug description contains it.
            #expect(error?.description.contains("Task.\(property)") == true)
            #expect(error?.description.contains("paused") == false)
            #expect(error.map { String(reflecting: $0).contains("paused") } == true)
            #expect(snapshot.unreadable == [error])
            #expect("\(snapshot)".contains("2 objects\n") && "\(snapshot)".contains("\n1 unreadable\n"))
        }

        @Test func whatCannotBeReadAnyMoreLeavesAndComesBackOnceItCan() async throws {
            let recorder = try EventRecorder(chores)
            try await recorder.complete()
            try await spoil("state", .string("paused"))
            let spoiled = try await recorder.event { $0.deletions == [1] }
            #expect(spoiled.removals.map(\.reason) == [.unreadable] && spoiled.modifications.isEmpty)
            #expect(spoiled.results.map(\.id) == ["a", "c"] && spoiled.results.unreadable.map(\.property) == ["state"])
            try await spoil("state", .string("done"))
            let mended = try await recorder.event { $0.insertions == [1] }
            #expect(mended.results.map(\.state) == [.open, .done, .open] && mended.results.unreadable.isEmpty)
            #expect(mended.modifications.isEmpty)
        }

        @Test func anObjectThatCannotBeReadFromTheStartIsToldOnceItHasAnotherReason() async throws {
            try await spoil("state", .string("paused"))
            let recorder = try EventRecorder(chores)
            let first = try await recorder.complete()
            #expect(first.results.map(\.id) == ["a", "c"] && first.results.unreadable.count == 1)
            try await spoil("state", .string("resting"))
            let second = try await recorder.event { $0.results.unreadable.first?.value == .string("resting") }
            #expect(second.origin == .local && second.results.map(\.id) == ["a", "c"])
            #expect(second.deletions + second.insertions + second.modifications == [] && second.moves.isEmpty)
            let identity = Identity(className: "Task", key: .string("b"))
            try await store.write { try $0.delete(identity) }
            let third = try await recorder.event { $0.results.unreadable.isEmpty }
            #expect(third.removals.isEmpty && third.results.map(\.id) == ["a", "c"])
        }

        @Test func anUnreadableObjectKeepsItsPlaceWithinALimit() async throws {
            try await spoil("state", .string("paused"))
            #expect(try chores.limit(2).snapshot().map(\.id) == ["a"])
            let recorder = try EventRecorder(chores.limit(2))
            let first = try await recorder.complete()
            #expect(first.results.map(\.id) == ["a"] && first.results.unreadable.count == 1)
        }
    }
#endif
