package import SluiceModel

/// Reads the leaf of a path from the object at its end.
final class LeafReader: Sendable {
    private let leaf: Query.Path.Leaf
    /// The class of the objects read.
    private let classIndex: Int
    /// The class that links lead to.
    private let target: Int?
    /// Reads the values to aggregate, or the objects that a subquery counts.
    private let elements: PathReader?
    private let elementType: ScalarType
    private let condition: EvaluatorNode?
    /// Whether reading requires a search, and the value depends on nothing but the object read.
    private let isCostly: Bool
    /// Whether links lead to the object read, so that other objects may lead to it too.
    private let isReached: Bool

    init(_ path: Query.Path, schema: Schema) {
        leaf = path.leaf
        classIndex = path.leafClass
        isCostly = path.isCostly
        isReached = !path.steps.isEmpty
        switch (path.leaf, path.type) {
        case (.presence(_, let target), _), (_, .link(let target)): self.target = target
        default: target = nil
        }
        switch path.leaf {
        case .aggregate(_, let path):
            elements = PathReader(path, schema: schema)
            condition = nil
            if case .scalar(let type) = path.type { elementType = type } else { elementType = .int }
        case .subquery(let subquery):
            elements = PathReader(subquery.collection, schema: schema, readsObjects: true)
            condition = EvaluatorNode(subquery.predicate, schema: schema)
            elementType = .int
        default:
            elements = nil
            condition = nil
            elementType = .int
        }
    }

    /// The value of an object of which only the key is known.
    func value(of key: ObjectKey) -> Value {
        if case .object = leaf { .link(key) } else { key.value }
    }

    /// Whether at least one value passes a test.
    func anyValue(
        of row: Row, _ context: EvaluationContext, _ source: any ObjectSource, _ test: (Value) throws -> Bool
    ) throws -> Bool {
        switch leaf {
        case .value(let property): return try test(row.values[property])
        case .elements(let property):
            switch row.values[property] {
            case .list(let elements), .set(let elements):
                for element in elements where try passes(element, source, test) { return true }
            case .map(let map):
                for entry in map.entries where try passes(entry.value, source, test) { return true }
            default: break
            }
            return false
        case .keys(let property):
            guard case .map(let map) = row.values[property] else { return false }
            for entry in map.entries where try test(.string(entry.key)) { return true }
            return false
        case .object, .link, .entry, .element, .count, .size, .presence, .whole, .backlinkCount, .aggregate, .subquery:
            return try test(value(of: row, context, source))
        }
    }

    private func passes(
        _ element: Value, _ source: any ObjectSource, _ test: (Value) throws -> Bool
    ) throws -> Bool {
        if target != nil {
            guard case .link(let key) = element, try isPresent(key, source) else { return false }
        }
        return try test(element)
    }

    /// The value of a leaf with one value.
    func value(of row: Row, _ context: EvaluationContext, _ source: any ObjectSource) throws -> Value {
        guard isCostly, let memo = source.memo, let object = try sharedObject(row, context, source) else {
            return try read(row, context, source)
        }
        return try memo.value(of: self, object) { try read(row, context, source) }
    }

    /// The object that alone determines a costly value; nil if that is the object that the condition judges.
    private func sharedObject(
        _ row: Row, _ context: EvaluationContext, _ source: any ObjectSource
    ) throws -> ObjectKey? {
        if isReached { return row.key }
        guard let elements else { return nil }
        if case .subquery = leaf {
            return try elements.sharedObject(of: context.row(at: elements.scope).pointee, in: source)
        }
        return try elements.sharedObject(of: row, in: source)
    }

    private func read(_ row: Row, _ context: EvaluationContext, _ source: any ObjectSource) throws -> Value {
        switch leaf {
        case .value(let property): return row.values[property]
        case .link(let property): return try present(row.values[property], source)
        case .presence(let property, _): return .int(try present(row.values[property], source).isNull ? 0 : 1)
        case .entry(let property, let key):
            guard case .map(let map) = row.values[property], case .string(let key) = key else { return .null }
            return map[key] ?? .null
        case .element(let property, let selection): return row.values[property].element(at: selection)
        case .count(let property): return .int(Int64(row.values[property].elementCount))
        case .size(let property): return row.values[property].byteCount.map { .int(Int64($0)) } ?? .null
        case .object: return .link(row.key)
        case .whole(let property): return try whole(row.values[property], source)
        case .backlinkCount(let backlinks): return .int(try count(backlinks, to: row.key, source))
        case .aggregate(let operation, _):
            var aggregation = Aggregation(operation, of: elementType)
            _ = try EvaluationContext.with(row) { context in
                try elements?.anyValue(in: context, source) { value in
                    aggregation.add(value)
                    return false
                }
            }
            return aggregation.result
        case .subquery: return .int(try matchCount(context, source))
        case .elements, .keys: return .null
        }
    }

    private func isPresent(_ key: ObjectKey, _ source: any ObjectSource) throws -> Bool {
        guard let target else { return false }
        return try source.isPresent(ObjectRef(target, key))
    }

    private func present(_ value: Value, _ source: any ObjectSource) throws -> Value {
        guard case .link(let key) = value, try isPresent(key, source) else { return .null }
        return value
    }

    private func whole(_ value: Value, _ source: any ObjectSource) throws -> Value {
        guard target != nil else { return value }
        switch value {
        case .list(let elements) where try hasGhosts(elements, source):
            return .list(try elements.map { try present($0, source) })
        case .set(let elements) where try hasGhosts(elements, source):
            return .set(try elements.map { try present($0, source) })
        default: return value
        }
    }

    private func hasGhosts(_ elements: [Value], _ source: any ObjectSource) throws -> Bool {
        for case .link(let key) in elements where try !isPresent(key, source) { return true }
        return false
    }

    private func count(
        _ backlinks: [Query.Path.Backlink], to key: ObjectKey, _ source: any ObjectSource
    ) throws -> Int64 {
        var count: Int64 = 0
        for backlink in backlinks {
            try source.backlinks(
                to: ObjectRef(classIndex, key), fromClass: backlink.classIndex, property: backlink.property
            ) { _ in
                count += 1
                return true
            }
        }
        return count
    }

    private func matchCount(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Int64 {
        guard let elements, let condition else { return 0 }
        var count: Int64 = 0
        _ = try elements.anyEnd(of: context.row(at: elements.scope).pointee, in: source) { end in
            guard case .row(let row) = end else { return false }
            if try context.entering(row, { try condition.matches($0, source) }) { count += 1 }
            return false
        }
        return count
    }
}

extension Value {
    /// The number of elements; 0 for a value that is not a collection.
    var elementCount: Int {
        switch self {
        case .list(let elements), .set(let elements): elements.count
        case .map(let map): map.entries.count
        default: 0
        }
    }

    /// The length of text in UTF-8 or of data; nil for everything else.
    package var byteCount: Int? {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        default: nil
        }
    }
}
