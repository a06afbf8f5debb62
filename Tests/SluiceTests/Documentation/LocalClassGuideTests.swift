#if SLUICE_MACROS
    import Foundation
    import Sluice
    import SluiceTesting
    import Testing

    @Model(.local) struct Draft {
        @PrimaryKey var id: String
        var text = ""
        var bookISBN: String?
        var folder: Link<Folder>?
    }

    @Model("DraftFolder", .local) struct Folder {
        var name = ""
    }

    @Model("SyncedDraft") struct SyncedDraft {
        @PrimaryKey var id: String
        var text = ""
    }

    /// What docs/local-classes.md shows, run.
    @Suite(.timeLimit(.minutes(10))) struct LocalClassGuideTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open([Draft.self, Folder.self, Book.self, Author.self, Shelf.self])
        }

        @Test func aLocalClassIsWrittenAndObserved() async throws {
            let drafts = try EventRecorder(store.objects(Draft.self))
            try await store.write { try $0.insert(Draft(id: "1", text: "It was a dark night")) }
            let change = try await drafts.event { !$0.insertions.isEmpty }
            #expect(change.origin == .local && change.state == .complete)
            #expect(try store.pendingObjectIDs().isEmpty)

            try await store.write { transaction in
                try transaction.insert(Draft(id: "2", text: "notes", bookISBN: "978-1"))
                try transaction.insert(Book(isbn: "978-1", title: "Night"))
            }
            #expect(try store.pendingObjectIDs() == [Book(isbn: "978-1").objectID])
            try await store.uploaded()
        }

        @Test func objectsMoveToAClassThatSyncs() async throws {
            try await store.write { try $0.insert(Draft(id: "1", text: "x")) }
            try await store.declare([try SyncedDraft.modelDefinition.classSchema])
            try await store.write { transaction in
                for draft in try transaction.objects(Draft.self).fetch() {
                    try transaction.insert(SyncedDraft(id: draft.id, text: draft.text))
                    try transaction.delete(Draft.self, key: draft.id)
                }
            }
            try await store.uploaded()
            let other = try await server.open([SyncedDraft.self])
            #expect(try await other.objects(SyncedDraft.self).synced().map(\.text) == ["x"])
            #expect(try store.objects(Draft.self).count() == 0)
        }
    }
#endif
