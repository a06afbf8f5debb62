public import SluiceModel
internal import SluiceStorage
package import SluiceViews

/// Results at one commit. A snapshot is immutable, events share it, and it decodes objects when they are read: by the
/// schema of that commit, so that objects stay as they were, however the store's classes change.
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
            let entry = list.entries[index]
            return try Element.decode(list.row(of: entry), binding(entry.object.classIndex))
        }
    }

    /// All objects, in order. O(count): decodes them anew each time.
    ///
    /// - Throws: ``ModelError`` for the first object that cannot be read as its type, because its type cannot represent
    ///   a stored value, or because a query excluded a property that has no stand-in; ``readable()`` reads the other
    ///   objects.
    public func elements() throws -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(count)
        try list.forEachDecoder(binding) { elements.append(try Element(from: $0)) }
        return elements
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
            let binding = try binding(entry.object.classIndex)
            do { elements.append(try Element.decode(list.row(of: entry), binding)) } catch let error as ModelError {
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
        return Identity(className: list.schema[object.classIndex].name, key: object.key)
    }

    private func binding(_ classIndex: Int) throws -> ElementBinding {
        try core.binding(of: Element.self, classIndex: classIndex, in: list.schema)
    }
}

extension StoreCore {
    func fetch<Element: ResultElement>(_ type: Element.Type, _ object: ObjectRef) throws -> Element? {
        try read { reader in
            try reader.row(object).map { row in
                try Element.decode(row, binding(of: type, classIndex: object.classIndex, in: reader.schema))
            }
        }
    }
}

extension ResultList {
    /// Calls `body` with what decodes each visible entry.
    ///
    /// - Parameter binding: how rows of a class of ``schema`` are decoded.
    fileprivate func forEachDecoder(
        _ binding: (_ classIndex: Int) throws -> ElementBinding, _ body: (borrowing RowDecoder) throws -> Void
    ) throws {
        var last: ElementBinding?
        for entry in visible {
            let current = try last.bound(to: entry.object.classIndex) ?? binding(entry.object.classIndex)
            last = current
            try withExtendedLifetime(current) { try body(RowDecoder(row(of: entry), current)) }
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
