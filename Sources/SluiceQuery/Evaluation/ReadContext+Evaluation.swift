package import SluiceModel

extension ReadContext {
    /// Whether an object is readable.
    ///
    /// - Parameter source: the objects as they are, whoever reads.
    package func allows(_ row: Row, ofClass classIndex: Int, in source: any ObjectSource) throws -> Bool {
        let evaluator = prepared(ofClass: classIndex) { Evaluator($0, schema: schema) }
        return try evaluator?.matches(row, in: source) ?? true
    }

    /// An object that is readable, as the reader sees it: links to objects of classes that hide who they are lead
    /// nowhere unless the target is there and readable, and collections lack such links.
    ///
    /// - Parameter source: the objects as they are, whoever reads.
    /// - Complexity: a look at each target of such a link.
    package func shown(_ row: Row, ofClass classIndex: Int, in source: any ObjectSource) throws -> Row {
        let links = veiledLinks(ofClass: classIndex)
        guard !links.isEmpty else { return row }
        var shown = row
        for link in links where row.values.indices.contains(link.property) {
            func isKept(_ key: ObjectKey) throws -> Bool {
                let target = ObjectRef(link.targetClass, key)
                return try source.row(target).map { try allows($0, ofClass: link.targetClass, in: source) } ?? false
            }
            if case .list(let elements) = row.values[link.property] {
                let kept = try elements.map { if case .link(let key) = $0 { try isKept(key) } else { true } }
                shown.keepElements(kept, ofList: link.property)
            } else {
                shown.values[link.property] = try row.values[link.property].keepingLinks(where: isKept)
            }
        }
        return shown
    }
}

extension Value {
    /// The value without the links that do not meet a condition.
    fileprivate func keepingLinks(where isKept: (ObjectKey) throws -> Bool) rethrows -> Value {
        func keeps(_ value: Value) throws -> Bool { if case .link(let key) = value { try isKept(key) } else { true } }
        switch self {
        case .link: return try keeps(self) ? self : .null
        case .set(let elements): return .set(try elements.filter(keeps))
        case .map(let map):
            var kept = map
            for entry in map.entries where try !keeps(entry.value) { kept[entry.key] = nil }
            return .map(kept)
        default: return self
        }
    }
}
