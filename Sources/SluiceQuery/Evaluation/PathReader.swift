internal import SluiceModel

/// Follows one path from rows: to test its values, to read its value, or to see whether everything on it is here.
final class PathReader: Sendable {
    private let steps: [Query.Path.Step]
    private let leaf: Query.Path.Leaf
    private let brokenValue: Value
    /// From which step on the path has one value.
    private let singleFrom: Int
    /// Whether the leaf is the primary key of the last link's target: the link itself holds it.
    private let endsAtKey: Bool
    /// The class that links at the leaf lead to.
    private let leafTarget: Int?

    init(_ path: Query.Path, schema: Schema) {
        steps = path.steps
        leaf = path.leaf
        brokenValue = path.brokenValue
        switch path.leaf {
        case .elements, .keys: singleFrom = .max
        default: singleFrom = (path.steps.lastIndex(where: \.isToMany) ?? -1) + 1
        }
        if case .value(let property) = path.leaf, !path.steps.isEmpty {
            endsAtKey = property == schema[path.leafClass].primaryKeyIndex
        } else {
            endsAtKey = false
        }
        switch (path.leaf, path.type) {
        case (.presence(_, let target), _), (_, .link(let target)): leafTarget = target
        default: leafTarget = nil
        }
    }

    // MARK: Testing

    /// Whether at least one value passes the test, or fails it if `isNegated`.
    func anyValue(
        of row: Row, in source: any ObjectSource, passes test: ValueTest, isNegated: Bool
    ) throws -> Bool {
        steps.isEmpty
            ? try anyLeaf(of: row, in: source, test, isNegated)
            : try anyValue(of: row, from: 0, in: source, test, isNegated)
    }

    private func anyValue(
        of row: Row, from index: Int, in source: any ObjectSource, _ test: ValueTest, _ isNegated: Bool
    ) throws -> Bool {
        guard index < steps.count else { return try anyLeaf(of: row, in: source, test, isNegated) }
        switch row.values[steps[index].property] {
        case .link(let key):
            if let result = try anyValue(behind: key, index, in: source, test, isNegated) { return result }
        case .list(let links), .set(let links):
            for case .link(let key) in links
            where try anyValue(behind: key, index, in: source, test, isNegated) ?? false {
                return true
            }
        case .map(let map):
            for case .link(let key) in map.entries.lazy.map(\.value)
            where try anyValue(behind: key, index, in: source, test, isNegated) ?? false {
                return true
            }
        default: break
        }
        return index >= singleFrom && test.passes(brokenValue) != isNegated
    }

    /// Nil for a ghost.
    private func anyValue(
        behind key: ObjectKey, _ index: Int, in source: any ObjectSource, _ test: ValueTest, _ isNegated: Bool
    ) throws -> Bool? {
        let object = ObjectRef(steps[index].targetClass, key)
        if endsAtKey, index == steps.count - 1 {
            return try source.isPresent(object) ? test.passes(key.value) != isNegated : nil
        }
        guard let row = try source.row(object) else { return nil }
        return try anyValue(of: row, from: index + 1, in: source, test, isNegated)
    }

    private func anyLeaf(
        of row: Row, in source: any ObjectSource, _ test: ValueTest, _ isNegated: Bool
    ) throws -> Bool {
        switch leaf {
        case .value(let property): return test.passes(row.values[property]) != isNegated
        case .elements(let property):
            switch row.values[property] {
            case .list(let elements), .set(let elements):
                for element in elements where try passes(element, in: source, test, isNegated) { return true }
            case .map(let map):
                for entry in map.entries where try passes(entry.value, in: source, test, isNegated) { return true }
            default: break
            }
            return false
        case .keys(let property):
            guard case .map(let map) = row.values[property] else { return false }
            return map.entries.contains { test.passes(.string($0.key)) != isNegated }
        default: return test.passes(try leafValue(of: row, in: source)) != isNegated
        }
    }

    private func passes(
        _ element: Value, in source: any ObjectSource, _ test: ValueTest, _ isNegated: Bool
    ) throws -> Bool {
        if let leafTarget {
            guard case .link(let key) = element, try source.isPresent(ObjectRef(leafTarget, key)) else { return false }
        }
        return test.passes(element) != isNegated
    }

    // MARK: Reading

    /// The value of a path that has one.
    func value(of row: Row, in source: any ObjectSource) throws -> Value {
        var row = row
        for (index, step) in steps.enumerated() {
            guard case .link(let key) = row.values[step.property] else { return brokenValue }
            let object = ObjectRef(step.targetClass, key)
            if endsAtKey, index == steps.count - 1 { return try source.isPresent(object) ? key.value : .null }
            guard let next = try source.row(object) else { return brokenValue }
            row = next
        }
        return try leafValue(of: row, in: source)
    }

    private func leafValue(of row: Row, in source: any ObjectSource) throws -> Value {
        let value = row.values[leafProperty]
        switch (leaf, value) {
        case (.value, _): return value
        case (.link, .link(let key)): return try isPresent(key, in: source) ? value : .null
        case (.presence, .link(let key)): return .int(try isPresent(key, in: source) ? 1 : 0)
        case (.presence, _): return .int(0)
        case (.entry(_, .string(let key)), .map(let map)): return map[key] ?? .null
        case (.count, .list(let elements)), (.count, .set(let elements)): return .int(Int64(elements.count))
        case (.count, .map(let map)): return .int(Int64(map.entries.count))
        case (.size, .string(let text)): return .int(Int64(text.utf8.count))
        case (.size, .data(let bytes)): return .int(Int64(bytes.count))
        default: return .null
        }
    }

    private func isPresent(_ key: ObjectKey, in source: any ObjectSource) throws -> Bool {
        guard let leafTarget else { return false }
        return try source.isPresent(ObjectRef(leafTarget, key))
    }

    private var leafProperty: Int {
        switch leaf {
        case .value(let property), .link(let property), .elements(let property), .keys(let property),
            .entry(let property, _), .count(let property), .size(let property), .presence(let property, _):
            property
        }
    }

    // MARK: Judging

    /// Whether no property on the path is absent, from the row to the last object that it leads to.
    func isHere(_ row: Row, from index: Int = 0, in source: any ObjectSource) throws -> Bool {
        guard index < steps.count else { return !row.absent.contains(leafProperty) }
        guard !row.absent.contains(steps[index].property) else { return false }
        let links: [Value]
        switch row.values[steps[index].property] {
        case .list(let elements), .set(let elements): links = elements
        case .map(let map): links = map.entries.map(\.value)
        case let single: links = [single]
        }
        if endsAtKey, index == steps.count - 1 { return true }
        for case .link(let key) in links {
            if let target = try source.row(ObjectRef(steps[index].targetClass, key)),
                try !isHere(target, from: index + 1, in: source)
            {
                return false
            }
        }
        return true
    }
}
