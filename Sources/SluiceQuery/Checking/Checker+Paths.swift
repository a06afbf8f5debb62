internal import SluiceModel

extension Checker {
    /// Checks a path, which begins at an object of the scopes.
    func path(_ syntax: PathSyntax) throws(QueryError) -> Query.Path {
        guard syntax.components.count <= QueryLimits.pathLengthMax else {
            throw QueryError(
                .limitExceeded, "a path has more than \(QueryLimits.pathLengthMax) components", at: syntax.position)
        }
        var operations: [(index: Int, operation: AggregateOperation)] = []
        for (index, component) in syntax.components.enumerated() {
            if case .operation(let name) = component.kind, let operation = AggregateOperation(rawValue: name) {
                operations.append((index, operation))
            }
        }
        guard let (index, operation) = operations.first else { return try plainPath(syntax).path }
        guard operations.count == 1 else {
            throw QueryError(
                .typeMismatch, "at most one collection operation per keypath is supported",
                at: syntax.components[operations[1].index].position)
        }
        return try aggregate(operation, at: index, in: syntax)
    }

    /// Checks a path without an aggregate.
    ///
    /// - Parameter operation: the index of an aggregate operation among the components, which is skipped.
    /// - Returns: the path, and how many components lead up to and including the last collection; 0 if there is none.
    func plainPath(
        _ syntax: PathSyntax, without operation: Int? = nil
    ) throws(QueryError) -> (path: Query.Path, collectionEnd: Int) {
        var components = syntax.components[...]
        var builder = try start(syntax, &components)
        var collectionEnd = 0
        while let component = components.popFirst() {
            if components.startIndex - 1 == operation { continue }
            switch resolved(component, ofClass: builder.classIndex) {
            case .backlink(let className, let name):
                let backlink = try backlink(className, name, to: builder.classIndex, component)
                let origin = schema[backlink.classIndex]
                let text = "@links.\(origin.name).\(CanonicalText.name(origin.properties[backlink.property].name))"
                if let next = components.first, next.isCount {
                    try end(components.dropFirst())
                    return (builder.number(.backlinkCount([backlink]), text: text + ".@count"), collectionEnd)
                }
                builder.names.append(text)
                builder.follow(backlink)
                collectionEnd = components.startIndex
                if components.first?.isAll == true { components.removeFirst() }
                if components.startIndex == operation { components.removeFirst() }
                if components.isEmpty { return (builder.object(), collectionEnd) }
            case .operation("links"):
                guard let next = components.first, next.isCount else {
                    throw QueryError(
                        .syntax, "@links takes a class and a property, as in @links.Car.owner, or .@count",
                        at: component.position)
                }
                try end(components.dropFirst())
                let backlinks = schema.backlinks(to: builder.classIndex).map {
                    Query.Path.Backlink(classIndex: $0.classIndex, property: $0.property)
                }
                return (builder.number(.backlinkCount(backlinks), text: "@links.@count"), collectionEnd)
            case .property(let name):
                let property = try property(name, ofClass: builder.classIndex, at: component.position)
                // By the name of today, also where the query has a former one.
                let declared = schema[builder.classIndex].properties[property]
                builder.names.append(CanonicalText.name(declared.name))
                let type = declared.type
                var selection: Query.Path.Selection?
                if components.startIndex != operation {
                    selection = try self.selection(property, in: builder, &components)
                }
                if selection == nil, type.isCollection { collectionEnd = components.startIndex }
                if components.startIndex == operation { components.removeFirst() }
                if let selection {
                    builder.names.append(CanonicalText.selection(selection))
                } else if type.container == .map, let next = components.first, next.isStep {
                    // A name after a map would be read as a key.
                    builder.names.append("@values")
                }
                if let path = try go(on: property, selection, &components, &builder) { return (path, collectionEnd) }
            default: throw Self.misplaced(component)
            }
        }
        guard builder.steps.isEmpty, builder.scope > 0 else {
            throw QueryError(.syntax, "a path needs the name of a property", at: syntax.position)
        }
        return (builder.object(), 0)
    }

