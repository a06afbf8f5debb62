#if SLUICE_MACROS
    import Foundation
    import Sluice
    import SluiceTesting
    import Testing

    @Model struct Book {
        @PrimaryKey var isbn: String
        @Indexed var title = ""
        var status: BookStatus = .available
        var price: Decimal?
        var published: Date?
        var languages: Set<String> = ["en"]
        var copies: [String: Int] = [:]
        var authors: Links<Author> = []
        var shelf: Link<Shelf>?
        @Ignored var isSelected = false
    }

    @Model struct Author: Hashable, Codable {
        @PrimaryKey var id: UUID
        var name = ""
        @Inverse(\Book.authors) var books: Backlinks<Book>
    }

    @Model("BookShelf") struct Shelf {
        @Property("shelf_label") var label = ""
        var room: Int?
    }

    enum BookStatus: String, PropertyElement { case available, lent, lost }

    struct Magazine: KeyPathModel {
        var issn = ""
        var title = "untitled"
        var shelf: Link<Shelf>?
        var objectMetadata = ObjectMetadata()

        static let modelDefinition = ModelDefinition(Magazine.self) { model in
            model.primaryKey("issn", \.issn)
            model.property("title", \.title, isIndexed: true)
            model.property("shelf", \.shelf)
        }
    }

    /// What docs/models.md shows, run.
    @Suite(.timeLimit(.minutes(10))) struct ModelGuideTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open([Book.self, Author.self, Shelf.self, Magazine.self])
        }

        private func open(_ path: String) async throws -> Store {
            let store = try await Store.open(
                StoreConfiguration(path: path, models: [Book.self, Author.self, Shelf.self]))
            return store
        }

        @Test func aValueChangesInTransactionsAlone() async throws {
            let ada = Author(id: UUID(), name: "Ada")
            let book = Book(isbn: "978-0", title: "Sluices", authors: [ada])
            try await store.write { transaction in
                try transaction.insert(ada)
                try transaction.insert(book)
            }
            try await store.write { transaction in
                try transaction.update(book) { $0.status = .lent }
            }
            #expect(book.status == .available)
            #expect(try store.object(Book.self, key: "978-0")?.status == .lent)
            #expect(try store.object(Author.self, key: ada.id)?.books.count() == 1)
        }

        @Test func anObjectWithoutAKeyHasItsIDBeforeItIsStored() async throws {
            let shelf = Shelf(label: "A1")
            let id = shelf.objectID
            try await store.write { try $0.insert(shelf) }
            #expect(try store.object(Shelf.self, id: id)?.label == "A1")
            #expect(try store.records("BookShelf WHERE shelf_label == 'A1'").count() == 1)
        }

        @Test func linksLeadToWhatIsHereAndBringWhatIsNot() async throws {
            let ada = Author(id: UUID(), name: "Ada")
            try await store.write { transaction in
                try transaction.insert(ada)
                try transaction.insert(
                    Book(isbn: "978-0", authors: [ada, Link<Author>(key: UUID())], shelf: Link(Shelf(label: "A1"))))
            }
            let book = try #require(try store.object(Book.self, key: "978-0"))
            #expect(book.authors.count == 2)
            #expect(try book.authors.fetchAll() == [ada])
            #expect(book.shelf?.isPresent == false)
            #expect(try book.shelf?.fetch() == nil)
            try await store.write { transaction in
                try transaction.update(book) { $0.authors.removeAll(of: ada) }
            }
            #expect(try store.object(Author.self, key: ada.id)?.books.fetchAll().isEmpty == true)
        }

        @Test func aLinkIsResolvedFromTheServer() async throws {
            let shelf = Shelf(label: "A1")
            let other = try await server.open([Book.self, Author.self, Shelf.self])
            try await other.write { try $0.insert(shelf) }
            try await other.uploaded(timeout: .seconds(30))
            try await store.write { try $0.insert(Book(isbn: "978-0", shelf: Link(shelf))) }
            let book = try #require(try store.object(Book.self, key: "978-0"))
            let label = try await book.shelf?.resolve(timeout: .seconds(10)).label
            #expect(label == "A1")
        }

        @Test func enumsAndCollectionsAreQueried() async throws {
            try await store.write { transaction in
                try transaction.insert(Book(isbn: "978-0", status: .lent, copies: ["main": 2]))
            }
            let lent = store.objects(Book.self).where { $0.status == .lent && $0.languages.contains("en") }
            let plenty = store.objects(Book.self).where { $0.copies["main"] > 1 && $0.authors.count == 0 }
            #expect(try lent.count() == 1 && plenty.count() == 1)
            let books = try store.objects(Book.self).snapshot()
            for error in books.unreadable { print("needs a newer version:", error) }
            #expect(books.count == 1 && books.unreadable.isEmpty)
        }

        @Test func whatAQueryExcludesReadsAsItsDefault() async throws {
            try await store.write { try $0.insert(Book(isbn: "978-0", title: "Sluices")) }
            try await store.uploaded(timeout: .seconds(30))
            let reader = try await server.open([Book.self, Author.self, Shelf.self])
            let titles = try await reader.objects(Book.self).excluding(\.authors, \.price).synced()
            #expect(titles.first?.isPresent(\.price) == false)
            #expect(titles.first?.price == nil && titles.first?.authors.isExcluded == true)
        }

        @Test func errorsAreComparedByTheirCodes() async throws {
            do {
                let books = try await store.records("Book WHERE price < 20").synced(timeout: .seconds(30))
                print(books.count)
            } catch let error as SyncError where error.code == .timedOut {
                print("try again later:", error.message)
            } catch let error as QueryError {
                print("the query is wrong:", error.message, error.position ?? 0)
            }
        }

        @Test func aStoreWithoutSwiftTypesDoesTheSameWithRecords() async throws {
            let book = try ClassSchema(
                "Book", primaryKey: "isbn",
                properties: [
                    Property("isbn", .scalar(.string)),
                    Property("price", .scalar(.decimal, isOptional: true)),
                    Property("authors", .links("Author")),
                ])
            let author = try ClassSchema("Author", properties: [Property("name", .scalar(.string))])
            let store = try await Store.open(StoreConfiguration(schema: Schema([book, author])))
            try await store.write { try $0.insert(Record(book, ["isbn": .string("978-0")])) }
            let found = try store.records("Book WHERE price == NULL").fetch()
            #expect(found.first?["isbn"] == .string("978-0"))
        }

        @Test func aModelWithoutTheMacroIsAClassLikeOthers() async throws {
            try await store.write { try $0.insert(Magazine(issn: "2049-3630")) }
            #expect(try store.objects(Magazine.self).where { $0.title == "untitled" }.count() == 1)
        }
    }
#endif
