import SluiceModel
import SluiceQuery

/// Stores numbers under conditions on the objects at the end of one chain of links.
///
/// A change finds numbers by following the links from the changed object to the ends, in the state before the change
/// and in the state after it.
struct PathTable {
    /// The chain, from the queried class outwards.
    let links: [QueryDependencies.Link]
    /// The numbers that a change of an object of the queried class finds: each result links to an end that meets the
    /// condition.
    var anchors = PropertyConditions()
    /// The numbers that a change of another object of the chain finds.
    var linked = PropertyConditions()
    /// For each position in the chain, the properties that the chain reads of an object after that many links.
    private let properties: [PropertySet]
    /// What the queries of ``linked`` read of objects at the end.
    private var read: PropertySet = []

    /// The most objects that are read for one state of a change. A change that leads to more of them finds all numbers.
    static let objectCountMax = 256

    init(_ links: [QueryDependencies.Link]) {
        self.links = links
        properties = (0...links.count).map { position in
            var properties = PropertySet()
            if position < links.count, !links[position].isBacklink { properties.insert(links[position].property) }
            // An object behind a link that is followed backwards has the link.
            if position > 0, links[position - 1].isBacklink { properties.insert(links[position - 1].property) }
            return properties
        }
    }

    var isEmpty: Bool { anchors.isEmpty && linked.isEmpty }

    /// Files a number under a condition on objects at the end, whose changes find it.
    mutating func insertLinked(_ condition: LinkedCondition, _ number: UInt64) {
        linked.insert(condition.condition, number)
        read.formUnion(condition.reads)
    }

    /// Calls `body` with the numbers of ``anchors`` that a change of an object of the queried class could concern.
    func forEachAnchored(
        by change: ObjectDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) {
        guard links[0].sourceClass == change.object.classIndex, !anchors.isEmpty else { return }
        find(anchors, from: change, at: 0, in: source, before: before, body)
    }

    /// Calls `body` with each number that a change could concern, with some of them more than once.
    func forEachCandidate(
        of change: ObjectDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) {
        let classIndex = change.object.classIndex
        forEachAnchored(by: change, in: source, before: before, body)
        guard !linked.isEmpty else { return }
        for position in 1...links.count
        where links[position - 1].targetClass == classIndex && concerns(change, position) {
            find(linked, from: change, at: position, in: source, before: before, body)
        }
    }

    /// Whether a change alters what the chain and the conditions read of an object after this many links.
    private func concerns(_ change: ObjectDelta, _ position: Int) -> Bool {
        if change.concerns(properties[position]) { return true }
        return position == links.count && change.touches(read)
    }

    private func find(
        _ conditions: PropertyConditions, from change: ObjectDelta, at position: Int, in source: any ObjectSource,
        before: any ObjectSource, _ body: (UInt64) -> Void
    ) {
        for (row, source) in [(change.old, before), (change.new, source)] {
            guard let row else { continue }
            var left = Self.objectCountMax
            // An object that cannot be read could link to any end.
            let isWhole =
                (try? forEachEnd(from: row, at: position, in: source, &left) { conditions.forEach(metBy: $0, body) })
                ?? false
            guard isWhole else { return conditions.forEach(body) }
        }
    }

    /// Follows the rest of the chain from an object on it, and calls `body` with each object at the end.
    ///
    /// - Returns: false if there are more objects than may be followed.
    private func forEachEnd(
        from row: Row, at position: Int, in source: any ObjectSource, _ left: inout Int, _ body: (Row) -> Void
    ) throws -> Bool {
        guard position < links.count else {
            body(row)
            return true
        }
        let link = links[position]
        var keys: [ObjectKey] = []
        if link.isBacklink {
            let object = ObjectRef(link.sourceClass, row.key)
            try source.backlinks(to: object, fromClass: link.classIndex, property: link.property) { key in
                keys.append(key)
                return keys.count <= left
            }
        } else {
            row.forEachLink(in: link.property) { keys.append($0) }
        }
        guard keys.count <= left else { return false }
        left -= keys.count
        for key in keys {
            guard let next = try source.row(ObjectRef(link.targetClass, key)) else { continue }
            guard try forEachEnd(from: next, at: position + 1, in: source, &left, body) else { return false }
        }
        return true
    }
}
