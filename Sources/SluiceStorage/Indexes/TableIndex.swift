package import SluiceModel
internal import SluiceQuery
package import SluiceViews

/// An index that a server makes for the queries that clients observe, over single properties of a class.
///
/// It has present objects only. Nothing but its name is stored, which says everything: `a_Car.name.price-` is over
/// `name` and, descending, `price` of `Car`; names of classes and properties have neither `.` nor `-`. Indexes of
/// declared properties and of links begin with `x_`.
package struct TableIndex: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        package let property: Int
        package let isAscending: Bool

        package init(_ property: Int, isAscending: Bool = true) {
            self.property = property
            self.isAscending = isAscending
        }
    }

    package let classIndex: Int
    package let columns: [Column]
    /// Whether the object id follows the columns, as it does in the order of results. In keyless classes only.
    package let endsWithID: Bool

    package init(classIndex: Int, columns: [Column], endsWithID: Bool = false) {
        self.classIndex = classIndex
        self.columns = columns
        self.endsWithID = endsWithID
    }

    private static let prefix = "a_"
    private static let identity = "@id"

    /// The name, which says what the index is over.
    package func name(in schema: Schema) -> String {
        let declared = schema[classIndex]
        let parts = columns.map { declared.properties[$0.property].name + ($0.isAscending ? "" : "-") }
        let names = [declared.name] + parts + (endsWithID ? [Self.identity] : [])
        return Self.prefix + names.joined(separator: ".")
    }

    /// Parses a name; nil if it is not the name of an automatic index in the schema.
    package init?(name: String, in schema: Schema) {
        guard name.hasPrefix(Self.prefix) else { return nil }
        var parts = name.dropFirst(Self.prefix.count).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 2, let classIndex = schema.index(of: String(parts.removeFirst())) else { return nil }
        endsWithID = parts.last.map { $0 == Self.identity } ?? false
        if endsWithID { parts.removeLast() }
        let properties = schema[classIndex].properties
        var columns: [Column] = []
        for part in parts {
            let isAscending = !part.hasSuffix("-")
            let name = isAscending ? part : part.dropLast()
            guard let property = properties.firstIndex(where: { UTF8Order.equal($0.name, String(name)) }) else {
                return nil
            }
            columns.append(Column(property, isAscending: isAscending))
        }
        self.classIndex = classIndex
        self.columns = columns
    }

    /// The index as explanations and reports show it.
    package func description(in schema: Schema) -> QueryExplanation.Index {
        let properties = schema[classIndex].properties
        return QueryExplanation.Index(
            name: name(in: schema), className: schema[classIndex].name,
            properties: columns.map { properties[$0.property].name + ($0.isAscending ? "" : " DESC") }
                + (endsWithID ? [Self.identity] : []),
            origin: .automatic)
    }

    /// The statement that makes the index.
    func creation(in schema: Schema) -> String {
        let layout = TableLayout()
        let declared = schema[classIndex]
        var terms = columns.map { column in
            layout.column(declared.properties[column.property].name) + (column.isAscending ? "" : " DESC")
        }
        if endsWithID { terms += [TableLayout.high, TableLayout.low] }
        return """
            CREATE INDEX IF NOT EXISTS \(TableLayout.quoted(name(in: schema))) ON \(layout.table(declared.name)) \
            (\(terms.joined(separator: ", "))) WHERE \(TableLayout.state) = \(TableLayout.State.present)
            """
    }
}
