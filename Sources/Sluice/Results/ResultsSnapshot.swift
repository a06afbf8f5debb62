public import SluiceModel
internal import SluiceStorage
package import SluiceViews

/// Results at one commit. A snapshot is immutable, events share it, and it decodes objects when they are read.
public struct ResultsSnapshot<Element: ResultElement>: Sendable {
    package let list: ResultList
    private let core: StoreCore

    package init(list: ResultList, core: StoreCore) {
        self.list = list
        self.core = core
    }

    /// The number of objects.
    public var count: Int { list.visibleCount }

    /// Whether there are no objects.
    public var isEmpty: Bool { count == 0 }

    /// The object at a position, from 0. Decodes it anew each time.
    ///
    /// - Precondition: the position is below ``count``.
    /// - Throws: ``ModelError`` when this object cannot be read as its type; other objects may still be readable.
    public subscript(index: Int) -> Element {
        get throws {
            precondition(index >= 0 && index < count, "index out of range")
            return try core.decode(Element.self, list.entries[index])
        }
    }

    /// All objects, in order. O(count): decodes them anew each time.
    ///
    /// - Throws: ``ModelError`` for the first object that cannot be read as its type, because its type cannot represent
    ///   a stored value, or because a query excluded a property that has no stand-in; ``readable()`` reads the other
    ///   objects.
    public func elements() throws -> [Element] {
        try core.decode(Element.self, list.visible)
    }

    /// Decodes the objects that can be read, in order, and says why the others cannot. O(count).
    ///
    /// For example, an enum's raw value that this version of the program does not have makes its own object unreadable,
    /// and no other.
    ///
    /// - Throws: ``StoreError`` when the store's schema does not fit the type, so that nothing can be read.
    public func readable() throws -> (elements: [Element], errors: [ModelError]) {
        var elements: [Element] = []
        var errors: [ModelError] = []
        elements.reserveCapacity(count)
        for entry in list.visible {
            let binding = try core.binding(of: Element.self, classIndex: entry.object.classIndex)
            do { elements.append(try Element.decode(entry.row, binding)) } catch let error as ModelError {
                errors.append(error)
            }
        }
        return (elements, errors)
    }

    /// Logs that an object was left out.
    func noteUnreadable(_ error: any Error) {
        core.functions.log?.about(.store)(
            .warning, "an object was left out, since it cannot be read as its type", [("reason", "\(error)")])
    }

    /// The object id of the object at a position, from 0. Decodes nothing.
    ///
    /// - Precondition: the position is below ``count``.
    public func objectID(at index: Int) -> ObjectID { list.entries[index].position.id }

    /// Whether the object at a position, from 0, shows writes of this store that the server has not confirmed: they wait
    /// to be uploaded or for an acknowledgement, or were refused and stay visible
    /// (``StoreConfiguration/refusedWrites``). It is as of the commit of this snapshot. O(1).
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
        return Identity(className: core.schema[object.classIndex].name, key: object.key)
    }
}

extension StoreCore {
    func decode<Element: ResultElement>(
        _ type: Element.Type, _ entries: some Collection<ResultEntry>
    ) throws -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(entries.count)
        try ResultEntry.forEachDecoder(of: entries, { try self.binding(of: type, classIndex: $0) }) {
            elements.append(try Element(from: $0))
        }
        return elements
    }

    func decode<Element: ResultElement>(_ type: Element.Type, _ entry: ResultEntry) throws -> Element {
        try Element.decode(entry.row, binding(of: type, classIndex: entry.object.classIndex))
    }

    func fetch<Element: ResultElement>(_ type: Element.Type, _ object: ObjectRef) throws -> Element? {
        guard let row = try read({ try $0.row(object) }) else { return nil }
        return try Element.decode(row, binding(of: type, classIndex: object.classIndex))
    }
}

extension ResultEntry {
    /// Calls `body` with what decodes each entry.
    ///
    /// - Parameter binding: how rows of a class are decoded.
    static func forEachDecoder(
        of entries: some Collection<ResultEntry>, _ binding: (_ classIndex: Int) throws -> ElementBinding,
        _ body: (borrowing RowDecoder) throws -> Void
    ) throws {
        var last: ElementBinding?
        for entry in entries {
            let known = last.flatMap { $0.classIndex == entry.object.classIndex ? $0 : nil }
            let current = try known ?? binding(entry.object.classIndex)
            last = current
            try withExtendedLifetime(current) { try body(RowDecoder(entry.row, current)) }
        }
    }
}
