package import SluiceModel
package import SluiceQuery

/// An open write of a store, or of a database of a server in this process, as its transaction asks it and the results that
/// are made in it. It ends with the write. A transaction asks nothing else of its store.
package protocol ResultScope: AnyObject, Sendable {
    var schema: Schema { get }
    var inverses: InverseNames { get }

    /// The position of a class in the schema.
    ///
    /// - Throws: ``StoreError/Code/unknownClass``.
    func classIndex(of className: String) throws -> Int

    /// How rows of a class are decoded as a type.
    func binding(of element: any ResultElement.Type, classIndex: Int) throws -> ElementBinding

    /// The writer that reads results as the write sees them, and whether there is no server that could have more.
    ///
    /// - Throws: ``StoreError/Code/outsideWrite`` when the write has ended, or on a thread other than that of its body.
    func writer() throws -> (writer: LocalWriter, isAlone: Bool)
}

extension ResultScope {
    /// Reads results as the write sees them.
    ///
    /// - Throws: ``StoreError/Code/outsideWrite`` when the write has ended, or on a thread other than that of its body.
    func read<Result>(_ query: Query, _ body: (ResultReader) throws -> Result) throws -> Result {
        let (writer, isAlone) = try writer()
        return try body(writer.resultReader(query, isAlone: isAlone))
    }
}

extension StoreError {
    /// What reading results of a write throws after it.
    package static let outsideWrite = StoreError(
        .outsideWrite, "these results belong to a write and can be read in its body only; make others of the store")
}

/// The open write of a store.
///
/// Sound as `Sendable`: only the store's queue uses what is in it, which each use checks.
final class WriteScope: ResultScope, @unchecked Sendable {
    private let core: StoreCore
    private var openWriter: LocalWriter?

    init(_ core: StoreCore, _ writer: LocalWriter) {
        self.core = core
        openWriter = writer
    }

    var schema: Schema { core.schema }
    var inverses: InverseNames { core.inverses }

    func classIndex(of className: String) throws -> Int { try core.classIndex(of: className) }

    func binding(of element: any ResultElement.Type, classIndex: Int) throws -> ElementBinding {
        try core.binding(of: element, classIndex: classIndex)
    }

    /// Ends the scope. To be called on the store's queue.
    func end() { openWriter = nil }

    func writer() throws -> (writer: LocalWriter, isAlone: Bool) {
        guard core.isOnQueue, let openWriter else { throw StoreError.outsideWrite }
        return (openWriter, core.configuration.sync == nil)
    }
}
