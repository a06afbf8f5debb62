import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    @Model struct Board {
        @PrimaryKey var id: String
        var tags: Set<String> = []
        var votes: [String: Int] = [:]
        var lines: [String] = []
    }

    /// Two people edit the collections of one object apart from each other.
    @Suite(.timeLimit(.minutes(10))) struct CollectionMergeTests {
        private let server: TestServer
        private let alice: Store
        private let bob: Store

        init() async throws {
            server = try TestServer()
            alice = try await server.open([Board.self])
            bob = try await server.open([Board.self])
        }

        /// What both see after each has changed a board while the other was cut off.
        private func outcome(
            of board: Board, _ alices: @escaping @Sendable (inout Board) -> Void,
            _ bobs: @escaping @Sendable (inout Board) -> Void
        ) async throws -> Board {
            try await alice.upload([board])
            let mine = try EventRecorder(alice.objects(Board.self))
            let theirs = try EventRecorder(bob.objects(Board.self))
            try await mine.complete()
            try await theirs.complete()
            server.cut(bob)
            try await alice.write { try $0.update(board, alices) }
            try await bob.write { try $0.update(board, bobs) }
            try await alice.uploaded()
            server.restore(bob)
            try await bob.uploaded()
            let here = try #require(try await bob.objects(Board.self).synced().first)
            // Bob's writes reach Alice by themselves.
            try await mine.event { change in
                guard let there = change.results.first else { return false }
                return there.tags == here.tags && there.votes == here.votes
            }
            return here
        }

        @Test func whatBothInsertIntoASetStaysAndWhatOneErasesGoes() async throws {
            let board = Board(id: "a", tags: ["old", "kept"])
            let merged = try await outcome(of: board) { board in
                board.tags.insert("alice")
                board.tags.remove("old")
            } _: { board in
                board.tags.insert("bob")
            }
            #expect(merged.tags == ["kept", "alice", "bob"])
        }

        @Test func entriesOfAMapMergeByTheirKeys() async throws {
            let board = Board(id: "a", votes: ["x": 1, "y": 1])
            let merged = try await outcome(of: board) { board in
                board.votes["alice"] = 2
                board.votes["x"] = nil
            } _: { board in
                board.votes["bob"] = 3
                board.votes["y"] = 4
            }
            #expect(merged.votes == ["alice": 2, "bob": 3, "y": 4])
        }

        @Test func emptyingASetTakesWhatAnotherInsertedMeanwhile() async throws {
            let board = Board(id: "a", tags: ["old", "older"])
            let merged = try await outcome(of: board) { board in
                board.tags = []
            } _: { board in
                board.tags.insert("bob")
            }
            #expect(merged.tags == [])
        }

        @Test func takingOutTheOnlyElementKeepsWhatAnotherInsertedMeanwhile() async throws {
            let board = Board(id: "a", tags: ["old"], votes: ["old": 1], lines: ["old"])
            let merged = try await outcome(of: board) { board in
                board.tags.remove("old")
                board.votes["old"] = nil
                board.lines.removeFirst()
            } _: { board in
                board.tags.insert("bob")
                board.votes["bob"] = 2
                board.lines.append("bob")
            }
            #expect(merged.tags == ["bob"])
            #expect(merged.votes == ["bob": 2])
            #expect(merged.lines == ["bob"])
        }

        @Test func theElementsOfAnExcludedCollectionAreNotReplaced() async throws {
            try await alice.upload([Board(id: "a", tags: ["x"], votes: ["x": 1], lines: ["x"])])
            let board = try #require(
                try await bob.objects(Board.self).excluding(\.tags, \.votes, \.lines).synced().first)
            let edits: [@Sendable (borrowing WriteTransaction) throws -> Void] = [
                { try $0.update(board) { $0.tags.insert("bob") } },
                { try $0.update(board) { $0.votes["bob"] = 2 } },
                { try $0.update(board) { $0.lines.append("bob") } },
                { try $0.append(board, \.lines, "bob") },
                { try $0.insert(board, \.lines, "bob", at: 0) },
            ]
            for edit in edits {
                let error = await #expect(throws: RecordError.self) { try await bob.write { try edit($0) } }
                #expect(error?.code == .excluded)
            }
            try await bob.write { try $0.update(board.identity, set: ["lines": .list([.string("bob")])]) }
            try await bob.uploaded()
            let merged = try #require(try await alice.objects(Board.self).synced().first)
            #expect(merged.tags == ["x"] && merged.votes == ["x": 1] && merged.lines == ["bob"])
        }

        @Test func remoteOperationsNameTheKindsOfEdits() async throws {
            try await alice.upload([Board(id: "a", tags: ["old"])])
            let theirs = try EventRecorder(bob.objects(Board.self))
            try await theirs.complete()
            try await alice.write { tx in
                try tx.update(Board(id: "a")) { board in
                    board.tags = ["new"]
                    board.votes["x"] = 1
                }
            }
            let event = try await theirs.event { $0.remote?.operations.contains(.setInsert) == true }
            #expect(event.remote?.operations == [.setInsert, .setErase, .mapSet])
        }
    }
#endif
