public import SluiceModel
internal import SluiceQuery

/// Queries in a write: over what is here, with what the transaction has written so far.
extension WriteTransaction {
    /// All objects of a model's class as this transaction sees them, to refine as those of ``Store/objects(_:)``.
    ///
    /// They can be read as long as the body of the write runs, each time anew. They cannot be observed.
    public func objects<Element: Model>(_ type: Element.Type) -> Results<Element> {
        results(QueryDescription(className: Element.className))
    }

    /// All objects of a class as this transaction sees them, as records.
    public func records(ofClass className: String) -> Results<Record> {
        results(QueryDescription(className: className))
    }

    /// The records that a query in the query language finds, as this transaction sees them.
    ///
    /// - Throws: `QueryError` when the text cannot be parsed or names something that is not in the schema.
    public func records(_ text: QueryText) throws -> Results<Record> {
        let results = results(try QueryDescription<Record>(text: text))
        _ = try results.query()
        return results
    }

    /// The records that a query finds whose text is only known at run time, as ``records(_:)-(QueryText)``.
    @_disfavoredOverload
    public func records(_ text: String) throws -> Results<Record> { try records(QueryText(text)) }

    /// The objects that a query finds, as this transaction sees them.
    package func results<Element>(_ description: QueryDescription<Element>) -> Results<Element> {
        Results(hold: hold, description: description, in: scope)
    }

    /// Changes every object that a query finds: calls `body` with the current value of each, in the order of the query,
    /// and records what `body` changes, as ``update(_:_:)`` does.
    ///
    /// The objects are found before the first is changed, so what `body` changes does not decide what is found. An
    /// object that `body` has deleted meanwhile is left out. O(results), and what finding them costs.
    ///
    /// - Parameters:
    ///   - results: a query of this transaction or of the store; only the query counts, and finds what this
    ///     transaction sees.
    ///   - body: changes the object that it is called with.
    /// - Returns: for how many objects `body` was called, changed or not.
    /// - Throws: `QueryError`; `RecordError` if `body` changes a primary key; ``ModelError`` when an object cannot be
    ///   read as its type; what `body` throws. Nothing is undone unless the error leaves the write.
    @discardableResult
    public func update<Element: Model>(
        all results: Results<Element>, _ body: (inout Element) throws -> Void
    ) throws -> Int {
        var count = 0
        try forEach(results) { object, row in
            try update(object, row, scope.binding(of: Element.self, classIndex: object.classIndex), body)
            count += 1
        }
        return count
    }

    /// Changes the same properties of every object that a query finds, by name. The objects are found before the first
    /// is changed.
    ///
    /// - Parameters:
    ///   - results: a query of this transaction or of the store; only the query counts, and finds what this transaction
    ///     sees.
    ///   - set: new values.
    ///   - add: amounts to add to numbers. Null stays null.
    /// - Returns: how many objects were found.
    /// - Throws: `QueryError`; `RecordError` when a value does not fit its property, also if nothing is found, or when
    ///   `set` names the primary key.
    @discardableResult
    public func update<Element: ResultElement>(
        all results: Results<Element>, set: [String: Value] = [:], add: [String: Value] = [:]
    ) throws -> Int {
        var known: (classIndex: Int, fields: [FieldOperation])?
        func fields(of classIndex: Int) throws -> [FieldOperation] {
            if let known, known.classIndex == classIndex { return known.fields }
            let fields = try Self.fields(of: writer.schema[classIndex], key: nil, set: set, add: add)
            known = (classIndex, fields)
            return fields
        }
        // The query of one object by its id has no class.
        let query = try results.query().ofObjects()
        if query.object == nil { _ = try fields(of: query.classIndex) }
        var count = 0
        try forEach(results) { object, _ in
            try writer.update(object, fields(of: object.classIndex))
            count += 1
        }
        return count
    }

    /// Deletes every object that a query finds, here and on the server. What a query finds on the server and is not here
    /// stays.
    ///
    /// - Parameter results: a query of this transaction or of the store; only the query counts, and finds what this
    ///   transaction sees.
    /// - Returns: how many objects were deleted.
    /// - Throws: `QueryError`.
    @discardableResult
    public func delete<Element: ResultElement>(all results: Results<Element>) throws -> Int {
        var count = 0
        try forEach(results) { object, _ in
            try writer.delete(object)
            count += 1
        }
        return count
    }

    private func forEach<Element>(_ results: Results<Element>, _ body: (ObjectRef, Row) throws -> Void) throws {
        let query = try results.query().ofObjects()
        try writer.forEach(scope.read(query) { try $0.sortedEntries() }, body)
    }
}
