import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

/// Two nodes that follow each other now and then allow what one node would that does the same steps in the same order:
/// each step is judged at its place in the journal, and each refusal that makes no group at its end, whatever the node knew
/// before.
struct LaggingOracleTests {
    private static let users = ["ann", "bob"]
    private static let keyCount: Int64 = 8

    private static func step(_ number: Int, _ generator: inout SeededGenerator) -> RightsStep {
        let user = generator.pick(users)
        let key = Int64(generator.below(Int(keyCount)))
        switch generator.below(10) {
        case 0: return .join(user)
        case 1, 2: return .leave(user)
        case 3: return .rules(generator.pick(RightsVariant.allCases), number: number)
        case 4: return .declare(user, number: number)
        case 5: return .deploy(user, generator.pick(RightsVariant.allCases), number: number)
        case 6, 7: return .write(user, key: key)
        case 8: return .upload(user, key: key)
        default: return .insert(user, key: key)
        }
    }

    @Test(arguments: 0..<60)
    func `nodes that lag allow what one node would that knows everything`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))
        let nodes = [
            try RightsNode(Bench(journal: journal, seed: 1_000)),
            try RightsNode(Bench(journal: journal.another(), seed: 2_000)),
        ]
        let alone = try RightsNode(Bench())
        try nodes[0].begin()
        try alone.begin()
        try nodes[1].bench.engine.catchUp()
        for number in 1...40 {
            let node = generator.pick(nodes)
            // Sessions that are open when rights change elsewhere are what matters.
            if generator.chance(40) { try node.open(Self.users) }
            if generator.chance(20) { try node.bench.engine.catchUp() }
            let step = Self.step(number, &generator)
            let isAllowed = try node.perform(step)
            let isRight = try alone.perform(step) == isAllowed
            #expect(isRight, "step \(number), \(step), was \(isAllowed ? "allowed" : "refused")")
        }
        let expected = try alone.content(planes: Self.keyCount)
        for node in nodes {
            try node.bench.engine.catchUp()
            #expect(try node.content(planes: Self.keyCount) == expected)
        }
    }
}
