import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

@Suite(.ownThread) struct LiveViewSimulationTests {
    @Test func mostRandomTextsAreQueries() {
        var world = RandomWorld(seed: 1, keyCount: 5)
        let parsed = (0..<200).filter { _ in (try? TestSchema.query(world.queryText(readsTime: true))) != nil }
        #expect(parsed.count > 150)
    }

    /// Views over many queries follow random commit groups at the same time. After each group, every follower of a view
    /// equals the oracle. A failure names the seed, the step and the query.
    @Test(arguments: seeds(8))
    func everyViewEqualsTheOracleAfterEveryCommitGroup(seed: UInt64) throws {
        try follow(seed: seed, readers: 0)
    }

    /// The same, where most readers may not read everything: each sees a state without what is hidden from them.
    @Test(arguments: seeds(8))
    func everyViewEqualsTheOracleOfWhatItsReaderMayRead(seed: UInt64) throws {
        try follow(seed: 100 + seed, readers: 3)
    }

    /// - Parameter readers: how many contexts there are beside that of a reader of everything.
    private func follow(seed: UInt64, readers: Int) throws {
        // One class with many objects exhausts and overflows windows; few keys make cycles and alternative paths.
        var world =
            seed % 4 == 3
            ? RandomWorld(seed: seed, keyCount: 80, classes: [TestSchema.user])
            : RandomWorld(seed: seed, keyCount: [5, 12, 40][Int(seed % 4)])
        let source = MemorySource()
        for _ in 0..<Int.random(in: 0...150, using: &world.generator) {
            let object = world.object()
            source.set(object, world.row(for: object))
        }
        var followers: [(view: LiveView, mirror: ViewMirror)] = []
        let index = ViewIndex(schema: TestSchema.schema)
        let clock = QueryClock(schema: TestSchema.schema)
        let contexts = try (0..<readers).map { _ in try world.context() } + [.everything]
        func add(_ plain: Query, step: Int) throws {
            let query = plain.read(in: world.generator.pick(contexts))
            let overscan = world.generator.pick([nil, 0, 1, 3])
            let shape = ViewShape(
                query.form, in: query.context, schema: source.schema, affectedCountMax: [1_000, 0, 2][Int(seed % 3)])
            let view = LiveView(query, shape: shape, overscan: overscan)
            try view.activate(in: source)
            let mirror = try ViewMirror(
                view, source, context: "seed \(seed), from step \(step): \(query) in \(query.context)")
            try mirror.check(view, source)
            followers.append((view, mirror))
            index.insert(view)
            clock.hold(query, in: source)
        }
        for step in 0..<150 {
            while followers.count < 6 {
                if world.generator.chance(10) {
                    let object = world.object()
                    let name = TestSchema.schema[object.classIndex].name
                    let id = Identity(className: name, key: object.key).objectID
                    try add(TestSchema.query("OBJECT(\(id))"), step: step)
                } else if let query = try? TestSchema.query(world.queryText(readsTime: true)) {
                    try add(query, step: step)
                }
            }
            if world.generator.chance(60) {
                source.now = source.now.advanced(by: world.generator.pick([1, 1, 2, 5]))
            }
            let isTick = world.generator.chance(20)
            let (plain, _) = source.commit(isTick ? [] : world.edits(in: source))
            let commit = try clock.passing(plain, in: source, by: [0])
            let plainBefore = OldStateSource(commit, over: source, schema: TestSchema.schema)
            // As a server reads, or without anything kept from one view to the next.
            let after: any ViewSource = seed % 2 == 0 ? CommitSource(commit, over: source) : source
            let before =
                seed % 2 == 0 ? OldStateSource(commit, over: after, schema: TestSchema.schema) : plainBefore
            let candidates = Set(
                try index.candidates(for: commit, in: after, before: before).map(ObjectIdentifier.init))
            for position in followers.indices {
                let view = followers[position].view
                var delta: ViewDelta?
                if candidates.contains(ObjectIdentifier(view)) {
                    delta = try view.apply(commit, in: after, before: before)
                    if let delta { try followers[position].mirror.apply(delta, view, source, commit) }
                }
                index.update(view)
                try followers[position].mirror.check(view, source)
                let problems = try ViewCheck(commit, in: source, schema: source.schema)
                    .problems(of: view, reporting: delta)
                #expect(problems.isEmpty, "seed \(seed), step \(step)")
            }
            #expect(index.problems().isEmpty, "seed \(seed), step \(step)")
            if world.generator.chance(10) {
                let view = followers.removeFirst().view
                index.remove(view)
                clock.release(view.query)
                #expect(index.count == followers.count)
            }
        }
    }
}
