package import SluiceModel
package import SluiceQuery

extension CommitDelta {
    /// The same commit with the objects whose dates have passed: they count as concerned, though they may not have
    /// changed. O(log n + objects) for each edge whose property has an index.
    ///
    /// - Parameters:
    ///   - edges: what may pass.
    ///   - source: the state after the commit.
    ///   - authors: whose change it is that they have passed: positions in the engine's list of authors.
    ///   - countMax: the most objects wanted.
    /// - Returns: nil if there are more.
    /// - Throws: what the source throws.
    package func passing(
        _ edges: some Sequence<TimeEdge>, in source: any ViewSource, schema: Schema, by authors: [Int] = [],
        countMax: Int = .max
    ) throws -> CommitDelta? {
        guard let time, time.before < time.after else { return self }
        var passed: [ObjectRef: (row: Row, properties: PropertySet)] = [:]
        var order: [ObjectRef] = []
        for edge in edges {
            let query = try edge.passed(after: time.before, until: time.after, schema: schema)
            try source.rows(matching: query, after: nil, limit: nil) { row in
                let object = ObjectRef(edge.classIndex, row.key)
                if passed[object] == nil { order.append(object) }
                passed[object, default: (row, [])].properties.insert(edge.property)
                return order.count <= countMax
            }
            guard order.count <= countMax else { return nil }
        }
        guard !order.isEmpty else { return self }
        var merged = changes.map { change in
            guard let properties = passed.removeValue(forKey: change.object)?.properties else { return change }
            return ObjectDelta(
                object: change.object, old: change.old, new: change.new, authors: change.authors,
                written: change.changed, passed: properties)
        }
        for object in order {
            guard let (row, properties) = passed[object] else { continue }
            merged.append(ObjectDelta(object: object, old: row, new: row, authors: authors, passed: properties))
        }
        return CommitDelta(changes: merged, version: version, time: time)
    }
}

extension TimeEdge {
    /// When the next date passes after a time; nil if none ever does. O(log n) with an index of the property.
    ///
    /// - Throws: what the source throws.
    package func next(after time: Timestamp, in source: any ViewSource, schema: Schema) throws -> Timestamp? {
        var next: Timestamp?
        try source.rows(matching: self.next(after: time, schema: schema), after: nil, limit: 1) { row in
            if case .date(let date) = row.values[property] { next = passing(of: date) }
            return false
        }
        return next
    }
}
