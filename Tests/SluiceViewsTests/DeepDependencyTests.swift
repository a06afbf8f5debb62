import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

@Suite struct DeepDependencyTests {
    private let users = (0..<4).map { TestSchema.object($0, ofClass: TestSchema.user) }

    /// Users 0 -> 1 -> 2 -> 0 are linked by friends; user 3 is alone.
    private func cycle() -> MemorySource {
        let source = MemorySource()
        for number in 0..<3 {
            let friend = users[(number + 1) % 3]
            source.set(users[number], TestSchema.row(users[number], ["friends": .list([.link(friend.key)])]))
        }
        source.set(users[3], TestSchema.row(users[3]))
        return source
    }

    private func affected(
        _ text: String, _ source: MemorySource, _ edit: (ObjectRef, Row?), visitCountMax: Int = 100
    ) throws -> Set<ObjectRef>? {
        let (commit, _) = source.commit(edit)
        return try DeepDependency(TestSchema.query(text), schema: source.schema)
            .affectedRoots(by: commit, in: source, visitCountMax: visitCountMax) { source.isPresent($0) }
    }

    @Test func aChangeReachesAllRootsOnACycle() throws {
        let source = cycle()
        let row = TestSchema.row(users[1], ["age": .int(5), "friends": .list([.link(users[2].key)])])
        #expect(try affected("User", source, (users[1], row)) == Set(users[0...2]))
    }

    @Test func aDeletedTargetAffectsWhatLedToIt() throws {
        #expect(try affected("User EXCLUDE(friends.friends)", cycle(), (users[1], nil)) == [users[0]])
    }

    @Test func excludedPropertiesAffectNobody() throws {
        let source = cycle()
        let row = TestSchema.row(users[1], ["age": .int(5), "friends": .list([.link(users[2].key)])])
        #expect(try affected("User EXCLUDE(friends)", source, (users[1], row)) == [])
        let again = cycle()
        #expect(try affected("User EXCLUDE(friends.age, friends.friends)", again, (users[1], row)) == [])
    }

    @Test func aWalkBeyondItsBoundSaysThatAnythingMayHaveChanged() throws {
        #expect(try affected("User", cycle(), (users[1], nil), visitCountMax: 2) == nil)
    }

    /// The backward walk finds exactly the roots from which a forward walk meets a changed object.
    @Test(arguments: Array(UInt64(1)...12))
    func randomChangesAffectTheRootsThatReachThem(seed: UInt64) throws {
        var world = RandomWorld(seed: seed, keyCount: 8)
        let source = MemorySource()
        for _ in 0..<60 {
            let object = world.object()
            source.set(object, world.row(for: object))
        }
        for step in 0..<60 {
            guard let query = try? TestSchema.query(world.queryText()) else { continue }
            let (commit, _) = source.commit(world.edits(in: source))
            let affected = try DeepDependency(query, schema: source.schema)
                .affectedRoots(by: commit, in: source) { source.isPresent($0) }
            var expected: Set<ObjectRef> = []
            for row in source.sortedRows(ofClass: query.classIndex) {
                let root = ObjectRef(query.classIndex, row.key)
                if reaches(root, commit, query, source) { expected.insert(root) }
            }
            #expect(affected == expected, "seed \(seed), step \(step): \(query)")
        }
    }

    private func reaches(_ root: ObjectRef, _ commit: CommitDelta, _ query: Query, _ source: MemorySource) -> Bool {
        var seen: Set<[Int]> = []
        var numbers: [ObjectRef: Int] = [:]
        var queue = [(root, ExclusionTree.root, true)]
        while let (object, position, isRoot) = queue.popLast() {
            let declared = source.schema[object.classIndex]
            if !isRoot {
                let number = numbers[object] ?? numbers.count
                numbers[object] = number
                guard seen.insert([number, position]).inserted else { continue }
                let present = query.exclusions.presentProperties(
                    propertyCount: declared.properties.count, at: position)
                if let change = commit.change(of: object), change.changesPresence || change.changed.meets(present) {
                    return true
                }
            }
            guard let row = source.row(object) else { continue }
            for (property, value) in row.values.enumerated() {
                guard let target = declared.properties[property].type.targetClass.flatMap(source.schema.index(of:)),
                    let next = query.exclusions.next(following: property, at: position)
                else { continue }
                value.forEachLink { queue.append((ObjectRef(target, $0), next, false)) }
            }
        }
        return false
    }
}
