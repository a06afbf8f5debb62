import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

/// A follower of a view, which knows only the view's bootstrap and its deltas.
struct ViewMirror {
    struct Known {
        var role: ViewRole
        var included: PropertySet
        var values: [Int: Value]
    }

    private(set) var objects: [ObjectRef: Known] = [:]
    private let context: String

    /// Reads the bootstrap of an active view.
    init(_ view: LiveView, _ source: MemorySource, context: String) throws {
        self.context = context
        var roots = view.heldRoots ?? []
        if view.heldRoots == nil {
            try source.rows(matching: view.query, after: nil, limit: nil) { row in
                roots.append(ObjectRef(view.query.classIndex, row.key))
                return true
            }
        }
        let readable = try source.readable(in: view.query.context)
        for root in roots where source.isPresent(root) { learn(root, .root, view.includedOfRoot(root), readable) }
        try view.forEachLinked(in: source) { object, included in
            #expect(objects[object] == nil, "\(context): \(object) is listed twice")
            learn(object, .linked, included, readable)
        }
    }

    private mutating func learn(
        _ object: ObjectRef, _ role: ViewRole, _ included: PropertySet, _ source: MemorySource
    ) {
        objects[object] = Known(role: role, included: included, values: [:])
        copy(included, of: object, source)
    }

    private mutating func copy(_ properties: PropertySet, of object: ObjectRef, _ source: MemorySource) {
        guard let row = source.row(object) else {
            Issue.record("\(context): \(object) is in the view and not in the state")
            return
        }
        for property in properties { objects[object]?.values[property] = row.values[property] }
    }

    mutating func apply(_ delta: ViewDelta, _ view: LiveView, _ source: MemorySource, _ commit: CommitDelta) throws {
        #expect(!delta.isEmpty, "\(context): an empty delta")
        #expect(!delta.authors.isEmpty, "\(context): nobody caused \(delta)")
        let known = Set(commit.changes.flatMap(\.authors))
        #expect(known.isSuperset(of: delta.authors), "\(context): unknown authors")
        let before = objects
        let readable = try source.readable(in: view.query.context)
        for departure in delta.left {
            #expect(before[departure.object]?.role == .root, "\(context): \(departure.object) left and was no root")
            #expect(departure.reason == (try reason(departure.object, view, source)), "\(context): \(departure)")
            objects[departure.object] = nil
        }
        for departure in delta.linkedLeft {
            #expect(before[departure.object]?.role == .linked, "\(context): \(departure.object) left, was not linked")
            let isReadable = readable.isPresent(departure.object)
            let reason: RemovalReason =
                isReadable ? .filter : source.isPresent(departure.object) ? .permission : .deleted
            #expect(departure.reason == reason, "\(context): \(departure)")
            objects[departure.object] = nil
        }
        for object in delta.entered {
            #expect(before[object.object]?.role != .root, "\(context): \(object) entered and was a root")
            take(object, .root, from: before, readable)
        }
        for object in delta.linkedEntered {
            #expect(before[object.object]?.role != .linked, "\(context): \(object) entered and was linked")
            take(object, .linked, from: before, readable)
        }
        for (list, role) in [(delta.updated, ViewRole.root), (delta.linkedUpdated, .linked)] {
            for object in list {
                #expect(before[object.object]?.role == role, "\(context): \(object) updated, not in that role before")
                #expect(
                    !object.changed.isEmpty || before[object.object]?.included != object.included,
                    "\(context): \(object) updated for nothing")
                take(object, role, from: before, readable)
            }
        }
    }

    private mutating func take(
        _ object: ViewObject, _ role: ViewRole, from before: [ObjectRef: Known], _ source: MemorySource
    ) {
        let old = before[object.object]
        #expect(object.changed.subtracting(object.included).isEmpty, "\(context): \(object) sends what is excluded")
        let row = source.row(object.object)
        for property in object.changed {
            #expect(
                old?.values[property] == nil || old?.values[property] != row?.values[property],
                "\(context): \(object) sends property \(property), which did not change")
        }
        let kept = (old?.values ?? [:]).filter { object.included.contains($0.key) }
        objects[object.object] = Known(role: role, included: object.included, values: kept)
        copy(object.changed, of: object.object, source)
    }

    private func reason(_ object: ObjectRef, _ view: LiveView, _ source: MemorySource) throws -> RemovalReason {
        guard source.isPresent(object) else { return .deleted }
        let readable = try source.readable(in: view.query.context)
        guard let row = readable.row(object) else { return .permission }
        return try view.evaluator.matches(row, in: readable) ? .window : .filter
    }

    /// Compares with the oracle.
    func check(_ view: LiveView, _ source: MemorySource) throws {
        let readable = try source.readable(in: view.query.context)
        let snapshot = try ViewSnapshot(
            of: view.query.read(in: .everything), schema: source.schema, in: readable)
        let roots = Set(objects.filter { $0.value.role == .root }.keys)
        #expect(roots == Set(snapshot.roots), "\(context): roots")
        #expect(Set(objects.keys).subtracting(roots) == snapshot.linked, "\(context): linked objects")
        if let current = view.heldRoots, view.query.object == nil {
            #expect(current == snapshot.roots, "\(context): order of the window")
        }
        for (object, included) in snapshot.included {
            guard let known = objects[object] else { continue }
            #expect(known.included == included, "\(context): what is included of \(object)")
            let row = readable.row(object)
            for property in included {
                #expect(
                    known.values[property] == row?.values[property],
                    "\(context): \(object) property \(property) is stale")
            }
            let role: ViewRole = roots.contains(object) ? .root : .linked
            #expect(try view.member(object, in: source) == ViewMember(role: role, included: included), "\(context)")
        }
    }
}
