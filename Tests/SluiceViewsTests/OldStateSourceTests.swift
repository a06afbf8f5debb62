import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

@Suite struct OldStateSourceTests {
    /// Every question about the old state gets the same answer as from a copy of the old state.
    @Test(arguments: Array(UInt64(1)...8))
    func theOverlayEqualsTheStateBefore(seed: UInt64) throws {
        var world = RandomWorld(seed: seed, keyCount: 6)
        let source = MemorySource()
        for step in 0..<40 {
            let copy = MemorySource()
            for classIndex in source.rows.indices {
                for row in source.rows[classIndex].values { copy.set(ObjectRef(classIndex, row.key), row) }
            }
            let (_, before) = source.commit(world.edits(in: source))
            for classIndex in source.rows.indices {
                for number in 0..<6 {
                    let object = TestSchema.object(number, ofClass: classIndex)
                    #expect(try before.row(object) == copy.row(object), "seed \(seed), step \(step)")
                    #expect(try before.isPresent(object) == copy.isPresent(object), "seed \(seed), step \(step)")
                    for link in TestSchema.schema.backlinks(to: classIndex) {
                        func backlinks(_ source: any ObjectSource) throws -> [ObjectKey] {
                            var keys: [ObjectKey] = []
                            try source.backlinks(to: object, fromClass: link.classIndex, property: link.property) {
                                keys.append($0)
                                return true
                            }
                            return keys.sorted()
                        }
                        #expect(
                            try backlinks(before) == backlinks(copy), "seed \(seed), step \(step): \(object) \(link)")
                    }
                }
            }
        }
    }

    @Test func aBodyThatReturnsFalseIsNotCalledAgain() throws {
        let source = MemorySource()
        let target = TestSchema.object(0, ofClass: TestSchema.user)
        for number in 1...2 {
            let object = TestSchema.object(number, ofClass: TestSchema.user)
            source.set(object, TestSchema.row(object, ["best": .link(target.key)]))
        }
        let changed = TestSchema.object(1, ofClass: TestSchema.user)
        let (_, before) = source.commit((changed, TestSchema.row(changed)))
        var calls = 0
        try before.backlinks(to: target, fromClass: TestSchema.user, property: 4) { _ in
            calls += 1
            return false
        }
        #expect(calls == 1)
    }
}
