package import SluiceModel

/// How the values of one Swift type meet the rows of one class in one store. Made once a type and store, and again
/// when the store's schema grows.
package final class ElementBinding: Sendable {
    /// The position of the class in the store's schema.
    package let classIndex: Int
    /// The class as the store has it, which may have more properties than the type.
    package let classSchema: ClassSchema
    /// Where each column of the type is in the store's class.
    ///
    /// Sound to share: written once, here, and freed with the binding.
    nonisolated(unsafe) let positions: UnsafeBufferPointer<Int>
    /// The columns for which something stands when they are excluded.
    let replaceable: PropertySet
    /// The columns as the type declares them, where the store may have a wider type.
    let declared: [Property]
    /// The columns that the store has in a wider type.
    let widened: PropertySet
    /// The columns that may be null in the store and not in the type, which has a default that stands for null.
    let nullable: PropertySet
    /// Whether each property's Swift type has every value that the store's class allows.
    private let decodesEveryValue: Bool
    /// The positions for which nothing stands when they are excluded, as far as the class says.
    private let irreplaceable: PropertySet
    /// What a row holds before anything is put into it.
    let defaultValues: [Value]
    let allPositions: PropertySet
    /// What links of decoded values are followed through.
    package let links: LinkSource?
    /// Whether the type wants whole rows, as ``Record`` does, and not some of their properties.
    let isWhole: Bool
    /// Called when something excluded is read; set only while the store logs verbosely.
    let onExcludedAccess: (@Sendable (ExcludedAccess) -> Void)?

    /// - Parameters:
    ///   - element: the type.
    ///   - className: the class; for a model its own.
    ///   - schema: the store's schema.
    /// - Throws: ``ModelError`` when the schema lacks the class or one of the type's properties, `SchemaError` when the
    ///   type's own declaration is malformed.
    package init(
        _ element: any ResultElement.Type, className: String, schema: Schema, links: LinkSource? = nil,
        onExcludedAccess: (@Sendable (ExcludedAccess) -> Void)? = nil
    ) throws {
        guard let classIndex = schema.index(of: className) else {
            throw ModelError(.notInSchema, MissingNames.text(class: className))
        }
        self.classIndex = classIndex
        classSchema = schema[classIndex]
        self.links = links
        self.onExcludedAccess = onExcludedAccess
        var positions: [Int] = []
        var replaceable = PropertySet()
        var properties: [Property] = []
        var widened = PropertySet()
        var nullable = PropertySet()
        var decodesEveryValue = element is Record.Type
        var irreplaceable = PropertySet()
        if let declared = element.declaredClass {
            properties = try declared.schema.get().properties
            decodesEveryValue = declared.total.count == properties.count
            for (column, property) in properties.enumerated() {
                guard let position = classSchema.index(of: property) else {
                    throw ModelError(
                        .notInSchema, MissingNames.text(property: property.name, of: className))
                }
                positions.append(position)
                let stored = classSchema.properties[position].type
                if stored.element != property.type.element { widened.insert(column) }
                if declared.defaulted.contains(column) || property.canBeAbsent { replaceable.insert(column) }
                if declared.defaulted.contains(column), stored.isOptional, !property.type.isOptional,
                    !property.type.isCollection
                {
                    nullable.insert(column)
                }
                if !replaceable.contains(column) { irreplaceable.insert(position) }
                let hasNull = !stored.isOptional || property.type.isOptional || nullable.contains(column)
                if widened.contains(column) || !hasNull { decodesEveryValue = false }
            }
        }
        let storage = UnsafeMutableBufferPointer<Int>.allocate(capacity: positions.count)
        _ = storage.initialize(from: positions)
        self.positions = UnsafeBufferPointer(storage)
        isWhole = !(element is any Model.Type)
        defaultValues = classSchema.properties.map(\.defaultValue)
        allPositions = PropertySet(all: defaultValues.count)
        self.replaceable = replaceable
        self.declared = properties
        self.widened = widened
        self.nullable = nullable
        self.decodesEveryValue = decodesEveryValue
        self.irreplaceable = irreplaceable
    }

    deinit { positions.deallocate() }

    /// Whether every object of the class can be read as the type, whatever it has.
    var readsEveryRow: Bool { decodesEveryValue && irreplaceable.isEmpty }

    /// Whether an object that lacks these properties can be read as the type, whatever the others are; false also where
    /// that depends on their values. O(1).
    func readsEveryRow(lacking absent: PropertySet) -> Bool {
        decodesEveryValue && absent.intersection(irreplaceable).isEmpty
    }

    /// The positions at which something stands for what is not here: what is absent, and null where the type has none,
    /// which must not be written back as if the program had set it.
    ///
    /// - Parameter isNull: whether a row has null at a position.
    @inline(__always)
    func standIns(_ absent: PropertySet, _ isNull: (Int) throws -> Bool) rethrows -> PropertySet {
        guard !nullable.isEmpty else { return absent }
        var standIns = absent
        for column in nullable where try isNull(positions[column]) { standIns.insert(positions[column]) }
        return standIns
    }

    /// The columns of the type among positions of the store's class.
    func columns(of absent: PropertySet) -> PropertySet {
        absent.isEmpty ? [] : PropertySet(positions.indices.filter { absent.contains(positions[$0]) })
    }
}

/// A read of something that a query excluded, for the log.
package struct ExcludedAccess: Hashable, Sendable {
    package let object: Identity
    package let property: String
    /// Whether a link was followed or a collection of links looked into, rather than a default decoded.
    package let isLink: Bool

    /// The line for the log. Holds no user data.
    package var message: String {
        let name = "\(object.className).\(property)"
        return isLink
            ? "\(name) is read, and the query that brought the object excludes it"
            : "\(name) is read as its default: the query that brought the object excludes it"
    }
}
