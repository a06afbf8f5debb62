public import SluiceModel

/// Operations on single elements of lists. ``update(_:_:)`` finds them by itself from how a list looks before and after;
/// these say what is meant where several would lead to the same.
///
/// Elements have identities that stay when others insert, move or remove something at the same time: what is moved or
/// set here is that element, wherever others have put it. A list that is not here, since a query excludes it, cannot be
/// edited: each of these throws `RecordError` with the code `excluded` then.
extension WriteTransaction {
    /// Adds an element at the end of a list.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - property: the list.
    ///   - element: what is added.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when the key path does not
    ///   lead to a stored list, or the element does not fit it.
    public func append<Element: Model, List: ListProperty>(
        _ object: Element, _ property: KeyPath<Element, List>, _ element: List.ListElement
    ) throws {
        try append(object.identity, try name(of: property), element.propertyValue)
    }

    /// Inserts an element into a list.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - property: the list.
    ///   - element: what is inserted.
    ///   - position: where the element is afterwards, from 0 to the number of elements before.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when the key path does not
    ///   lead to a stored list, the element does not fit it, or there is no such position.
    public func insert<Element: Model, List: ListProperty>(
        _ object: Element, _ property: KeyPath<Element, List>, _ element: List.ListElement, at position: Int
    ) throws {
        try insert(object.identity, try name(of: property), element.propertyValue, at: position)
    }

    /// Moves an element of a list. Of two people who move one element the later has his way, and it is there once.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - property: the list.
    ///   - position: where the element is.
    ///   - destination: where it is afterwards.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when the key path does not
    ///   lead to a stored list, or there are no such positions.
    public func move<Element: Model>(
        _ object: Element, _ property: KeyPath<Element, some ListProperty>, from position: Int, to destination: Int
    ) throws {
        try move(object.identity, try name(of: property), from: position, to: destination)
    }

    /// Removes an element from a list. It stays removed, whatever others do to it at the same time.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - property: the list.
    ///   - position: where the element is.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when the key path does not
    ///   lead to a stored list, or there is no such position.
    public func remove<Element: Model>(
        _ object: Element, _ property: KeyPath<Element, some ListProperty>, at position: Int
    ) throws {
        try remove(object.identity, try name(of: property), at: position)
    }

    // MARK: By identity

    /// Adds an element at the end of a list.
    ///
    /// - Parameters:
    ///   - object: the class and key of the object.
    ///   - list: the name of the property.
    ///   - element: what is added.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when there is no such list,
    ///   or the element does not fit it.
    public func append(_ object: Identity, _ list: String, _ element: Value) throws {
        try edit(object, list) { values, property in
            let element = try Self.fitting(element, property, of: object)
            return ListEdit(
                edits: { .inserting([element], at: values.count, in: $0, by: $1) }, values: { $0 + [element] })
        }
    }

    /// Inserts an element into a list.
    ///
    /// - Parameters:
    ///   - object: the class and key of the object.
    ///   - list: the name of the property.
    ///   - element: what is inserted.
    ///   - position: where the element is afterwards, from 0 to the number of elements before.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when there is no such list
    ///   or position, or the element does not fit.
    public func insert(_ object: Identity, _ list: String, _ element: Value, at position: Int) throws {
        try edit(object, list) { values, property in
            let element = try Self.fitting(element, property, of: object)
            try Self.check(position, below: values.count + 1, property, of: object)
            return ListEdit(edits: { .inserting([element], at: position, in: $0, by: $1) }) { values in
                Array(values[..<position] + [element] + values[position...])
            }
        }
    }

    /// Moves an element of a list.
    ///
    /// - Parameters:
    ///   - object: the class and key of the object.
    ///   - list: the name of the property.
    ///   - position: where the element is.
    ///   - destination: where it is afterwards.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when there is no such list,
    ///   or there are no such positions.
    public func move(_ object: Identity, _ list: String, from position: Int, to destination: Int) throws {
        try edit(object, list) { values, property in
            try Self.check(position, below: values.count, property, of: object)
            try Self.check(destination, below: values.count, property, of: object)
            return ListEdit(edits: { .moving(from: position, to: destination, in: $0, by: $1) }) { values in
                var values = values
                values.insert(values.remove(at: position), at: destination)
                return values
            }
        }
    }

    /// Removes an element from a list.
    ///
    /// - Parameters:
    ///   - object: the class and key of the object.
    ///   - list: the name of the property.
    ///   - position: where the element is.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when there is no such list
    ///   or position.
    public func remove(_ object: Identity, _ list: String, at position: Int) throws {
        try edit(object, list) { values, property in
            try Self.check(position, below: values.count, property, of: object)
            return ListEdit(edits: { list, _ in .erasing(position..<position + 1, in: list) }) { values in
                Array(values[..<position] + values[(position + 1)...])
            }
        }
    }

    // MARK: Parts

    /// An edit by positions, and what it makes of a list that has to be set as a whole.
    private struct ListEdit {
        let edits: (ElementList, ListEdits.Author) -> ListEdits?
        let values: ([Value]) -> [Value]
    }

    private func edit(
        _ object: Identity, _ name: String, _ make: ([Value], Property) throws -> ListEdit
    ) throws {
        let (reference, classSchema) = try reference(object)
        guard let index = classSchema.index(of: name) else {
            throw RecordError.unknownProperty(name, of: classSchema)
        }
        let property = classSchema.properties[index]
        guard property.type.container == .list else {
            throw RecordError(
                .typeMismatch, "\(classSchema.name).\(property.name) is \(property.type), and no list")
        }
        guard let row = try writer.row(reference), case .list(let values) = row.values[index] else {
            throw missing(object.className)
        }
        try Self.checkPresent(index, of: row, classSchema)
        let edit = try make(values, property)
        try writer.edit(index, of: reference, edit.edits, or: edit.values)
    }

    private static func fitting(_ element: Value, _ property: Property, of object: Identity) throws -> Value {
        guard case .list(let elements)? = property.type.fitting(.list([element])), let fitting = elements.first else {
            throw RecordError(
                .typeMismatch,
                "\(object.className).\(property.name) is \(property.type), and \(element.kindName) is no element of it")
        }
        return fitting
    }

    private static func check(_ position: Int, below count: Int, _ property: Property, of object: Identity) throws {
        guard !(0..<count).contains(position) else { return }
        let positions = count == 0 ? "the list is empty" : "positions are 0 to \(count - 1)"
        throw RecordError(
            .noSuchElement, "\(object.className).\(property.name) has no position \(position) here; \(positions)")
    }

    func name<Element: Model>(of property: PartialKeyPath<Element>) throws -> String {
        guard let name = Element.modelDefinition.propertyName(at: property) else {
            throw RecordError(
                .unknownProperty, "this key path does not reach a stored property of \(Element.className)")
        }
        return name
    }
}
