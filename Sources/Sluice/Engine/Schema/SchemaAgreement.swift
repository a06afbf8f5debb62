internal import SluiceModel
internal import SluiceStorage

/// The schemas of this store and of its server: what each has, and what the store declares.
final class SchemaAgreement {
    private let storage: SQLiteClientStorage
    private var declarations: Declarations {
        didSet { knownReach = nil }
    }
    /// What the last request to open a session declared.
    private(set) var requested = Schema()
    /// What the session has agreed on; nil while none is open.
    private var agreement: Agreement? {
        didSet { knownReach = nil }
    }
    /// ``isReached``, once it was asked for. Every upload asks.
    private var knownReach: Bool?
    /// Whether the open transaction has changed the store's schema.
    private var isChanged = false

    private struct Agreement {
        let server: Schema
        /// Translates between both.
        var map: SchemaMap
        /// Whether classes that waiting uploads need were declared, and the server has not answered.
        var awaitsAnswer = false
    }

    /// - Parameter declared: what to declare to the server whenever a session opens.
    init(_ storage: SQLiteClientStorage, declared: Schema) {
        self.storage = storage
        declarations = Declarations(declared.synced)
    }

    /// The server's schema in the open session; empty while there is none.
    var server: Schema { agreement?.server ?? Schema() }

    /// Translates between both; nil while no session is open.
    var map: SchemaMap? { agreement?.map }

    /// Whether classes that waiting uploads need were declared, and the server has not answered.
    var awaitsAnswer: Bool { agreement?.awaitsAnswer ?? false }

    /// The application's own classes that sync.
    var standing: Schema { declarations.standing }

    /// Whether the server knows every class and property that this store declares.
    var isReached: Bool {
        if let knownReach { return knownReach }
        var merged = server
        let isReached = (try? merged.merge(standing).isEmpty) ?? false
        knownReach = isReached
        return isReached
    }

    // MARK: The store's schema

    /// Takes in what a program declares, inside a transaction.
    func merge(_ other: Schema, from side: String) throws -> SchemaChanges {
        note(try storage.merge(other, sides: ("this store", side)))
    }

    /// Takes in the server's schema, inside a transaction.
    ///
    /// - Throws: `SchemaError` when it contradicts what this store declares.
    func adopt(_ schema: Schema) throws -> SchemaChanges {
        var agreed = schema
        try agreed.merge(standing, sides: ("the server", "this store"))
        let changes = try storage.adopt(schema)
        agreement = Agreement(server: schema, map: SchemaMap(server: schema, store: storage.schema))
        declarations.note(server: schema)
        return note(changes)
    }

    private func note(_ changes: SchemaChanges) -> SchemaChanges {
        if !changes.isEmpty { isChanged = true }
        return changes
    }

    /// Whether the transaction that has just ended changed the store's schema, or would have.
    func takeChange() -> Bool {
        defer { isChanged = false }
        return isChanged
    }

    // MARK: What is declared

    /// The classes that a request to open a session declares.
    ///
    /// - Parameter declaring: false for a session that only reads, which declares nothing.
    func request(declaring: Bool) -> Schema {
        requested = declaring ? standing : Schema()
        return requested
    }

    /// Adds to what is declared, once the store's schema has it.
    ///
    /// - Parameter isDeferred: whether the classes are declared with the first upload of their objects.
    func declare(_ classes: Schema, isDeferred: Bool) throws {
        if let agreement { self.agreement?.map = SchemaMap(server: agreement.server, store: storage.schema) }
        try declarations.add(classes.synced, isDeferred: isDeferred)
    }

    /// The classes and properties to declare to the server, which needs them before it can accept a changeset; nil if
    /// it has all of them. An upload waits until the server has answered.
    ///
    /// - Parameter areComplete: whether the operations could be translated to the server's positions.
    func needed(for changeset: Changeset, areComplete: Bool) throws -> Schema? {
        let needed = try declarations.needed(
            for: changeset.operations, areComplete: areComplete, store: storage.schema, server: server)
        if needed != nil { agreement?.awaitsAnswer = true }
        return needed
    }

    /// Forgets the server's schema, because the connection has ended.
    func endSession() { agreement = nil }
}
