internal import SluiceModel

/// Follows one path from objects to its values, or to the objects at its end.
final class PathReader: Sendable {
    /// What a path leads to.
    enum End {
        case row(Row)
        /// A present object of which only the key is needed.
        case key(ObjectKey)
        /// A to-one link after the last collection leads nowhere.
        case broken
    }

    let scope: Int
    private let steps: [Query.Path.Step]
    private let leaf: LeafReader
    /// The property that is all that the path reads, without any step; nil for any other path.
    private let plainProperty: Int?
    private let brokenValue: Value
    /// The index of the step from which on the path has one value.
    private let singleFrom: Int
    /// Whether the key of the last link's target is all that the leaf reads.
    private let endsAtKey: Bool
    /// Whether the path has many values.
    let isToMany: Bool
    private let leadingLinkCount: Int

    /// - Parameter readsObjects: whether the objects at the end are needed, and not what the leaf reads from them.
    init(_ path: Query.Path, schema: Schema, readsObjects: Bool = false) {
        scope = path.scope
        leadingLinkCount = path.leadingLinks.count
        steps = path.steps
        leaf = LeafReader(path, schema: schema)
        plainProperty = path.plainProperty
        brokenValue = path.brokenValue
        isToMany = path.isToMany
        switch path.leaf {
        case .elements, .keys: singleFrom = .max
        default: singleFrom = (path.steps.lastIndex(where: \.isToMany) ?? -1) + 1
        }
        switch path.leaf {
        case _ where path.steps.isEmpty || readsObjects: endsAtKey = false
        case .value(let property): endsAtKey = property == schema[path.leafClass].primaryKeyIndex
        case .object: endsAtKey = true
        default: endsAtKey = false
        }
    }

    // MARK: Values

    /// Whether at least one value passes a test.
    func anyValue(
        in context: EvaluationContext, _ source: any ObjectSource, _ test: (Value) throws -> Bool
    ) throws -> Bool {
        if singleFrom == 0 { return try test(value(in: context, source)) }
        let row = context.row(at: scope)
        if steps.isEmpty { return try leaf.anyValue(of: row.pointee, context, source, test) }
        return try anyEnd(of: row.pointee, in: source) { end in
            switch end {
            case .row(let row): try leaf.anyValue(of: row, context, source, test)
            case .key(let key): try test(leaf.value(of: key))
            case .broken: try test(brokenValue)
            }
        }
    }

    /// The value of a path with one value.
    func value(in context: EvaluationContext, _ source: any ObjectSource) throws -> Value {
        let row = context.row(at: scope)
        if let plainProperty { return row.pointee.values[plainProperty] }
        if steps.isEmpty { return try leaf.value(of: row.pointee, context, source) }
        return try value(behind: 0, of: row.pointee, context, source)
    }

    /// Follows single links from the step at `index` on, and reads the value at their end.
    private func value(
        behind index: Int, of row: Row, _ context: EvaluationContext, _ source: any ObjectSource
    ) throws -> Value {
        guard let key = key(steps[index], in: row) else { return brokenValue }
        let object = ObjectRef(steps[index].targetClass, key)
        let isLast = index == steps.count - 1
        if isLast, endsAtKey { return try source.isPresent(object) ? leaf.value(of: key) : brokenValue }
        guard let target = try source.row(object) else { return brokenValue }
        return isLast
            ? try leaf.value(of: target, context, source)
            : try value(behind: index + 1, of: target, context, source)
    }

    /// The target of a single link.
    private func key(_ step: Query.Path.Step, in row: Row) -> ObjectKey? {
        if let selection = step.selection {
            if case .link(let key) = row.values[step.property].element(at: selection) { return key }
        } else if case .link(let key) = row.values[step.property] {
            return key
        }
        return nil
    }

    // MARK: Objects

    /// The object that the path's leading links lead to; nil if there are none, or they lead nowhere.
    func sharedObject(of row: Row, in source: any ObjectSource) throws -> ObjectKey? {
        guard leadingLinkCount > 0, var key = key(steps[0], in: row) else { return nil }
        for index in 1..<max(1, leadingLinkCount) {
            guard let next = try source.row(ObjectRef(steps[index - 1].targetClass, key)),
                let target = self.key(steps[index], in: next)
            else { return nil }
            key = target
        }
        return key
    }

    /// Whether at least one end of the steps passes a test, a broken one included.
    func anyEnd(of row: Row, in source: any ObjectSource, _ test: (End) throws -> Bool) throws -> Bool {
        try anyEnd(of: row, from: 0, in: source, test)
    }

    private func anyEnd(
        of row: Row, from index: Int, in source: any ObjectSource, _ test: (End) throws -> Bool
    ) throws -> Bool {
        guard index < steps.count else { return try test(.row(row)) }
        let step = steps[index]
        if step.isBacklink { return try anyEnd(linkingTo: row, index, in: source, test) }
        let value = row.values[step.property]
        switch step.selection.map({ value.element(at: $0) }) ?? value {
        case .link(let key):
            if let result = try anyEnd(behind: key, index, in: source, test) { return result }
        case .list(let links), .set(let links):
            for case .link(let key) in links where try anyEnd(behind: key, index, in: source, test) ?? false {
                return true
            }
        case .map(let map):
            for entry in map.entries {
                if case .link(let key) = entry.value, try anyEnd(behind: key, index, in: source, test) ?? false {
                    return true
                }
            }
        default: break
        }
        return try index >= singleFrom && test(.broken)
    }

    private func anyEnd(
        linkingTo row: Row, _ index: Int, in source: any ObjectSource, _ test: (End) throws -> Bool
    ) throws -> Bool {
        let step = steps[index]
        var isFound = false
        try source.backlinks(
            to: ObjectRef(step.sourceClass, row.key), fromClass: step.classIndex, property: step.property
        ) { key in
            isFound = try anyEnd(behind: key, index, in: source, test) ?? false
            return !isFound
        }
        return isFound
    }

    /// Follows the steps after a link's target; nil if the target is a ghost.
    private func anyEnd(
        behind key: ObjectKey, _ index: Int, in source: any ObjectSource, _ test: (End) throws -> Bool
    ) throws -> Bool? {
        let object = ObjectRef(steps[index].targetClass, key)
        if endsAtKey, index == steps.count - 1 { return try source.isPresent(object) ? test(.key(key)) : nil }
        guard let row = try source.row(object) else { return nil }
        return try anyEnd(of: row, from: index + 1, in: source, test)
    }
}

extension Value {
    /// One element of a list, or one value of a map; null if there is none.
    func element(at selection: Query.Path.Selection) -> Value {
        switch (selection, self) {
        case (.index(let index), .list(let elements)): index < elements.count ? elements[index] : .null
        case (.last, .list(let elements)): elements.last ?? .null
        case (.key(let key), .map(let map)): map[key] ?? .null
        default: .null
        }
    }
}
