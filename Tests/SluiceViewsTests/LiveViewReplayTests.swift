import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

@Suite(.ownThread) struct LiveViewReplayTests {
    /// A past state, and the changes since then with each object's past image.
    private struct Past {
        let source = MemorySource()
        var olds: [ObjectRef: Row?] = [:]

        init(_ present: MemorySource) {
            source.now = present.now
            for (classIndex, rows) in present.rows.enumerated() {
                for (key, row) in rows { source.set(ObjectRef(classIndex, key), row) }
            }
        }

        mutating func note(_ commit: CommitDelta) {
            for change in commit.changes where olds[change.object] == nil {
                olds.updateValue(change.old, forKey: change.object)
            }
        }

        func commit(to present: MemorySource) -> CommitDelta {
            let changes = olds.keys.sorted().compactMap { object -> ObjectDelta? in
                let (old, new) = (olds[object] ?? nil, present.row(object))
                return old == nil && new == nil ? nil : ObjectDelta(object: object, old: old, new: new, authors: [])
            }
            return CommitDelta(changes: changes, version: 1, time: TimeStep(from: source.now, to: present.now))
        }
    }

    /// A client that knows a past state of a view and applies the differences knows its present state. A failure names
    /// the seed, the step and the query.
    @Test(arguments: seeds(8))
    func aFollowerOfThePastWithTheDifferencesEqualsTheOracle(seed: UInt64) throws {
        try followPasts(seed: seed, readers: 0)
    }

    @Test(arguments: seeds(8))
    func aFollowerWhoMayNotReadEverythingEqualsTheOracleToo(seed: UInt64) throws {
        try followPasts(seed: 100 + seed, readers: 3)
    }

    /// - Parameter readers: how many contexts there are beside that of a reader of everything.
    private func followPasts(seed: UInt64, readers: Int) throws {
        var world =
            seed % 4 == 3
            ? RandomWorld(seed: seed, keyCount: 80, classes: [TestSchema.user])
            : RandomWorld(seed: seed, keyCount: [5, 12, 40][Int(seed % 4)])
        let source = MemorySource()
        for _ in 0..<100 {
            let object = world.object()
            source.set(object, world.row(for: object))
        }
        let contexts = try (0..<readers).map { _ in try world.context() } + [.everything]
        var views: [LiveView] = []
        while views.count < 8 {
            let isOfObject = world.generator.chance(10)
            let object = world.object()
            let name = TestSchema.schema[object.classIndex].name
            let text =
                isOfObject
                ? "OBJECT(\(Identity(className: name, key: object.key).objectID))" : world.queryText(readsTime: true)
            guard let query = try? TestSchema.query(text).read(in: world.generator.pick(contexts)) else { continue }
            let shape = ViewShape(
                query.form, in: query.context, schema: source.schema, affectedCountMax: [1_000, 0, 2][Int(seed % 3)])
            let view = LiveView(query, shape: shape, overscan: world.generator.pick([nil, 0, 1, 3]))
            try view.activate(in: source)
            views.append(view)
        }
        var pasts: [Past] = []
        for step in 0..<40 {
            pasts.append(Past(source))
            if pasts.count > 6 { pasts.removeFirst() }
            if world.generator.chance(50) {
                source.now = source.now.advanced(by: world.generator.pick([1, 2, 5]))
            }
            let (plain, _) = source.commit(world.edits(in: source))
            for index in pasts.indices { pasts[index].note(plain) }
            for view in views {
                let edges = view.query.form.timeEdges
                let commit = try #require(try plain.passing(edges, in: source, schema: source.schema))
                let before = OldStateSource(commit, over: source, schema: source.schema)
                _ = try view.apply(commit, in: source, before: before)
                let past = world.generator.pick(pasts)
                let context = "seed \(seed), step \(step): \(view.query) in \(view.query.context)"
                try check(view, past, source, context)
                let readable = try source.readable(in: view.query.context)
                let query = view.query.read(in: .everything)
                let roots = try ViewSnapshot(of: query, schema: source.schema, in: readable).roots
                #expect(try view.closure?.problems(roots: roots, in: readable).isEmpty ?? true, "\(context)")
            }
        }
    }

