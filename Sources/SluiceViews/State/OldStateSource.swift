package import SluiceModel
package import SluiceQuery

/// The state before a commit group: the state after it, overlaid with the group's old images.
///
/// It is made once for each group, and all views that the group concerns share it. The index of old links is built when
/// a view first asks for backlinks.
package final class OldStateSource: ObjectSource {
    private let commit: CommitDelta
    private let source: any ObjectSource
    private let schema: Schema
    package let memo: EvaluationMemo? = EvaluationMemo()
    private var linksOfChanged: [Link: [ObjectKey]]?
    /// The group as readers see it, by context.
    private var readings: [ObjectID: ReadableCommit] = [:]

    private struct Link: Hashable {
        let target: ObjectRef
        let classIndex: Int
        let property: Int
    }

    /// - Parameters:
    ///   - commit: the group.
    ///   - source: the state after the group.
    package init(_ commit: CommitDelta, over source: any ObjectSource, schema: Schema) {
        self.commit = commit
        self.source = source
        self.schema = schema
    }

    package var now: Timestamp { commit.time?.before ?? source.now }

    package func row(_ object: ObjectRef) throws -> Row? {
        if let change = commit.change(of: object) { return change.old }
        return try source.row(object)
    }

    package func isPresent(_ object: ObjectRef) throws -> Bool {
        if let change = commit.change(of: object) { return change.old != nil }
        return try source.isPresent(object)
    }

    package func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        var isStopped = false
        try source.backlinks(to: object, fromClass: classIndex, property: property) { key in
            guard commit.change(of: ObjectRef(classIndex, key)) == nil else { return true }
            isStopped = try !body(key)
            return !isStopped
        }
        guard !isStopped else { return }
        let links = linksOfChanged ?? indexLinks()
        linksOfChanged = links
        for key in links[Link(target: object, classIndex: classIndex, property: property)] ?? [] {
            guard try body(key) else { return }
        }
    }

    package func spend(_ stepCount: Int) throws { try source.spend(stepCount) }

    /// The group as the readers of a context see it. Made once for each context.
    ///
    /// - Parameter source: the state after the group.
    func reading(in context: ReadContext, _ source: any ViewSource) throws -> ReadableCommit {
        if let known = readings[context.id] { return known }
        let made = try ReadableCommit(commit, in: context, source, before: self, schema: schema)
        readings[context.id] = made
        return made
    }

    private func indexLinks() -> [Link: [ObjectKey]] {
        var links: [Link: [ObjectKey]] = [:]
        for change in commit.changes {
            guard let old = change.old else { continue }
            let classIndex = change.object.classIndex
            for (property, declared) in schema[classIndex].properties.enumerated() {
                guard let name = declared.type.targetClass, let target = schema.index(of: name) else { continue }
                old.forEachLink(in: property) { key in
                    let link = Link(target: ObjectRef(target, key), classIndex: classIndex, property: property)
                    if links[link]?.last != change.object.key { links[link, default: []].append(change.object.key) }
                }
            }
        }
        return links
    }
}
