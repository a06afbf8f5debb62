internal import SluiceModel

extension Checker {
    /// Follows a path from a class to what it reads.
    func path(_ syntax: PathSyntax, from classIndex: Int) throws(QueryError) -> Query.Path {
        var builder = PathBuilder(classIndex: classIndex)
        let components = syntax.components
        guard components.count <= QueryLimits.pathLengthMax else {
            throw QueryError(
                .limitExceeded, "a path has more than \(QueryLimits.pathLengthMax) components", at: syntax.position)
        }
        var index = 0
        while index < components.count {
            let component = components[index]
            guard case .property(let name) = component.kind else { throw Self.misplaced(component) }
            let property = try self.property(name, ofClass: builder.classIndex, at: component.position)
            let declared = schema[builder.classIndex].properties[property]
            builder.names.append(CanonicalText.name(name))
            index += 1
            guard index < components.count else { return builder.path(endingAt: property, declared, schema: schema) }
            let next = components[index]
            if case .property = next.kind, declared.type.container != .map {
                try follow(property, declared, in: &builder, before: next)
                continue
            }
            let leaf = try leaf(property, declared, next, ofClass: builder.classIndex)
            guard index == components.count - 1 else {
                throw QueryError(
                    .unsupported, "a path that goes on after an operation, an index or a key is not supported yet",
                    at: components[index + 1].position)
            }
            return leaf.map { builder.path($0, declared, schema: schema) }
                ?? builder.path(endingAt: property, declared, schema: schema)
        }
        throw QueryError(.syntax, "a path needs the name of a property", at: syntax.position)
    }

    private func follow(
        _ property: Int, _ declared: Property, in builder: inout PathBuilder, before next: PathSyntax.Component
    ) throws(QueryError) {
        guard let target = declared.type.targetClass, let targetClass = schema.index(of: target) else {
            throw QueryError(
                .typeMismatch,
                "\(schema[builder.classIndex].name).\(declared.name) is \(declared.type); only a path "
                    + "through links goes on",
                at: next.position)
        }
        builder.steps.append(
            Query.Path.Step(
                classIndex: builder.classIndex, property: property, targetClass: targetClass,
                isToMany: declared.type.isCollection))
        builder.classIndex = targetClass
    }

    /// What an operation, an index or a key after a property reads; nil for what the property alone means.
    private func leaf(
        _ property: Int, _ declared: Property, _ component: PathSyntax.Component, ofClass classIndex: Int
    ) throws(QueryError) -> Query.Path.Leaf? {
        let type = declared.type
        let name = "\(schema[classIndex].name).\(declared.name)"
        switch component.kind {
        case .operation("count"), .operation("size"), .named("SIZE"):
            if type.isCollection { return .count(property) }
            switch type.element {
            case .link(let target): return .presence(property, targetClass: schema.index(of: target) ?? -1)
            case .scalar(.string), .scalar(.data): return .size(property)
            default:
                throw QueryError(
                    .typeMismatch, "@count works on collections, strings, data and links; \(name) is \(type)",
                    at: component.position)
            }
        case .operation("keys") where type.container == .map: return .keys(property)
        case .operation("values") where type.container == .map: return nil
        case .named("*") where type.isCollection: return nil
        case .key(let key) where type.container == .map: return try entry(property, type, key, component)
        case .property(let key) where type.container == .map: return try entry(property, type, key, component)
        case .key, .operation("keys"), .operation("values"):
            throw QueryError(.typeMismatch, "only maps have keys; \(name) is \(type)", at: component.position)
        default: throw Self.misplaced(component)
        }
    }

    private func entry(
        _ property: Int, _ type: PropertyType, _ key: String, _ component: PathSyntax.Component
    ) throws(QueryError) -> Query.Path.Leaf {
        guard !type.element.isLink else {
            throw QueryError(
                .unsupported, "a link under a map's key is not supported yet in a path", at: component.position)
        }
        return .entry(property, key: .string(key))
    }

    /// The error of a component that is not known, or not yet, where it stands.
    private static func misplaced(_ component: PathSyntax.Component) -> QueryError {
        let known: Set<String> = ["count", "size", "min", "max", "sum", "avg", "type", "keys", "values", "links"]
        switch component.kind {
        case .property(let name):
            return QueryError(.syntax, "found '\(name)' where a path cannot go on", at: component.position)
        case .operation(let name) where !known.contains(name):
            let nearest = NearestName.find(name, among: known.sorted()).map { "; did you mean '@\($0)'?" } ?? ""
            return QueryError(.syntax, "there is no operation '@\(name)'\(nearest)", at: component.position)
        case .operation(let name):
            return QueryError(
                .unsupported, "the operation '@\(name)' is not supported here yet", at: component.position)
        case .backlink:
            return QueryError(.unsupported, "backlinks ('@links') are not supported yet", at: component.position)
        case .key: return QueryError(.unsupported, "a key in a path is not supported here", at: component.position)
        case .index, .named:
            return QueryError(.unsupported, "list indexes in a path are not supported yet", at: component.position)
        }
    }
}

/// What a path has gathered so far.
private struct PathBuilder {
    var steps: [Query.Path.Step] = []
    var names: [String] = []
    var classIndex: Int

    /// Whether a to-one link on the way, after the last collection, can lead nowhere.
    private var canBreak: Bool { steps.last.map { !$0.isToMany } ?? false }

    func path(endingAt property: Int, _ declared: Property, schema: Schema) -> Query.Path {
        if declared.type.isCollection { return path(.elements(property), declared, schema: schema) }
        return path(declared.type.element.isLink ? .link(property) : .value(property), declared, schema: schema)
    }

    func path(_ leaf: Query.Path.Leaf, _ declared: Property, schema: Schema) -> Query.Path {
        var type: Query.Path.ValueType
        switch declared.type.element {
        case .scalar(let scalar): type = .scalar(scalar)
        case .link(let target): type = .link(schema.index(of: target) ?? -1)
        }
        var text = names.joined(separator: ".")
        let canBeNull: Bool
        switch leaf {
        case .value: canBeNull = canBreak || declared.type.isOptional
        case .link: canBeNull = true
        case .elements: canBeNull = declared.type.isOptional && !declared.type.element.isLink
        case .keys:
            (type, canBeNull) = (.scalar(.string), false)
            text += ".@keys"
        case .entry(_, let key):
            canBeNull = true
            text += "[\(CanonicalText.literal(key))]"
        case .count, .presence:
            (type, canBeNull) = (.scalar(.int), false)
            text += ".@count"
        case .size:
            (type, canBeNull) = (.scalar(.int), canBreak || declared.type.isOptional)
            text += ".@count"
        }
        return Query.Path(
            steps: steps, leafClass: classIndex, leaf: leaf, type: type, canBeNull: canBeNull, text: text)
    }
}
