internal import SluiceModel

/// Why a query is refused: it names a property that its reader may not read.
package struct HiddenPropertyError: Error, Hashable, Sendable {
    /// The class and the property, as `Class.property`.
    package let property: String

    package var message: String {
        "the query reads \(property), which the server's rules hide from this user; only EXCLUDE may name it"
    }
}

extension Query {
    /// Refuses a query that names a property which its reader may not read: in a condition, a sort, DISTINCT, an
    /// aggregate, a SUBQUERY, or as a link on the way. Its results would tell of the property's values.
    ///
    /// The refusal depends on the query and on what is hidden, never on what is stored. A query may exclude a hidden
    /// property.
    ///
    /// - Parameter context: what the reader may read.
    package func checkIsReadable(in context: ReadContext) throws(HiddenPropertyError) {
        let hidden = context.hiddenProperties
        guard !hidden.isEmpty, object == nil else { return }
        let named = dependencies.referencedProperties(rootClass: classIndex)
        for (classIndex, properties) in named.sorted(by: { $0.key < $1.key }) {
            guard let property = hidden[classIndex]?.intersection(properties).first(where: { _ in true }) else {
                continue
            }
            let declared = context.schema[classIndex]
            throw HiddenPropertyError(property: "\(declared.name).\(declared.properties[property].name)")
        }
    }
}
