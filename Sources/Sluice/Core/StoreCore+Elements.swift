package import SluiceModel
internal import Synchronization

/// How rows are decoded as elements of results.
extension StoreCore {
    /// How rows of a class are decoded as a type.
    ///
    /// - Parameters:
    ///   - classIndex: the position of the class in the schema.
    ///   - schema: the schema of the state that the rows are from.
    package func binding(
        of element: any ResultElement.Type, classIndex: Int, in schema: Schema
    ) throws -> ElementBinding {
        let key = BindingKey(element: ObjectIdentifier(element), classIndex: classIndex)
        // Comparing is quick while the schema is the very same.
        if let binding = bindings.withLock({ $0[key] }), binding.classSchema == schema[classIndex] { return binding }
        let binding = try ElementBinding(
            element, className: schema[classIndex].name, schema: schema, links: LinkSource(StoreLinks(self)),
            onExcludedAccess: excludedAccessLogger)
        bindings.withLock { $0[key] = binding }
        return binding
    }

    /// How rows of a class are decoded as a type in the body of a write, in which the schema stays as it is.
    package func binding(of element: any ResultElement.Type, classIndex: Int) throws -> ElementBinding {
        try binding(of: element, classIndex: classIndex, in: schema)
    }

    private var excludedAccessLogger: (@Sendable (ExcludedAccess) -> Void)? {
        guard let log = functions.log?.about(.store), log.writes(.verbose) else { return nil }
        return { access in log(.warning, access.message) }
    }
}
