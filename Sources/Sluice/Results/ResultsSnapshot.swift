public import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
package import SluiceViews

/// Results at one commit: a collection of the objects that can be read as `Element`.
///
/// A snapshot is immutable, events share it, and it decodes objects when they are read: by the schema of that commit,
/// so that objects stay as they were, however the store's classes change.
///
/// An object that its type cannot represent, as one with an enum's raw value that this version of the program does not
/// have, is not in the collection and has no position; ``unreadable`` says why. Within an event the same holds for all
/// positions. Only an object that can be affected is looked at, once when it comes and once when it changes; where the
/// types of all properties have every value that can be stored, and something stands for what a query excludes, none
/// is.
public struct ResultsSnapshot<Element: ResultElement>: Sendable {
    package let list: ResultList
    /// How many objects match the query, whatever its limit, also those that cannot be read as `Element`; nil unless the
    /// query asks for its total (``Results/withTotal()``), and until the server has said it.
    ///
    /// It is what the server has said last, with the writes of this store that the server has not confirmed. Where no
    /// server answers, as for ``Results/cached()`` and for classes that do not sync, it counts what is here.
    public let total: Int?
    /// Whether ``total`` is what the server would say if it had all writes of this store; false where it is nil.
    ///
    /// It is false before the server has answered, and after it has refused the query; while nobody observes the query,
    /// since writes of others and of this store may have changed it; and where a write that waits changes it by an amount
    /// that cannot be told from here: it makes an object that this store has not, and that the server may have, since
    /// another can have given it the same primary key; the condition reads a linked object that is not here; or it
    /// changes an object that objects may link to that are not here.
    public let isTotalExact: Bool
    private let errors: [ObjectRef: ModelError]
    private let core: StoreCore

    /// - Parameters:
    ///   - list: the objects that can be read.
    ///   - unreadable: why others cannot.
    init(list: ResultList, unreadable: [ObjectRef: ModelError], total: ShownTotal?, core: StoreCore) {
        self.list = list
        self.total = total?.count
        isTotalExact = total?.isExact ?? false
        errors = unreadable
        self.core = core
    }

    /// The snapshot of a query's results, which may have objects that cannot be read.
    init(_ results: ResultList, of query: Query, total: ShownTotal?, core: StoreCore) {
        var readability = core.readability(of: Element.self, in: results.schema)
        var errors: [ObjectRef: ModelError] = [:]
        if query.object != nil || !readability.readsEveryObject(ofClass: query.classIndex) {
            for entry in results.visible { errors[entry.object] = readability.error(of: entry, in: results) }
        }
        let list = errors.isEmpty ? results : results.list(of: results.visible.filter { errors[$0.object] == nil })
        self.init(
            list: list, unreadable: errors, total: total?.beside(results.visibleCount, isOfResults: false), core: core)
    }

    /// The number of objects that can be read.
    public var count: Int { list.visibleCount }

    /// Why objects are missing here although they are results: for each the error that reading it throws, whose
    /// ``ModelError/object`` names it, in the order of their keys. O(n log n) for n such objects, which are few.
    public var unreadable: [ModelError] { errors.sorted { $0.key < $1.key }.map(\.value) }

    /// The object id of the object at a position, from 0. Decodes nothing.
    ///
    /// - Precondition: the position is below ``count``.
    public func objectID(at index: Int) -> ObjectID { list.entries[index].position.id }

    /// Whether the object at a position, from 0, shows writes of this store that the server has not confirmed: they wait
    /// to be uploaded or for an acknowledgement, or were refused and stay visible
    /// (``StoreConfiguration/rejectedWrites``). It is as of the commit of this snapshot. O(1).
    ///
    /// An event comes when what is shown changes, also for ``Results/reportingPendingWrites()`` when only this does.
    ///
    /// - Precondition: the position is below ``count``.
    public func hasPendingWrites(at index: Int) -> Bool { list.entries[index].isPending }

    /// The class and key of the object at a position, from 0. Decodes nothing.
    ///
    /// - Precondition: the position is below ``count``.
    public func identity(at index: Int) -> Identity {
        let object = list.entries[index].object
        return Identity(className: list.schema[object.classIndex].name, key: object.key)
    }

    /// Decodes an object of the list.
    ///
    /// - Parameter last: how the rows of the class of the object before were decoded; then, of this one's.
    func element(_ entry: ResultEntry, _ last: inout ElementBinding?) -> Element {
        let classIndex = entry.object.classIndex
        do {
            let current =
                try last.bound(to: classIndex)
                ?? core.binding(of: Element.self, classIndex: classIndex, in: list.schema)
            last = current
            var row = list.row(of: entry)
            if let element = try? Element.decode(row, current) { return element }
            // Only values that the class does not allow get here, which come from elsewhere than Sluice.
            row.adapt(to: list.schema[classIndex])
            return try Element.decode(row, current)
        } catch {
            preconditionFailure(
                "\(Element.self) does not read a row that it has read before, or that its properties' types can hold")
        }
    }
}

extension StoreCore {
    /// Which objects of a state a type can represent. What cannot be read is logged when that is decided.
    func readability<Element: ResultElement>(of type: Element.Type, in schema: Schema) -> Readability {
        Readability(type, in: schema) { [self] classIndex, schema in
            try binding(of: type, classIndex: classIndex, in: schema)
        } note: { [functions] error in
            functions.log?.about(.store)(
                .warning, "an object was left out, since it cannot be read as its type", [("reason", "\(error)")])
        }
    }

    func fetch<Element: ResultElement>(_ type: Element.Type, _ object: ObjectRef) throws -> Element? {
        try read { reader in
            try reader.row(object).map { row in
                try Element.decode(row, binding(of: type, classIndex: object.classIndex, in: reader.schema))
            }
        }
    }
}

extension ResultEntry {
    /// Calls `body` with what decodes each entry.
    ///
    /// - Parameter binding: how rows of a class are decoded, in the state that the entries are from.
    static func forEachDecoder(
        of entries: some Collection<ResultEntry>, _ binding: (_ classIndex: Int) throws -> ElementBinding,
        _ body: (borrowing RowDecoder) throws -> Void
    ) throws {
        var last: ElementBinding?
        for entry in entries {
            let current = try last.bound(to: entry.object.classIndex) ?? binding(entry.object.classIndex)
            last = current
            try withExtendedLifetime(current) { try body(RowDecoder(entry.row, current)) }
        }
    }
}

extension ElementBinding? {
    /// The binding, if it is of a class.
    fileprivate func bound(to classIndex: Int) -> ElementBinding? {
        flatMap { $0.classIndex == classIndex ? $0 : nil }
    }
}
