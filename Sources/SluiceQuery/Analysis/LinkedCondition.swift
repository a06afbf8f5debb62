package import SluiceModel

/// A condition on one property of an object at the end of a chain of links from the queried object.
package struct LinkedCondition: Sendable, Hashable {
    /// The chain, from the queried class outwards; at least one link.
    package let links: [QueryDependencies.Link]
    /// The condition, on the class at the end of `links`.
    package let condition: RootCondition
    /// What is read of an object at the end, once it meets the condition.
    package let reads: PropertySet

    /// The condition that some object at the end must meet for the comparison to hold for the queried object.
    ///
    /// Nil if the comparison may hold without such an object, as a comparison with null does, or if it asks for all
    /// objects at the end instead of one.
    ///
    /// - Parameter schema: says by which property a class names its objects.
    init?(_ comparison: Query.Comparison, schema: Schema) {
        if let (path, condition) = Self.membership(comparison, schema) {
            self.init(path, condition, reads: [condition.property])
            return
        }
        guard let path = Self.path(of: comparison), let condition = RootCondition(comparison, of: path) else {
            return nil
        }
        self.init(path, condition)
    }

    /// The condition that an object at the end must meet, before or after a change of it, for the change to alter
    /// whether the comparison holds.
    init?(mattering comparison: Query.Comparison, schema: Schema) {
        if Self.membership(comparison, schema) != nil {
            self.init(comparison, schema: schema)
            return
        }
        guard let path = Self.path(of: comparison) else { return nil }
        // With one value, inequality changes exactly when equality does.
        if comparison.comparison == .notEqual, !path.isToMany, case .constant(let value) = comparison.right {
            let equality = Query.Comparison(
                comparison.relation, comparison.left, .equal, .constant(value), ignoresCase: comparison.ignoresCase)
            self.init(equality, schema: schema)
        } else {
            self.init(comparison, schema: schema)
        }
    }

    private init?(_ path: Query.Path, _ condition: RootCondition) {
        if case .equal(.null) = condition.test { return nil }
        links = path.steps.map(QueryDependencies.Link.init)
        self.condition = condition
        reads = [condition.property]
    }

    /// What it means that a collection has a link to one of some objects: the object at its end has one of their keys.
    ///
    /// - Returns: nil for other comparisons, and for a class that names its objects by ids.
    private static func membership(
        _ comparison: Query.Comparison, _ schema: Schema
    ) -> ([QueryDependencies.Link], RootCondition)? {
        guard case .path(let path) = comparison.left, path.scope == 0, case .elements(let property) = path.leaf,
            case .link(let target) = path.type, case .each(.any, _) = comparison.relation,
            let primaryKey = schema[target].primaryKeyIndex
        else { return nil }
        let named: [Value]
        switch (comparison.comparison, comparison.right) {
        case (.isIn, .list(let values)): named = values
        case (.equal, .constant(let value)): named = [value]
        default: return nil
        }
        let keys = named.compactMap { value -> Value? in if case .link(let key) = value { key.value } else { nil } }
        guard keys.count == named.count, case .set(let distinct) = Value.set(of: keys), let first = distinct.first
        else { return nil }
        let last = QueryDependencies.Link(
            classIndex: path.leafClass, property: property, isBacklink: false, sourceClass: path.leafClass,
            targetClass: target)
        let test = distinct.count == 1 ? RootCondition.Test.equal(first) : .isIn(distinct)
        return (path.steps.map(QueryDependencies.Link.init) + [last], RootCondition(property: primaryKey, test))
    }

    private static func path(of comparison: Query.Comparison) -> Query.Path? {
        guard case .path(let path) = comparison.left, path.scope == 0, !path.steps.isEmpty, case .value = path.leaf,
            case .each(.any, _) = comparison.relation
        else { return nil }
        return path
    }
}

extension LinkedCondition {
    private init(_ links: [QueryDependencies.Link], _ condition: RootCondition, reads: PropertySet) {
        self.links = links
        self.condition = condition
        self.reads = reads
    }

    /// Conditions of which an object of a subquery meets one, before or after a change, if the change alters what the
    /// subquery counts. Nil if every object of the collection may count.
    ///
    /// The change is one of an object on the way to the collection or in it; what the subquery reads behind further
    /// links is not among it.
    static func conditions(mattering comparison: Query.Comparison) -> [LinkedCondition]? {
        guard case .path(let path) = comparison.left, path.scope == 0, path.steps.isEmpty,
            case .subquery(let subquery) = path.leaf, subquery.collection.scope == 0,
            !subquery.collection.steps.isEmpty, case .object = subquery.collection.leaf,
            subquery.isOfItsObjects
        else { return nil }
        func best(_ predicate: Query.Predicate) -> RootCondition? {
            RootCondition.conditions(of: predicate, scope: subquery.scope).min { $0.breadth < $1.breadth }
        }
        var conditions: [RootCondition] = []
        if let condition = best(subquery.predicate) {
            conditions = [condition]
        } else if case .or(let branches) = subquery.predicate {
            for branch in branches {
                guard let condition = best(branch) else { return nil }
                if !conditions.contains(condition) { conditions.append(condition) }
            }
        }
        guard !conditions.isEmpty, conditions.count <= 16 else { return nil }
        let links = subquery.collection.steps.map(QueryDependencies.Link.init)
        let reads =
            QueryDependencies(paths: [path]).linkPaths.first { $0.links == links }?.properties
            ?? PropertySet(conditions.map(\.property))
        return conditions.map { LinkedCondition(links, $0, reads: reads) }
    }

    /// Conditions of which some object of a subquery meets one if a comparison of what the subquery counts holds. Nil if
    /// it may hold where nothing counts.
    static func conditions(_ comparison: Query.Comparison) -> [LinkedCondition]? {
        let needsSome =
            switch (comparison.comparison, comparison.right) {
            case (.equal, .constant(.int(let count))), (.greaterOrEqual, .constant(.int(let count))): count > 0
            case (.greater, .constant(.int(let count))): count >= 0
            default: false
            }
        return needsSome ? conditions(mattering: comparison) : nil
    }
}

extension Query.Subquery {
    /// Whether the condition reads the objects of the collection, and beside them at most properties of the queried
    /// object.
    fileprivate var isOfItsObjects: Bool {
        var isOfItsObjects = true
        predicate.forEachComparison { comparison in
            for path in comparison.paths {
                if case .subquery = path.leaf { isOfItsObjects = false }
                guard path.scope != scope else { continue }
                if path.scope == 0, path.plainProperty != nil { continue }
                isOfItsObjects = false
            }
        }
        return isOfItsObjects
    }
}

extension QueryDependencies.Link {
    fileprivate init(_ step: Query.Path.Step) {
        self.init(
            classIndex: step.classIndex, property: step.property, isBacklink: step.isBacklink,
            sourceClass: step.sourceClass, targetClass: step.targetClass)
    }
}

extension LinkedCondition {
    /// The condition in the query language.
    package func text(in schema: Schema) -> String {
        guard let last = links.last else { return "" }
        let names = links.map { link in
            let name = schema[link.classIndex].properties[link.property].name
            return link.isBacklink ? "@links.\(schema[link.classIndex].name).\(name)" : name
        }
        return "\(names.joined(separator: ".")).\(condition.text(in: schema[last.targetClass]))"
    }
}
