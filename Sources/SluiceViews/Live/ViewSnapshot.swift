package import SluiceModel
package import SluiceQuery

/// The content of a view in one state, computed only from the query and the state. Live views are tested against it. It
/// is slow and simple on purpose, and shares no code with ``LiveView``.
package struct ViewSnapshot: Sendable, Hashable {
    /// The roots in order, within the limit.
    package private(set) var roots: [ObjectRef] = []
    /// Every object of the view, roots and linked, with the properties that the view includes of it.
    package private(set) var included: [ObjectRef: PropertySet] = [:]
    /// How many objects match the query; nil unless it asks for its total and has a limit.
    package private(set) var total: Int?
    /// The columns of the groups that the query computes, in order and within its limit; nil unless it has AGGREGATE.
    package private(set) var groups: [[Value]]?

    /// - Throws: what the source throws.
    package init(of query: Query, schema: Schema, in source: any ViewSource) throws {
        if let id = query.object {
            if let object = try source.object(withID: id), try source.isPresent(object) { roots = [object] }
        } else if let aggregates = query.aggregates {
            groups = try Self.groups(of: aggregates, query, schema, in: source)
        } else if !query.stages.isEmpty {
            let evaluator = Evaluator(query, schema: schema)
            var matches: [(key: ObjectKey, values: [Value], id: ObjectID)] = []
            try source.rows(matching: query, after: nil, limit: nil) { row in
                let id = Identity(className: query.className, key: row.key).objectID
                matches.append((row.key, try evaluator.sortValues(of: row, in: source), id))
                return true
            }
            roots = query.results(among: matches, values: \.values, id: \.id)
                .map { ObjectRef(query.classIndex, $0.key) }
        } else {
            try source.rows(matching: query, after: nil, limit: nil) { row in
                if let limit = query.limit, roots.count >= limit { return false }
                roots.append(ObjectRef(query.classIndex, row.key))
                return true
            }
        }
        if query.hasTotal {
            var count = 0
            try source.rows(matching: query.condition, after: nil, limit: nil) { _ in
                count += 1
                return true
            }
            total = count
        }
        var seen: [ObjectRef: Set<Int>] = [:]
        var queue = roots.map { (object: $0, position: ExclusionTree.root) }
        while let (object, position) = queue.popLast() {
            guard let row = try source.row(object), seen[object, default: []].insert(position).inserted else {
                continue
            }
            for (property, declared) in schema[object.classIndex].properties.enumerated()
            where !query.exclusions.isExcluded(property: property, at: position)
                && !query.context.veil(ofClass: object.classIndex).properties.contains(property)
            {
                included[object, default: []].insert(property)
                guard let target = declared.type.targetClass.flatMap(schema.index(of:)),
                    let next = query.exclusions.next(following: property, at: position)
                else { continue }
                row.values[property].forEachLink { queue.append((ObjectRef(target, $0), next)) }
            }
        }
    }

    /// Computes the columns of all groups, with what aggregates in conditions are computed with.
    private static func groups(
        of aggregates: Query.Aggregates, _ query: Query, _ schema: Schema, in source: any ViewSource
    ) throws -> [[Value]] {
        let evaluator = Evaluator(query, schema: schema)
        var members: [[Value]: [[Value]]] = aggregates.isGrouped ? [:] : [[]: []]
        try source.rows(matching: query.condition, after: nil, limit: nil) { row in
            let values = try evaluator.sortValues(of: row, in: source)
            members[Array(values.prefix(aggregates.groups.count)), default: []].append(values)
            return true
        }
        let groups = members.map { keys, rows in
            keys
                + aggregates.functions.map { function in
                    guard case .value(let operation, let path, let type) = function else {
                        return .int(Int64(rows.count))
                    }
                    var aggregation = Aggregation(operation, of: type)
                    for row in rows { aggregation.add(row[path]) }
                    return aggregation.result
                }
        }
        return Array(groups.sorted { aggregates.compare($0, $1) < 0 }.prefix(aggregates.limit ?? .max))
    }

    /// The objects in the view that are not roots.
    package var linked: Set<ObjectRef> { Set(included.keys).subtracting(roots) }
}