    /// A client may hold a value of a time in between, so what was changed and changed back is told, unless the value is
    /// a link whose target may not be seen.
    @Test func whatWasWrittenIsToldAlthoughItIsAsItWas() throws {
        let source = MemorySource()
        let (ada, boss) = (ObjectRef(TestSchema.user, .int(1)), ObjectRef(TestSchema.user, .int(2)))
        let row = Row(key: ada.key, values: [.int(1), .string("Ada"), .int(30), .list([]), .link(boss.key), .null])
        source.set(ada, row)
        source.set(boss, Row(key: boss.key, values: [.int(2), .string("Bob"), .int(60), .list([]), .null, .null]))
        let rules = try TestSchema.schema.classes.map { declared in
            try TestSchema.query("\(declared.name) WHERE \(declared.name == "User" ? "age < 50" : "TRUEPREDICATE")")
        }
        let reader = ReadContext(
            rules: rules, veils: [TestSchema.user: ReadVeil(hidesIdentity: true)],
            denying: ReadDenial(TestSchema.schema))
        let commit = CommitDelta(
            changes: [ObjectDelta(object: ada, old: row, new: row, authors: [], written: [1, 4])], version: 1)
        for (context, told) in [(ReadContext.everything, [1, 4]), (reader, [1])] {
            let view = LiveView(try TestSchema.query("User WHERE id == 1").read(in: context), schema: source.schema)
            try view.activate(in: source)
            let differences = try view.differences(since: commit, in: source)
            #expect(differences.map(\.object) == [ada] && differences.map { Array($0.changed) } == [told])
        }
    }

    private func check(_ view: LiveView, _ past: Past, _ source: MemorySource, _ context: String) throws {
        let query = view.query.read(in: .everything)
        let (pastState, state) = (
            try past.source.readable(in: view.query.context), try source.readable(in: view.query.context)
        )
        let then = try ViewSnapshot(of: query, schema: source.schema, in: pastState)
        let now = try ViewSnapshot(of: query, schema: source.schema, in: state)
        var roots = Set(then.roots)
        var contents = then.included.reduce(into: [ObjectRef: [Int: Value]]()) { contents, entry in
            contents[entry.key] = Self.values(entry.value, of: pastState.row(entry.key))
        }
        let commit = try #require(
            try past.commit(to: source).passing(view.query.form.timeEdges, in: source, schema: source.schema))
        for difference in try view.differences(since: commit, in: source) {
            let object = difference.object
            let included = then.included[object]
            #expect(difference.before?.included == included, "\(context): \(difference)")
            #expect(difference.before.map { $0.role == .root } == included.map { _ in roots.contains(object) })
            guard let member = difference.now else {
                roots.remove(object)
                contents[object] = nil
                let isDeleted = source.row(object) == nil
                #expect((difference.reason == .deleted) == isDeleted, "\(context): \(difference)")
                let isHidden = !isDeleted && state.row(object) == nil
                #expect((difference.reason == .permission) == isHidden, "\(context): \(difference)")
                continue
            }
            if member.role == .root { roots.insert(object) } else { roots.remove(object) }
            contents[object, default: [:]].merge(Self.values(difference.changed, of: state.row(object))) { $1 }
            contents[object] = contents[object]?.filter { member.included.contains($0.key) }
        }
        #expect(roots == Set(now.roots), "\(context)")
        for (object, included) in now.included {
            #expect(contents[object] == Self.values(included, of: state.row(object)), "\(context): \(object)")
        }
        #expect(contents.count == now.included.count, "\(context)")
    }

    private static func values(_ properties: PropertySet, of row: Row?) -> [Int: Value] {
        properties.reduce(into: [:]) { values, property in values[property] = row?.values[property] }
    }
}
