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
            let value = try row.values[link.property].keepingLinks { try shows($0, of: link, in: source) }
            // As if it had been set as a whole: true ids and places would tell how many elements are missing, and where.
            shown.set(value, of: link.property)
        }
        return shown
    }

    /// Edits that the reader made of a list as it is shown, as edits of the whole list. What does not name elements of
    /// the list as it is shown stays as it is.
    ///
    /// - Parameters:
    ///   - row: the object that has the list, readable, in the state that the reader knew.
    ///   - source: the objects as they are, whoever reads.
    /// - Returns: nil if the edits name no elements of the list.
    /// - Complexity: O(n) for n elements, and a look at each target of a link.
    package func revealing(
        _ edits: ListEdits, of link: VeiledLink, _ row: Row, in source: any ObjectSource
    ) throws -> ListEdits? {
        guard let elements = row.list(of: link.property)?.elements else { return nil }
        let shown = try elements.filter { try $0.value.isKept { try shows($0, of: link, in: source) } }
        return edits.revealed(shown)
    }

    private func shows(_ key: ObjectKey, of link: VeiledLink, in source: any ObjectSource) throws -> Bool {
        let target = ObjectRef(link.targetClass, key)
        return try source.row(target).map { try allows($0, ofClass: link.targetClass, in: source) } ?? false
    }
}

extension Value {
    /// The value without the links that do not meet a condition.
    fileprivate func keepingLinks(where isShown: (ObjectKey) throws -> Bool) rethrows -> Value {
        switch self {
        case .link: return try isKept(where: isShown) ? self : .null
        case .list(let elements): return .list(try elements.filter { try $0.isKept(where: isShown) })
        case .set(let elements): return .set(try elements.filter { try $0.isKept(where: isShown) })
        case .map(let map):
            var kept = map
            for entry in map.entries where try !entry.value.isKept(where: isShown) { kept[entry.key] = nil }
            return .map(kept)
        default: return self
        }
    }

    /// Whether the value is no link that does not meet a condition.
    fileprivate func isKept(where isShown: (ObjectKey) throws -> Bool) rethrows -> Bool {
        if case .link(let key) = self { try isShown(key) } else { true }
    }
}
