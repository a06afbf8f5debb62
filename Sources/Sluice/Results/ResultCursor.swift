public import SluiceModel
package import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// A place in the order of sorted results, that of an object: where a page ends and the next begins.
///
/// It keeps its meaning when the object is changed or deleted, and only for results in the same order.
public struct ResultCursor: Sendable, Hashable {
    /// The values of the object in the order, one for each key of the sort.
    package let values: [Value]
    /// The key of the object.
    public let key: ObjectKey

    package init(values: [Value], key: ObjectKey) {
        self.values = values
        self.key = key
    }

    /// The values and the key, as AFTER and BEFORE take them.
    package var literals: [LiteralSyntax] { (values + [key.value]).map { LiteralSyntax(.value($0)) } }
}

extension ResultsSnapshot {
    /// The place of the object at a position, from 0, for ``Results/after(_:)-(ResultCursor)``. Decodes nothing.
    ///
    /// - Precondition: the position is below ``count``.
    public func cursor(at index: Int) -> ResultCursor {
        let entry = list.entries[index]
        return ResultCursor(values: entry.position.values, key: entry.object.key)
    }
}

/// Pages of sorted results. Conditions, sorting and ``Results/limit(_:)`` may be said before or after: the place is one
/// in the whole order, and the limit takes the first behind it.
extension Results {
    /// Keeps only what stands strictly behind a place in the order, as AFTER in the language.
    ///
    /// ```swift
    /// let next = late.limit(20).after(change.results.cursor(at: change.results.count - 1))
    /// ```
    ///
    /// A cursor of results in another order is a `QueryError` where it does not fit this one.
    public func after(_ cursor: ResultCursor) -> Results { refined { $0.adding(.after, cursor.literals) } }

    /// Keeps only what stands strictly before a place in the order, as BEFORE in the language. A limit still takes the
    /// first: for those nearest to the place, sort the other way and say `after`.
    public func before(_ cursor: ResultCursor) -> Results { refined { $0.adding(.before, cursor.literals) } }

    /// Keeps only what stands strictly behind where an object belongs in the order, as it is given, whether it is in
    /// the store or not. What the order reads behind links is read from the store.
    ///
    /// - Throws: `QueryError`; ``ModelError`` when the object cannot be stored; ``StoreError`` when the store is closed.
    public func after(_ object: Element) throws -> Results { after(try cursor(of: object)) }

    /// Keeps only what stands strictly before where an object belongs in the order; see ``after(_:)-(Element)``.
    public func before(_ object: Element) throws -> Results { before(try cursor(of: object)) }

    /// Where an object belongs in the order of the results, as it is given.
    ///
    /// - Throws: as ``after(_:)-(Element)``.
    public func cursor(of object: Element) throws -> ResultCursor {
        let query = try query()
        guard query.object == nil else {
            throw QueryError(.unsupported, "the results of a query of one object have no order", at: nil)
        }
        return try read { reader in
            let binding = try binding(ofClass: query.classIndex, in: reader.schema)
            let row = try object.encoded(for: binding)
            let values = try Evaluator(query, schema: reader.schema).sortValues(of: row, in: reader.state)
            return ResultCursor(values: Array(values.prefix(query.sort.count)), key: row.key)
        }
    }
}
