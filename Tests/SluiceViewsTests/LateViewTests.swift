import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

/// Views that could not follow a commit within the work that they may take.
@Suite(.ownThread) struct LateViewTests {
    /// A state whose reading fails after a number of reads.
    private final class StoppedSource: ViewSource {
        struct Stopped: Error {}

        let source: MemorySource
        private var left: Int

        init(_ source: MemorySource, after count: Int) {
            self.source = source
            left = count
        }

        private func count() throws {
            left -= 1
            if left < 0 { throw Stopped() }
        }

        var now: Timestamp { source.now }

        func row(_ object: ObjectRef) throws -> Row? {
            try count()
            return source.row(object)
        }

        func isPresent(_ object: ObjectRef) throws -> Bool {
            try count()
            return source.isPresent(object)
        }

        func backlinks(
            to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
        ) throws {
            try source.backlinks(to: object, fromClass: classIndex, property: property) {
                try count()
                return try body($0)
            }
        }

        func rows(
            matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
        ) throws {
            try source.rows(matching: query, after: position, limit: limit) {
                try count()
                return try body($0)
            }
        }

        func object(withID id: ObjectID) throws -> ObjectRef? {
            try count()
            return source.object(withID: id)
        }
    }

    /// Each view is stopped at each read. One that is still active is as it was before, and follows the commit the next
    /// time.
    @Test(arguments: seeds(6))
    func aViewThatWasStoppedIsAsItWasOrIsNotActive(seed: UInt64) throws {
        var world =
            seed % 4 == 3
            ? RandomWorld(seed: seed, keyCount: 40, classes: [TestSchema.user])
            : RandomWorld(seed: seed, keyCount: [5, 8, 12][Int(seed % 3)])
        let source = MemorySource()
        for _ in 0..<60 {
            let object = world.object()
            source.set(object, world.row(for: object))
        }
        let contexts = try (0..<Int(seed % 3)).map { _ in try world.context() } + [.everything]
        var views: [LiveView] = []
        while views.count < 8 {
            guard let plain = try? TestSchema.query(world.queryText()) else { continue }
            let query = plain.read(in: world.generator.pick(contexts))
            let shape = ViewShape(
                query.form, in: query.context, schema: source.schema, affectedCountMax: seed % 2 == 0 ? 1 : 1_000)
            let view = LiveView(query, shape: shape, overscan: world.generator.pick([nil, 0, 1]))
            try view.activate(in: source)
            views.append(view)
        }
        var (stoppedCount, activeCount) = (0, 0)
        for step in 0..<20 {
            let (commit, before) = source.commit(world.edits(in: source))
            let check = ViewCheck(commit, in: source, schema: source.schema)
            for view in views {
                let former = LiveView(copying: view)
                _ = try view.apply(commit, in: source, before: before)
                for count in 0..<12 {
                    let late = LiveView(copying: former)
                    let stopped = StoppedSource(source, after: count)
                    do {
                        let after = OldStateSource(commit, over: stopped, schema: source.schema)
                        _ = try late.apply(commit, in: stopped, before: after)
                        break
                    } catch is StoppedSource.Stopped { stoppedCount += 1 }
                    if late.isActive {
                        activeCount += 1
                        let again = try late.apply(commit, in: source, before: before)
                        let problems = try check.problems(of: late, reporting: again)
                        #expect(problems.isEmpty, "seed \(seed), step \(step): \(problems)")
                    }
                }
            }
        }
        #expect(stoppedCount > 50 && activeCount > 0)
    }
}
