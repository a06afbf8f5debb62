public import SluiceModel
internal import SluiceStorage
package import SluiceViews

/// Results at one commit: immutable, shared between events, decoded as they are read.
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
    /// - Throws: ``ModelError`` when the object misses what a query excluded and nothing stands for it.
    public subscript(index: Int) -> Element {
        get throws {
            precondition(index >= 0 && index < count, "index out of range")
            return try core.decode(Element.self, list.entries[index])
        }
    }

    /// All objects, in order. O(count): decodes them anew each time.
    ///
    /// - Throws: ``ModelError`` when an object misses what a query excluded and nothing stands for it.
    public func elements() throws -> [Element] {
        try core.decode(Element.self, list.visible)
    }

    /// The global id of the object at a position, from 0. Decodes nothing.
    ///
    /// - Precondition: the position is below ``count``.
    public func objectID(at index: Int) -> ObjectID { list.entries[index].position.id }

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
        var binding: ElementBinding?
        for entry in entries {
            let known = binding.flatMap { $0.classIndex == entry.object.classIndex ? $0 : nil }
            let current = try known ?? self.binding(of: type, classIndex: entry.object.classIndex)
            binding = current
            elements.append(try Element.decode(entry.row, current))
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
