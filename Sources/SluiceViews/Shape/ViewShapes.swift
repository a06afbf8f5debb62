package import SluiceModel
package import SluiceQuery

/// The shapes of the views of one database, by form. Views of queries that differ only in constants share a shape.
///
/// A shape is kept as long as a view has it.
package struct ViewShapes {
    private struct Entry {
        weak var shape: ViewShape?
    }

    private var schema: Schema
    private var entries: [String: Entry] = [:]
    /// With more entries, those without views are dropped.
    private var countMax = 64
    private let affectedCountMax: Int

    /// - Parameters:
    ///   - schema: the schema of all views.
    ///   - affectedCountMax: how many possible roots a window judges one by one because of changes elsewhere.
    package init(schema: Schema, affectedCountMax: Int = 1_000) {
        self.schema = schema
        self.affectedCountMax = affectedCountMax
    }

    /// Takes a schema that has grown. The shapes that are the same under it stay.
    ///
    /// - Returns: the shapes whose views must be made anew.
    package mutating func grow(to schema: Schema) -> [ViewShape] {
        self.schema = schema
        let changed = entries.values.compactMap(\.shape).filter { !$0.isSame(under: schema) }
        for shape in changed { entries[shape.key] = nil }
        return changed
    }

    /// The shape of the view of a query. O(1), except for a new form or new conditions of a context.
    ///
    /// - Parameter query: checked against the schema, as is its context.
    package mutating func shape(of query: Query) -> ViewShape {
        let key = ViewShape.key(of: query.form, in: query.context)
        if let known = entries[key]?.shape { return known }
        if entries.count >= countMax {
            entries = entries.filter { $0.value.shape != nil }
            countMax = max(64, entries.count * 2)
        }
        let shape = ViewShape(query.form, in: query.context, schema: schema, affectedCountMax: affectedCountMax)
        entries[key] = Entry(shape: shape)
        return shape
    }
}
