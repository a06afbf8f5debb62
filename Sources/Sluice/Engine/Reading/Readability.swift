package import SluiceModel
internal import SluiceViews

/// Decides which objects a Swift type can represent, and so which results an observer of that type has.
///
/// It decides by the schema of one state. An observer goes on with that of the next by ``adopt(_:)``.
package struct Readability: Sendable {
    private let bind: @Sendable (_ classIndex: Int, _ schema: Schema) throws -> ElementBinding
    private let decode: @Sendable (Row, ElementBinding) throws -> Void
    private let note: @Sendable (ModelError) -> Void
    /// How rows of a class are decoded by ``schema``, for the class that was last asked for.
    private var last: (classIndex: Int, binding: ElementBinding)?
    private var schema: Schema

    /// - Parameters:
    ///   - type: the type.
    ///   - schema: the classes as of the state whose objects are looked at.
    ///   - bind: how rows of a class of a schema are decoded as the type.
    ///   - note: told of each object that cannot be read, and why, when that is decided.
    package init<Element: ResultElement>(
        _ type: Element.Type, in schema: Schema,
        bind: @escaping @Sendable (_ classIndex: Int, _ schema: Schema) throws -> ElementBinding,
        note: @escaping @Sendable (ModelError) -> Void
    ) {
        self.bind = bind
        self.note = note
        self.schema = schema
        decode = { row, binding in _ = try Element.decode(row, binding) }
    }

    /// Goes on with another schema.
    ///
    /// - Returns: whether objects may be readable by it that were not before, or the reverse.
    mutating func adopt(_ schema: Schema) -> Bool {
        self.schema = schema
        guard let known = last else { return true }
        last = nil
        return (try? binding(known.classIndex)) !== known.binding
    }

    /// Whether all objects of a class can be read, whatever they have, so that none needs to be looked at.
    mutating func readsEveryObject(ofClass classIndex: Int) -> Bool {
        (try? binding(classIndex).readsEveryRow) ?? false
    }

    /// Why an object cannot be read; nil if it can. O(1) where the type has every value that the class allows, else
    /// O(the object's size).
    ///
    /// - Parameter list: a list of the schema, which the entry is of.
    mutating func error(of entry: ResultEntry, in list: ResultList) -> ModelError? {
        let object = entry.object
        do {
            let binding = try binding(object.classIndex)
            if !binding.readsEveryRow(lacking: entry.absent) { try decode(list.row(of: entry), binding) }
            return nil
        } catch {
            let identity = Identity(className: list.schema[object.classIndex].name, key: object.key)
            let error = ModelError(error, of: identity)
            note(error)
            return error
        }
    }

    private mutating func binding(_ classIndex: Int) throws -> ElementBinding {
        if let last, last.classIndex == classIndex { return last.binding }
        let binding = try bind(classIndex, schema)
        last = (classIndex, binding)
        return binding
    }
}

extension ModelError {
    /// Why an object cannot be read, which the error names in any case.
    fileprivate init(_ error: any Error, of object: Identity) {
        switch error {
        case let error as ModelError:
            self.init(error.code, error.message, object: object, property: error.property, value: error.value)
        case let error as SchemaError:
            self.init(.notInSchema, "\(error)", object: object)
        default:
            // What a program throws may name what is its user's.
            self.init(.typeMismatch, "\(object.className) could not be read: \(type(of: error))", object: object)
        }
    }
}