    /// The kind of a component, where the name of an inverse relationship counts as the backlink that it stands for.
    private func resolved(
        _ component: PathSyntax.Component, ofClass classIndex: Int
    ) -> PathSyntax.Component.Kind {
        guard case .property(let name) = component.kind, schema[classIndex].index(of: name) == nil else {
            return component.kind
        }
        return inverses.kind(of: name, on: schema[classIndex].name) ?? component.kind
    }

    private func start(
        _ syntax: PathSyntax, _ components: inout ArraySlice<PathSyntax.Component>
    ) throws(QueryError) -> PathBuilder {
        guard case .variable(let name) = components.first?.kind else {
            return PathBuilder(schema: schema, scope: 0, classIndex: scopes[0].classIndex)
        }
        components.removeFirst()
        guard
            let scope = scopes.lastIndex(where: { $0.variable.map { UTF8Order.equal($0, name) } ?? false })
        else {
            throw QueryError(
                .syntax, "found the variable '$\(name)', which no SUBQUERY around it names", at: syntax.position)
        }
        return PathBuilder(
            schema: schema, scope: scope, names: [CanonicalText.variable(scope)],
            classIndex: scopes[scope].classIndex)
    }

    /// Continues a path at a property. Returns the path if it ends, or nil if a link was followed and the path goes on.
    private func go(
        on property: Int, _ selection: Query.Path.Selection?, _ components: inout ArraySlice<PathSyntax.Component>,
        _ builder: inout PathBuilder
    ) throws(QueryError) -> Query.Path? {
        let declared = schema[builder.classIndex].properties[property]
        let target = declared.type.targetClass.flatMap(schema.index(of:))
        if let selection {
            if let target {
                builder.follow(property, to: target, isToMany: true, selection: selection)
                return components.isEmpty ? builder.object() : nil
            }
            try end(components)
            if case .key(let key) = selection { return builder.path(.entry(property, key: .string(key)), declared) }
            return builder.path(.element(property, selection), declared)
        }
        guard let next = components.first else { return builder.path(endingAt: property, declared) }
        if var leaf = try leaf(property, declared, next, ofClass: builder.classIndex) {
            var rest = components.dropFirst()
            if case .keys = leaf, let count = rest.first, count.isCount {
                leaf = .count(property)
                rest.removeFirst()
            }
            try end(rest)
            if case .keys = leaf { builder.names.append("@keys") } else { builder.names.append("@count") }
            return builder.path(leaf, declared)
        }
        switch next.kind {
        case .property, .backlink, .operation("links"):
            guard let target else {
                throw QueryError(
                    .typeMismatch,
                    "\(schema[builder.classIndex].name).\(declared.name) is \(declared.type.inWords); only a path "
                        + "through links goes on",
                    at: next.position)
            }
            builder.follow(property, to: target, isToMany: declared.type.isCollection)
            return nil
        default: throw Self.misplaced(next)
        }
    }

    /// Refuses components after the end of a path.
    private func end(_ components: ArraySlice<PathSyntax.Component>) throws(QueryError) {
        guard let next = components.first else { return }
        throw QueryError(
            .typeMismatch,
            "a path cannot go on after an operation or a value; @count must appear at the end of a keypath",
            at: next.position)
    }

    /// The one element of a collection that the next component selects, if it does. `[*]` and `@values`, which stand
    /// for all elements, are skipped.
    private func selection(
        _ property: Int, in builder: PathBuilder, _ components: inout ArraySlice<PathSyntax.Component>
    ) throws(QueryError) -> Query.Path.Selection? {
        guard let next = components.first else { return nil }
        let type = schema[builder.classIndex].properties[property].type
        let name = "\(schema[builder.classIndex].name).\(schema[builder.classIndex].properties[property].name)"
        func refuse(_ what: String) -> QueryError {
            QueryError(.typeMismatch, "\(what); \(name) is \(type.inWords)", at: next.position)
        }
        let selection: Query.Path.Selection
        switch next.kind {
        case .named("*") where type.isCollection, .operation("values") where type.container == .map:
            components.removeFirst()
            return nil
        case .named("*"): throw refuse("[*] works on collections")
        case .key(let key) where type.container == .map, .property(let key) where type.container == .map:
            selection = .key(key)
        case .operation("keys") where type.container == .map: return nil
        case .key, .operation("keys"), .operation("values"):
            throw refuse("only maps have keys")
        case .index(let index) where type.container == .list:
            guard index >= 0 else { throw refuse("positions begin with 0, and [LAST] is the last element") }
            selection = .index(index)
        case .named("FIRST") where type.container == .list: selection = .index(0)
        case .named("LAST") where type.container == .list: selection = .last
        case .index, .named("FIRST"), .named("LAST"): throw refuse("only the elements of lists have positions")
        default: return nil
        }
        components.removeFirst()
        return selection
    }

    /// The leaf that an operation after a property reads; nil for any other component.
    private func leaf(
        _ property: Int, _ declared: Property, _ component: PathSyntax.Component, ofClass classIndex: Int
    ) throws(QueryError) -> Query.Path.Leaf? {
        let type = declared.type
        if case .operation("keys") = component.kind { return .keys(property) }
        guard component.isCount else { return nil }
        if type.isCollection { return .count(property) }
        switch type.element {
        case .link(let target): return .presence(property, targetClass: schema.index(of: target) ?? -1)
        case .scalar(.string), .scalar(.data): return .size(property)
        default:
            throw QueryError(
                .typeMismatch,
                "@count works on collections, strings, data and links; \(schema[classIndex].name).\(declared.name) "
                    + "is \(type.inWords)",
                at: component.position)
        }
    }

    private func backlink(
        _ className: String, _ name: String, to target: Int, _ component: PathSyntax.Component
    ) throws(QueryError) -> Query.Path.Backlink {
        let classIndex = try classIndex(className, at: component.classPosition ?? component.position)
        let property = try property(name, ofClass: classIndex, at: component.propertyPosition ?? component.position)
        let declared = schema[classIndex].properties[property]
        guard declared.type.targetClass.flatMap(schema.index(of:)) == target else {
            throw QueryError(
                .typeMismatch,
                "@links.\(className).\(name) needs a link to \(schema[target].name); it is \(declared.type.inWords)",
                at: component.position)
        }
        return Query.Path.Backlink(classIndex: classIndex, property: property)
    }

    /// The error for a component that is unknown, or not allowed where it is.
    private static func misplaced(_ component: PathSyntax.Component) -> QueryError {
        let known: Set<String> = ["count", "size", "min", "max", "sum", "avg", "type", "keys", "values", "links"]
        switch component.kind {
        case .property(let name), .variable(let name):
            return QueryError(.syntax, "found '\(name.shortened)' where a path cannot go on", at: component.position)
        case .operation(let name) where !known.contains(name):
            let nearest = NearestName.find(name, among: known.sorted()).map { "; did you mean '@\($0)'?" } ?? ""
            return QueryError(.syntax, "there is no operation '@\(name.shortened)'\(nearest)", at: component.position)
        case .operation("type"):
            return QueryError(
                .typeMismatch, "@type must appear at the end of a keypath that is compared with the name of a type",
                at: component.position)
        case .operation(let name):
            return QueryError(.syntax, "found '@\(name)' where a path cannot go on", at: component.position)
        case .backlink:
            return QueryError(.syntax, "found '@links' where a path cannot go on", at: component.position)
        case .key, .index, .named:
            return QueryError(.syntax, "found '[…]' where a path cannot go on", at: component.position)
        }
    }
}

extension PathSyntax.Component {
    var isCount: Bool {
        switch kind {
        case .operation("count"), .operation("size"), .named("SIZE"): true
        default: false
        }
    }

    /// Whether this component follows a property or a link of an object.
    fileprivate var isStep: Bool {
        switch kind {
        case .property, .backlink, .operation("links"): true
        default: false
        }
    }

    var isAll: Bool {
        if case .named("*") = kind { true } else { false }
    }
}
